"""The command, as in the integration tests."""

from __future__ import annotations

from tests.integration.conftest import pdfocr

__all__ = ["pdfocr"]
