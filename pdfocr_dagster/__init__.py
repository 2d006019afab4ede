"""pdfocr on Dagster: one module per Dagster concept, each a thin layer over `pdfocr_core`.

Nothing is imported here, so that importing the package has no effect.
"""
