"""Our verdicts beside those of olmOCR's own evaluator, which runs in an environment of its own.

python -m venv /some/where && /some/where/bin/pip install 'olmocr[bench]==0.4.27'
PDFOCR_TEST_OLMOCR=/some/where/bin/python python -m pytest -m nightly tests/contract/test_bench_peer.py
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pdfocr_core.bench.candidates import MarkdownFolder
from pdfocr_core.bench.cases import parse_case
from pdfocr_core.bench.data import open_bench
from pdfocr_core.bench.judge import judge
from pdfocr_core.bench.katex import FormulaBrowser, find_chromium, formulas
from pdfocr_core.bench.score import run_bench
from tests.bench_random import random_samples
from tests.bench_samples import samples, write_data

SCRIPT = Path(__file__).parents[1] / "peer_verdicts.py"
UNKNOWN_TO_THE_RELEASE = {"format", "footnote"}

pytestmark = pytest.mark.nightly


@pytest.fixture
def peer(tmp_path: Path) -> list[str]:
    interpreter = os.environ.get("PDFOCR_TEST_OLMOCR")
    if not interpreter:
        pytest.skip("no peer: set PDFOCR_TEST_OLMOCR to the Python of an environment with olmocr[bench]==0.4.27")
    if shutil.which("chromium") is None or find_chromium() is None:
        pytest.skip("no Chromium: `apt-get install chromium`")
    return [interpreter, str(SCRIPT)]


def run(argv: list[str], home: Path, given: str = "") -> str:
    home.mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": ""}
    return subprocess.run(argv, input=given, env=environment, text=True, capture_output=True, check=True).stdout


def test_every_verdict_is_the_peers(peer: list[str], tmp_path: Path) -> None:
    made = samples()
    given = "\n".join(json.dumps(sample._asdict()) for sample in made)
    theirs = [json.loads(line) for line in run(peer, tmp_path / "home", given).splitlines()]
    chromium = find_chromium()
    assert chromium is not None
    with FormulaBrowser(chromium) as browser:
        ours = [judge(parse_case(sample.case), sample.text, browser) for sample in made]
    agreed: Counter[tuple[str, bool]] = Counter()
    unknown: Counter[str] = Counter()
    different = []
    for sample, their, our in zip(made, theirs, ours, strict=True):
        if isinstance(their, str):
            unknown[sample.case["type"]] += 1
        elif their is our.passed:
            agreed[sample.case["type"], their] += 1
        else:
            different.append((sample, their, our))
    print(
        f"{len(made)} tests, {agreed.total()} alike, {len(different)} different, unknown to the peer: {dict(unknown)}"
    )
    print(sorted(agreed.items()))
    assert not different
    assert set(unknown) <= UNKNOWN_TO_THE_RELEASE
    assert agreed.total() >= 400
    assert {kind for kind, _passed in agreed} >= {"present", "absent", "order", "table", "math", "baseline"}
    assert min(agreed.values()) >= 15


def test_verdicts_on_random_tests_are_the_peers(peer: list[str], tmp_path: Path) -> None:
    seed = int(os.environ.get("PDFOCR_BENCH_SEED", "1"))
    made = random_samples(seed, 2500)
    given = "\n".join(json.dumps(sample._asdict()) for sample in made)
    theirs = [json.loads(line) for line in run(peer, tmp_path / "home", given).splitlines()]
    for sample, their in zip(made, theirs, strict=True):
        try:
            ours = judge(parse_case(sample.case), sample.text, None).passed
        except ValueError:
            ours = None
        assert ours is (None if isinstance(their, str) else their), sample


def test_the_score_is_the_peers(peer: list[str], tmp_path: Path) -> None:
    chosen = [sample for sample in samples() if sample.case["type"] not in UNKNOWN_TO_THE_RELEASE][::4]
    folder = write_data(tmp_path / "bench", chosen)
    said = run([*peer, "--dir", str(folder), "--candidate", "candidate"], tmp_path / "home")
    data = open_bench(folder)
    with formulas() as compare:
        score = run_bench(data, MarkdownFolder(folder / "candidate"), compare)
    summary = said[said.index("Final Summary") :]
    overall = re.search(r"Average Score: ([\d.]+)% ± ([\d.]+)%", summary)
    assert overall is not None
    assert score.score is not None
    assert score.low is not None
    assert score.high is not None
    assert float(overall[1]) == pytest.approx(100 * score.score, abs=0.051)
    # Theirs is drawn anew at every run.
    assert float(overall[2]) == pytest.approx(50 * (score.high - score.low), abs=1.0)
    theirs = {
        name: (int(passed), int(total))
        for name, passed, total in re.findall(r"(\S+)\s*: [\d.]+% \((\d+)/(\d+) tests\)", summary)
    }
    assert theirs == {name: (tally.passed, tally.total) for name, tally in score.categories.items()}
