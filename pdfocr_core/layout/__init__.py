"""From lines with boxes to Markdown in reading order; knows neither PDFs nor OCR."""
