"""A real browser, watched, and viewers for it to look at."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from pdfocr_core.documents import Document
from pdfocr_core.viewer.serve import build_app
from pdfocr_core.workspace import Workspace
from tests.integration.conftest import Command
from tests.viewer_workspace import NAME, write_workspace

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
expect.set_options(timeout=60_000)

GONE = re.compile("net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED|ABORTED)|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)")


@dataclass
class Made:
    """A workspace, where its viewer is, and the ids of its documents."""

    workspace: Workspace
    documents: dict[str, Document]
    address: str = ""

    def to(self, name: str, page: int = 1) -> str:
        return f"{self.address}#/{self.documents[name].document_id}/{page}"


@dataclass
class Watched:
    """A page of the browser, and everything it did that it should not have."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        self.page.goto(address)
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium: `apt-get install chromium`")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=180_000)
        yield browser
        browser.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    context.set_default_timeout(60_000)
    watched = Watched(context.new_page())

    def on_console(message: ConsoleMessage) -> None:
        # DOMPurify parses what it cleans in a document that nobody sees; what the policy stops there was never here.
        inert = message.location["url"].endswith("/purify.min.js") and "Content Security Policy" in message.text
        # The server may be gone a moment before the page that asks it for news, or while it asks.
        expected = "404" in message.text or GONE.search(message.text)
        if message.type == "error" and not expected and not inert:
            watched.complaints.append(message.text)

    watched.page.on("console", on_console)
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    watched.page.on("dialog", lambda dialog: (watched.complaints.append(dialog.message), dialog.dismiss()))
    watched.page.on("request", lambda request: watched.requests.append(request.url))
    yield watched
    context.close()
    assert watched.complaints == []


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("viewer")
    made = Made(*write_workspace(folder))
    process, made.address = start(folder, made.workspace.url)
    yield made
    stop(process)


def start(folder: Path, url: str, environment: dict[str, str] | None = None) -> tuple[subprocess.Popen[str], str]:
    process = Command(folder).start("view", url, "--port", "0", extra_environment=environment)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/", line)
    assert found, line + process.stderr.read()
    return process, found.group()


@contextmanager
def serving(workspace: Workspace, compare: Workspace | None = None) -> Iterator[str]:
    """The viewer in a thread of this process, which is there sooner than the command."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(build_app(workspace, compare=compare), log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0


def get(address: str, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(address + path, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def picture_is_drawn(page: Page) -> None:
    page.wait_for_function(
        "() => { const i = document.querySelector('.sheet > img'); return i && i.naturalWidth > 300 }"
    )


def places(page: Page, *selectors: str) -> list[dict[str, float]]:
    """Where the first element of each selector is, all at the same moment."""
    found: list[dict[str, float]] = page.evaluate(
        "selectors => selectors.map(one => document.querySelector(one).getBoundingClientRect().toJSON())", selectors
    )
    return found


def is_harmless(watched: Watched, made_in: str) -> None:
    page = watched.page
    expect(page.locator(".prose")).to_contain_text("styled")
    page.wait_for_timeout(300)
    assert page.evaluate("window.stolen") is None
    assert [url for url in watched.requests if not url.startswith(made_in)] == []
    links = page.eval_on_selector_all(".prose a[href]", "links => links.map(link => link.getAttribute('href'))")
    assert links == ["https://example.invalid/good"]
    inside = page.eval_on_selector(
        ".prose",
        "root => [...root.querySelectorAll('*')].map(one => [one.localName, [...one.attributes].map(a => a.name)])",
    )
    ours = {name for name, _attributes in inside}
    assert not ours & {
        "script",
        "iframe",
        "object",
        "form",
        "input",
        "button",
        "link",
        "meta",
        "base",
        "style",
        "video",
    }
    assert not [names for _name, names in inside if any(one.startswith("on") or one == "id" for one in names)]
    assert page.locator(".prose img").count() == 0
    assert page.locator(".prose .problem").count() == 0
    assert page.locator("h1 bdi").inner_text() == NAME
    expect(page).to_have_title(re.compile(f"^{re.escape(NAME)}"))
    page.locator("#tab-raw").click()
    expect(page.locator("#reading pre")).to_contain_text("<script>window.stolen = 1</script>")
