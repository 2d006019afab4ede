"""What an object store answers when something is wrong, in words that say what to do."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from pdfocr_core.errors import ConfigurationError, PdfocrError, StoreUnavailable

__all__ = ["KeyRefused", "ObjectChanged", "folder_error", "store_error"]

_CODE = re.compile(r"<Code>([^<]+)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]+)</Message>")
_STATUS = re.compile(r"status code: (\d{3})")
_REGION = re.compile(r"<Region>([\w-]+)</Region>|expecting '([\w-]+)'")


class ObjectChanged(OSError):
    """An object has another version than the one that is being read."""


class KeyRefused(OSError):
    """The store does not take a key, though it may hold an object under it."""


class _Trouble(NamedTuple):
    code: str
    what: str
    remedy: str


_EXPIRED = _Trouble(
    "credentials_expired",
    "the credentials have expired",
    "Get new ones: `aws sso login` for an SSO profile, or a new session token.",
)
_UNKNOWN_KEY = _Trouble(
    "bad_credentials",
    "the store does not know these credentials",
    "Check the access key, the secret key and the profile, and that they belong to this endpoint.",
)
_CLOCK = _Trouble("clock", "the clock of this machine is off", "Set the machine's clock.")
_NO_BUCKET = _Trouble("no_bucket", "there is no such bucket", "Check the bucket's name and the endpoint, or create it.")
_REGION_TROUBLE = _Trouble(
    "wrong_region",
    "the bucket is in another region",
    "Set the region: AWS_REGION, the profile's region, or PDFOCR_SOURCES_REGION and PDFOCR_WORKSPACE_REGION.",
)
_DENIED = _Trouble(
    "access_denied",
    "the store refuses access",
    "Allow s3:ListBucket on the bucket, s3:GetObject on its sources, and s3:GetObject, s3:PutObject and "
    "s3:DeleteObject under the workspace (docs/s3.md has the policies); check the credentials and the profile.",
)
_NOT_A_STORE = _Trouble(
    "wrong_endpoint",
    "what answers at this endpoint is no object store that we can talk to",
    "Check --endpoint or AWS_ENDPOINT_URL: it is the S3 API's address, for example http://host:9000.",
)
_NO_TOKEN = _Trouble(
    "no_credentials",
    "no credentials for this store are found",
    "For gs:// set GOOGLE_APPLICATION_CREDENTIALS to a key file; for az:// set AZURE_STORAGE_ACCOUNT_NAME and "
    "AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_TOKEN.",
)
_DISK_FULL = _Trouble("disk_full", "the disk is full", "Free some space; the same command then goes on from here.")

_NOT_WRITABLE = _Trouble(
    "not_writable",
    "this place cannot be written",
    "Choose another workspace, or let this user write to the folder and everything in it.",
)
_NOT_A_FOLDER = _Trouble("not_a_folder", "this is a file, and a folder is needed", "Name a folder for the workspace.")

_BY_CODE = {
    "ExpiredToken": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "InvalidAccessKeyId": _UNKNOWN_KEY,
    "SignatureDoesNotMatch": _UNKNOWN_KEY,
    "InvalidToken": _UNKNOWN_KEY,
    "AuthFailure": _UNKNOWN_KEY,
    "RequestTimeTooSkewed": _CLOCK,
    "NoSuchBucket": _NO_BUCKET,
    "PermanentRedirect": _REGION_TROUBLE,
    "AuthorizationHeaderMalformed": _REGION_TROUBLE,
    "IllegalLocationConstraintException": _REGION_TROUBLE,
    "AccessDenied": _DENIED,
    "AllAccessDisabled": _DENIED,
}
_BY_TEXT = (
    ("performing token request", _NO_TOKEN),
    ("Account must be specified", _NO_TOKEN),
    ("redirect without LOCATION", _REGION_TROUBLE),
    ("builder error", _NOT_A_STORE),
    ("os error 28", _DISK_FULL),
    ("No space left on device", _DISK_FULL),
)
# Said of a local folder; of a source that is only read the same words are the document's own trouble.
_OF_FOLDER = (
    ("os error 13", _NOT_WRITABLE),
    ("os error 30", _NOT_WRITABLE),
    ("os error 17", _NOT_A_FOLDER),
    ("os error 20", _NOT_A_FOLDER),
)
# Told apart from answers: nothing came back, or the server said that it cannot now.
_AWAY = re.compile(r"HTTP error:|error sending request|operation timed out|connection (?:closed|reset)", re.IGNORECASE)


def store_error(
    error: BaseException, where: str, *, listing: bool = False, refused: bool = False
) -> PdfocrError | None:
    """Our error for one of obstore's; None when it says nothing about the store as a whole.

    Args:
        error: what obstore raised.
        where: the URL, for the message.
        listing: whether it was a listing: only then does a 404 mean more than that an object is not there.
        refused: whether obstore itself calls it a refusal.
    """
    text = str(error)
    code = _CODE.search(text)
    status = _STATUS.search(text)
    number = int(status[1]) if status else 0
    trouble = _BY_CODE.get(code[1]) if code else None
    if trouble is None:
        trouble = next((found for mark, found in _BY_TEXT if mark in text), None)
    if trouble is None and (refused or number in (401, 403)):
        trouble = _DENIED
    if trouble is None and listing and number in (301, 307, 400, 404, 405):
        trouble = _NOT_A_STORE
    if trouble is not None:
        return _configuration_error(trouble, where, text)
    if number >= 500 or number == 429 or (not number and _AWAY.search(text)):
        return StoreUnavailable(f"{where}: {_short(text)}.")
    return None


def folder_error(error: BaseException, where: str) -> ConfigurationError | None:
    """Our error for what making or writing a local folder ended with; None when its place is not to blame."""
    text = str(error)
    trouble = next((found for mark, found in _OF_FOLDER if f"({mark})" in text), None)
    return None if trouble is None else _configuration_error(trouble, where, text)


def _configuration_error(trouble: _Trouble, where: str, text: str) -> ConfigurationError:
    said = _MESSAGE.search(text)
    words = f" It says: {unescape(said[1]).rstrip('.')}." if said else ""
    if trouble is _REGION_TROUBLE and (region := _REGION.search(text)):
        words += f" The right region is {region[1] or region[2]}."
    return ConfigurationError(f"{where}: {trouble.what}.{words}", code=trouble.code, remedy=trouble.remedy)


def _short(text: str) -> str:
    """What happened, without the library's own trace of it."""
    return text.strip().split("\n", 1)[0].rstrip(".")
