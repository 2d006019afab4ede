"""Run by the interpreter of an environment with `olmocr[bench]`: its evaluator's verdicts, as JSON lines.

Reads objects with `case` and `text` from standard input. Answers true, false, or in words why the test is none for it.
With arguments it is the peer's own command over a folder, with the system's Chromium.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playwright.sync_api import BrowserType

_launch = BrowserType.launch


def _with_the_systems_chromium(self: BrowserType, **given: Any) -> Any:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return _launch(self, executable_path=shutil.which("chromium"), args=arguments, **given)


BrowserType.launch = _with_the_systems_chromium

from olmocr.bench import benchmark  # noqa: E402
from olmocr.bench import tests as peer  # noqa: E402
from olmocr.bench.katex import render  # noqa: E402


def verdict(case: dict[str, Any], text: str) -> bool | str:
    try:
        test = peer.load_single_test(dict(case))
    except peer.ValidationError as error:
        return str(error)
    try:
        return bool(test.run(text)[0])
    except Exception:  # noqa: BLE001 - its evaluator counts whatever is raised as not passed
        return False


def main() -> None:
    # One browser is enough, and this machine has other things to do.
    render._render_executor = ThreadPoolExecutor(1)
    if sys.argv[1:]:
        benchmark.main()
        return
    for line in sys.stdin:
        sample = json.loads(line)
        with contextlib.redirect_stdout(sys.stderr):
            found = verdict(sample["case"], sample["text"])
        print(json.dumps(found), flush=True)
    sys.stdout = sys.stderr  # it says farewell to its browser


if __name__ == "__main__":
    main()
