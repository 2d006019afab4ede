"""What an HTTP answer means: text, the page's fault, the configuration's fault, or the server's own trouble."""

from __future__ import annotations

import email.utils
import json
import ssl
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

import httpx

from pdfocr_core.errors import ConfigurationError, PageError, Reason
from pdfocr_core.layout.placed import lines_in
from pdfocr_core.records import TextLine
from pdfocr_core.serving.endpoint import Endpoint

__all__ = [
    "Answer",
    "Kind",
    "Trouble",
    "explain_status",
    "is_certificate_error",
    "message_in",
    "read_answer",
    "refusal",
    "text_of",
    "tokens_in",
    "transport_trouble",
    "untrusted",
]

SHOWN_CHARACTERS = 300
MOST_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion. `seconds` runs from sending to the last byte; `lines` are what the CPU engine adds to OpenAI's form."""

    text: str
    finish_reason: str | None
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    model: str
    lines: tuple[TextLine, ...] = ()


class Kind(Enum):
    """Which sort of trouble a server has."""

    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    FAILED = "failed"


class Trouble(Exception):
    """The server's own trouble with one request: to be waited out, never charged to the page.

    Attributes:
        kind: which sort.
        retry_after_s: what the server asks for, if it does.
    """

    def __init__(self, kind: Kind, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after_s = retry_after_s


def read_answer(endpoint: Endpoint, response: httpx.Response, seconds: float) -> Answer:
    """The completion in a response that came through whole.

    Raises:
        Trouble: the server's own.
        PageError: this request will never be answered.
        ConfigurationError: no request will ever be answered.
    """
    if response.status_code == 200:
        return _completion(endpoint, response, seconds)
    raise refusal(endpoint, response.status_code, message_in(response.content), _retry_after(response))


def refusal(endpoint: Endpoint, status: int, said: str, retry_after_s: float | None = None) -> Trouble | PageError:
    """What an answer means that is none.

    Raises:
        ConfigurationError: no request will ever be answered.
    """
    explain_status(endpoint, status)
    detail = f"HTTP {status}: {endpoint.redact(said)}"
    if status in {408, 425, 429} or status >= 500:
        kind = Kind.OVERLOADED if status in {425, 429} else Kind.FAILED
        return Trouble(kind, detail, retry_after_s=retry_after_s)
    return PageError(Reason.REFUSED_BY_SERVER, detail)


def transport_trouble(endpoint: Endpoint, error: httpx.HTTPError) -> Trouble | ConfigurationError:
    """What a failed exchange means."""
    said = endpoint.redact(str(error)) or type(error).__name__
    if is_certificate_error(error):
        return untrusted(endpoint, said)
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return Trouble(Kind.TIMEOUT, said)
    if isinstance(error, httpx.DecodingError):
        return Trouble(Kind.BROKEN, said)
    return Trouble(Kind.UNREACHABLE, said)


def untrusted(endpoint: Endpoint, said: str) -> ConfigurationError:
    """The error for a server whose certificate nobody vouches for."""
    return ConfigurationError(
        f"The TLS certificate of {endpoint.label} is not trusted: {said}",
        remedy="Set `verify` to the file of the certificate authority that signed it.",
    )


def explain_status(endpoint: Endpoint, status: int) -> None:
    """Raise for an answer that says the URL, the key or the account is wrong; any other is left to the caller.

    Raises:
        ConfigurationError: with what to change.
    """
    where = endpoint.label
    if status in {401, 407}:
        kind = "refuses the API key" if endpoint.api_key else "asks for an API key"
        raise ConfigurationError(
            f"{where} {kind} (HTTP {status}).", remedy=f"Set {endpoint.key_variable} to a valid key."
        )
    if status == 402:
        raise ConfigurationError(f"{where} asks for payment (HTTP 402).", remedy="Check the account's credit.")
    if status == 403:
        raise ConfigurationError(
            f"{where} denies access (HTTP 403).", remedy=f"Check what the key in {endpoint.key_variable} may do."
        )
    if status in {404, 405, 410} or 300 <= status < 400:
        raise ConfigurationError(
            f"{where} has no such address or model (HTTP {status}).",
            remedy="Check the URL (it usually ends in /v1) and the model's name.",
        )


def is_certificate_error(error: BaseException | None) -> bool:
    """Whether TLS verification is at the root of it."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _completion(endpoint: Endpoint, response: httpx.Response, seconds: float) -> Answer:
    try:
        data: Any = json.loads(response.content)
        choice = data["choices"][0]
        text = text_of(choice["message"].get("content"))
        finish_reason = choice.get("finish_reason")
        return Answer(
            text=text,
            finish_reason=None if finish_reason is None else str(finish_reason),
            prompt_tokens=tokens_in(data.get("usage"), "prompt_tokens"),
            completion_tokens=tokens_in(data.get("usage"), "completion_tokens"),
            seconds=seconds,
            model=str(data.get("model") or endpoint.model),
            lines=lines_in(choice["message"]),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        shown = endpoint.redact(response.text[:SHOWN_CHARACTERS])
        raise Trouble(Kind.BROKEN, f"not a chat completion: {shown!r}") from None


def tokens_in(usage: object, name: str) -> int:
    """A count as the server tells it, if it is one: what a server says of its costs must never cost the page."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and 0 < count < MOST_TOKENS else 0


def text_of(content: object) -> str:
    """The message's text; some servers give it in parts, and some give null for nothing.

    A model that was cut inside a character leaves half of it, which no file can hold.
    """
    if isinstance(content, list):
        text = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    else:
        text = "" if content is None else str(content)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def message_in(content: bytes) -> str:
    """What the server says about its refusal, on one line and short: it may echo the whole picture."""
    message: object = content[: 10 * SHOWN_CHARACTERS].decode(errors="replace")
    try:
        data = json.loads(content)
        error = data.get("error", data)
        message = (error.get("message") or error.get("detail") or error) if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        pass
    words = " ".join(str(message).split())
    return words if len(words) <= SHOWN_CHARACTERS else words[:SHOWN_CHARACTERS] + "…"


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds from `Retry-After`, which is a number or a date."""
    value = response.headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None
