"""One page through the real route before anyone else's may go: what a health check does not see shows here."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

import httpx

from pdfocr_core.errors import ConfigurationError, PageError, ServerUnavailable
from pdfocr_core.serving.answers import Trouble, read_answer, transport_trouble
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.managed import Canary

__all__ = ["canary", "canary_picture"]

# The first request may compile kernels.
TIMEOUT_S = 300.0
_SIZE = (420, 594)


def canary(body_for: Callable[[str], bytes]) -> Canary:
    """A check that sends one request and wants any completion, whatever it says.

    Args:
        body_for: makes the request's body for the model's name at the server.
    """

    def fly(endpoint: Endpoint) -> None:
        headers = {**endpoint.request_headers(), "content-type": "application/json"}
        url = endpoint.url("chat/completions")
        try:
            with httpx.Client(trust_env=not endpoint.is_local, timeout=TIMEOUT_S) as client:
                response = client.post(url, content=body_for(endpoint.model), headers=headers)
            read_answer(endpoint, response, 0.0)
        except httpx.HTTPError as error:
            trouble = transport_trouble(endpoint, error)
            raise trouble if isinstance(trouble, ConfigurationError) else _broken(endpoint, trouble.detail) from None
        except Trouble as trouble:
            raise _broken(endpoint, trouble.detail) from None
        except PageError as error:
            raise ConfigurationError(
                f"The server at {endpoint.label} is up but refuses a page: {error.detail}.",
                remedy="Check that the model's profile and the server's arguments and version fit (`pdfocr models`).",
            ) from None

    return fly


def _broken(endpoint: Endpoint, detail: str) -> ServerUnavailable:
    return ServerUnavailable(
        f"The server at {endpoint.label} is up but cannot read a page: {detail}.", remedy="Its log says why."
    )


def canary_picture(image_format: str) -> bytes:
    """A page with a few words on it, in base64."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", _SIZE, "white")
    draw = ImageDraw.Draw(picture)
    for line, words in enumerate(("A first page.", "It is sent to see", "that pages can be read.")):
        draw.text((40, 60 + 40 * line), words, fill="black", font_size=24)
    content = io.BytesIO()
    picture.save(content, image_format.upper())
    return base64.b64encode(content.getvalue())
