"""An S3 server in this process that keeps any key as it is, and misbehaves as a test says.

The real server (`tests.s3_server`) folds `a//b` into `a/b`, as some stores do; AWS does not, and neither does this one.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from pdfocr_core.settings import StorageSettings

_WHEN = "Tue, 01 Jan 2030 00:00:00 GMT"
_PAGE = 1000

Trouble = Callable[[str, str, dict[str, str]], tuple[int, str] | tuple[int, str, str] | None]
"""Given method, key and headers: a status, an error code and words to answer instead, or None."""


class StubS3(ThreadingHTTPServer):
    """Buckets in memory.

    Attributes:
        objects: the bodies, by `bucket/key`.
        conditional: what becomes of `If-None-Match: *`: `kept`, `ignored` or `rejected` (501).
        trouble: see `Trouble`; asked before every request for an object.
        cut_bodies: so many of the next bodies break off in the middle.
        uploads: parts of multipart uploads that are neither completed nor aborted.
        seen: what was asked, as `METHOD key`.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.conditional = "kept"
        self.trouble: Trouble = lambda *_: None
        self.cut_bodies = 0
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.seen: list[str] = []
        self.lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def settings(self) -> StorageSettings:
        return StorageSettings(endpoint=self.endpoint, access_key_id="k", secret_access_key="s")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": "k",
            "AWS_SECRET_ACCESS_KEY": "s",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def handle_error(self, *_arguments: object) -> None:
        pass


@contextmanager
def stub_s3() -> Iterator[StubS3]:
    server = StubS3()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubS3

    def _handle(self) -> None:
        body = self._body()
        parts = urlsplit("http://h" + self.path)
        place = unquote(parts.path)[1:]
        query = parse_qs(parts.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self.server.seen.append(f"{self.command} {place}")
            answer = self.server.trouble(self.command, place, headers)
            if answer is not None:
                self._refuse(*answer)
            elif "list-type" in query:
                self._list(place.rstrip("/"), {name: values[0] for name, values in query.items()})
            elif "uploads" in query or "uploadId" in query:
                self._upload(place, body, {name: values[0] for name, values in query.items()})
            elif self.command == "PUT":
                self._put(place, body, headers)
            elif self.command == "DELETE":
                self.server.objects.pop(place, None)
                self._send(204, b"")
            elif "delete" in query:
                keys = re.findall(r"<Key>([^<]*)</Key>", body.decode())
                for key in keys:
                    self.server.objects.pop(f"{place.rstrip('/')}/{unescape(key)}", None)
                deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
                self._send(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())
            else:
                self._get(place, headers)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815

    def _body(self) -> bytes:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return data
        out, rest = b"", data
        while True:  # boto3 sends chunks with a checksum behind them
            head, _, rest = rest.partition(b"\r\n")
            size = int(head.split(b";")[0], 16)
            if not size:
                return out
            out, rest = out + rest[:size], rest[size + 2 :]

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        start = query.get("continuation-token") or query.get("start-after", "")
        keys = [name.removeprefix(f"{bucket}/") for name in self.server.objects if name.startswith(f"{bucket}/")]
        keys = sorted(key for key in keys if key.startswith(query.get("prefix", "")) and key > start)
        most = int(query.get("max-keys", _PAGE))
        shown = keys[:most]
        encode = quote if query.get("encoding-type") == "url" else _xml
        entries = "".join(
            f"<Contents><Key>{encode(key)}</Key><LastModified>2030-01-01T00:00:00Z</LastModified>"
            f"<ETag>{escape(_tag(self.server.objects[f'{bucket}/{key}']))}</ETag>"
            f"<Size>{len(self.server.objects[f'{bucket}/{key}'])}</Size></Contents>"
            for key in shown
        )
        more = len(keys) > most
        token = f"<NextContinuationToken>{_xml(shown[-1])}</NextContinuationToken>" if more else ""
        self._send(
            200,
            f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{bucket}</Name>'
            f"<KeyCount>{len(shown)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
            f"<EncodingType>{query.get('encoding-type', '')}</EncodingType>{entries}</ListBucketResult>".encode(),
        )

    def _put(self, place: str, body: bytes, headers: dict[str, str]) -> None:
        if headers.get("if-none-match"):
            if self.server.conditional == "rejected":
                self._refuse(501, "NotImplemented")
                return
            if self.server.conditional == "kept" and place in self.server.objects:
                self._refuse(412, "PreconditionFailed")
                return
        self.server.objects[place] = body
        self._send(200, b"", {"ETag": _tag(body)})

    def _upload(self, place: str, body: bytes, query: dict[str, str]) -> None:
        name = query.get("uploadId", f"upload-{len(self.server.seen)}")
        if self.command == "DELETE":
            self.server.uploads.pop(name, None)
            self._send(204, b"")
        elif self.command == "PUT":
            self.server.uploads[name][int(query["partNumber"])] = body
            self._send(200, b"", {"ETag": _tag(body)})
        elif "uploads" in query:
            self.server.uploads[name] = {}
            self._send(
                200,
                f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode(),
            )
        else:
            parts = self.server.uploads.pop(name)
            self.server.objects[place] = b"".join(parts[number] for number in sorted(parts))
            tag = escape(_tag(self.server.objects[place]))
            self._send(
                200, f"<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>".encode()
            )

    def _get(self, place: str, headers: dict[str, str]) -> None:
        data = self.server.objects.get(place)
        if data is None:
            self._refuse(404, "NoSuchKey")
            return
        if headers.get("if-match", _tag(data)).strip('"') != _tag(data).strip('"'):
            self._refuse(412, "PreconditionFailed")
            return
        more = {"ETag": _tag(data), "Last-Modified": _WHEN}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", ""))
        if not asked:
            self._send(200, data, more)
            return
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        more["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        self._send(206, data[first : last + 1], more)

    def _refuse(self, status: int, code: str, words: str = "as the test says") -> None:
        self._send(status, f"<Error><Code>{code}</Code><Message>{words}</Message></Error>".encode())

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.server.cut_bodies and status in (200, 206) and len(data) > 1 and headers:
            self.server.cut_bodies -= 1
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        pass


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _xml(key: str) -> str:
    return "".join(f"&#{ord(one)};" if ord(one) < 32 else escape(one) for one in key)
