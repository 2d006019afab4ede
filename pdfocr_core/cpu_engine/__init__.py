"""The OpenAI-compatible OCR server that needs no GPU."""
