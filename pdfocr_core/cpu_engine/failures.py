"""What can be wrong with a page; light enough for the server, which never touches a picture itself."""

from __future__ import annotations

__all__ = ["BadPicture"]


class BadPicture(ValueError):
    """The bytes are not a picture that this server reads."""
