"""What an S3 server's answers become: errors with a remedy, or another try."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pdfocr_core.errors import ConfigurationError, StoreUnavailable
from pdfocr_core.settings import StorageSettings
from pdfocr_core.store import open_store
from pdfocr_core.store_errors import store_error

EMPTY = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><KeyCount>0</KeyCount></ListBucketResult>'
Answer = tuple[int, str]


def refusal(code: str, message: str = "", more: str = "") -> str:
    return f"<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(f"{self.command} {self.path} {self.headers.get('If-None-Match', '')}".strip())
        status, body = self.server.script(self.command, self.path)
        data = body.encode()
        self.send_response(status)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Last-Modified", "Tue, 01 Jan 2030 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_arguments: object) -> None:
        pass


class Scripted(ThreadingHTTPServer):
    """A server that answers as the test says, and notes what it was asked."""

    daemon_threads = True

    def __init__(self, script: Callable[[str, str], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.seen = script, list[str]()

    @property
    def settings(self) -> StorageSettings:
        return StorageSettings(
            endpoint=f"http://127.0.0.1:{self.server_address[1]}", access_key_id="k", secret_access_key="s"
        )

    def handle_error(self, *_arguments: object) -> None:
        pass


@contextmanager
def scripted(script: Callable[[str, str], Answer]) -> Iterator[Scripted]:
    server = Scripted(script)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (400, refusal("ExpiredToken", "The provided token has expired."), "credentials_expired", "aws sso login"),
        (403, refusal("InvalidAccessKeyId"), "bad_credentials", "access key"),
        (403, refusal("SignatureDoesNotMatch"), "bad_credentials", "secret key"),
        (403, refusal("RequestTimeTooSkewed"), "clock", "clock"),
        (404, refusal("NoSuchBucket"), "no_bucket", "bucket's name"),
        (301, refusal("PermanentRedirect"), "wrong_region", "AWS_REGION"),
        (
            400,
            refusal("AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-west-1'"),
            "wrong_region",
            "The right region is eu-west-1",
        ),
        (404, "404 page not found", "wrong_endpoint", "--endpoint"),
        (405, "", "wrong_endpoint", "--endpoint"),
    ],
)
def test_a_store_that_cannot_work_is_told_when_it_is_opened(status: int, body: str, code: str, words: str) -> None:
    with scripted(lambda *_: (status, body)) as server, pytest.raises(ConfigurationError) as caught:
        open_store("s3://bucket/prefix", server.settings)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_what_the_store_says_about_who_may_not_do_what_is_passed_on() -> None:
    said = "User: arn:aws:iam::1:user/ann is not authorized to perform: s3:ListBucket on resource: arn:aws:s3:::bucket"
    with scripted(lambda *_: (403, refusal("AccessDenied", said))) as server:
        store = open_store("s3://bucket", server.settings)  # single objects may be readable
        with pytest.raises(ConfigurationError) as caught:
            list(store.list())
    assert caught.value.code == "access_denied"
    assert said in str(caught.value)


def test_throttling_is_waited_out() -> None:
    answers = iter([(200, EMPTY), (503, refusal("SlowDown")), (503, refusal("SlowDown")), (200, "bytes")])
    with scripted(lambda *_: next(answers)) as server:
        assert open_store("s3://bucket", server.settings).read("a") == b"bytes"
        assert len(server.seen) == 4


def test_a_store_that_does_not_come_back_is_no_fault_of_a_document() -> None:
    down = store_error(
        OSError(
            "Generic S3 error: Error performing GET http://h/b/a in 3m, after 12 retries - HTTP error: error sending"
        ),
        "s3://b/a",
    )
    assert isinstance(down, StoreUnavailable)
    assert down.retryable
    assert isinstance(
        store_error(OSError("Server returned non-2xx status code: 503 Service Unavailable"), "s3://b"), StoreUnavailable
    )
    assert store_error(OSError("status code: 416 Range Not Satisfiable"), "s3://b/a") is None


def test_a_full_disk_says_so() -> None:
    error = store_error(OSError("Unable to copy data to file: No space left on device (os error 28)"), "results/x")
    assert isinstance(error, ConfigurationError)
    assert (error.code, "Free some space" in str(error)) == ("disk_full", True)


def test_missing_credentials_and_profiles_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match="AWS_PROFILE"):
        open_store("s3://bucket")
    with pytest.raises(ConfigurationError, match="nobody"):
        open_store("s3://bucket", StorageSettings(profile="nobody"))


def test_secrets_are_not_shown() -> None:
    settings = StorageSettings(access_key_id="k", secret_access_key="very secret", session_token="token too")
    assert "secret" not in repr(settings).replace("secret_access_key", "")
    assert "token too" not in repr(settings)
