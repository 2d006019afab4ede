"""`pdfocr bench` and the asset `bench_scores`, over a small benchmark of our own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from pdfocr_core.bench.katex import FormulaBrowser, find_chromium
from pdfocr_core.bench.unlabelled import MEASURES, measure_workspace, shared_tables
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.settings import RenderSettings
from pdfocr_core.workspace import Workspace, open_workspace
from pdfocr_dagster.cli import app
from pdfocr_dagster.definitions import build_definitions
from tests.bench_samples import Sample, write_data
from tests.documents import write_pdf
from tests.integration.conftest import Command
from tests.viewer_workspace import commit, local, page

ATTACK = "<script>alert(1)</script>"
SAMPLES = [
    Sample({"id": "one", "type": "present", "page": 1, "text": "harbour"}, "The mill."),
    Sample({"id": "two", "type": "present", "page": 1, "text": "harbour"}, "The harbour."),
    Sample({"id": "three", "type": "absent", "page": 1, "text": "alert(1)"}, f"{ATTACK} at the mill"),
]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return write_data(tmp_path / "bench", SAMPLES)


def test_the_command_scores_a_folder_and_shows_failures_beside_their_pages(bench: Path, tmp_path: Path) -> None:
    command = Command(tmp_path)
    shown = command("bench", bench, "--candidates", bench / "candidate", "--html", "made/bench.html").stdout
    assert "present.jsonl" in shown
    assert "50.0% (1 of 2)" in shown
    html = (tmp_path / "made" / "bench.html").read_text()
    assert ATTACK not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.count("data:image/jpeg;base64,") == 2
    assert "http" not in html.replace("http-equiv", "")
    (candidate,) = json.loads(CliRunner().invoke(app, ["bench", str(bench), "--json"]).stdout)["candidates"]
    assert candidate["score"] == pytest.approx(0.5)
    assert [test["passed"] for test in candidate["tests"]] == [False, False, True, True, True, True]


def test_a_candidate_without_every_page_ends_with_three(bench: Path) -> None:
    (bench / "candidate" / "papers" / "two_pg1_repeat1.md").unlink()
    done = CliRunner().invoke(app, ["bench", str(bench)])
    assert done.exit_code == 3
    assert "1 pages were not read (papers/two.pdf, page 1)" in " ".join(done.stdout.split())
    done = CliRunner().invoke(app, ["bench", str(bench / "pdfs")])
    assert done.exit_code == 2
    assert "no benchmark" in done.stderr


def test_mathematics_is_compared_as_it_is_drawn() -> None:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium: `apt-get install chromium`")
    with FormulaBrowser(chromium) as browser:
        assert not browser(r"\frac{a}{b}", ["c", r"{a \over b}"])
        assert browser(r"\frac{a}{b}", ["c", r"\frac{b}{a}"])
        assert browser("x", ["y", r"\frac{x"])
        assert browser.draw(r"\href{javascript:alert(1)}{x} \includegraphics{https://example.invalid/x}").error == ""
        assert browser.draw("</script><script>place.remove()</script>").glyphs
        assert browser.draw("x" * 30_000).error == "too long"
    with FormulaBrowser("/no/chromium") as browser, pytest.raises(ConfigurationError, match="does not start"):
        browser.draw("x")


def write_workspace(folder: Path, texts: dict[Path, str]) -> Workspace:
    """A workspace as a run leaves it that has read these PDFs, of one page each, so."""
    workspace = open_workspace(str(folder))
    read = []
    for path, text in texts.items():
        document = local(path)
        content_id = hashlib.sha256(path.read_bytes()).hexdigest()
        read.append((document, None, [page(document, 1, text).model_copy(update={"content_id": content_id})]))
    commit(workspace, read)
    return workspace


def test_a_workspace_is_judged_by_the_bytes_of_its_documents(bench: Path, tmp_path: Path) -> None:
    moved = {
        write_pdf(tmp_path / "moved" / f"{sample.case['id']}.pdf", [sample.case["id"]]): sample for sample in SAMPLES
    }
    workspace = write_workspace(tmp_path / "workspace", {path: sample.text for path, sample in moved.items()})
    done = CliRunner().invoke(app, ["bench", str(bench), "-w", workspace.url, "--prices", "0,1", "--json"])
    (candidate,) = json.loads(done.stdout)["candidates"]
    assert candidate["categories"]["present.jsonl"]["passed"] == 1
    assert candidate["spent"]["models"] == {"test-model": 3}
    assert candidate["cost"] == pytest.approx(3 * 80 / 1e6)


def test_measures_need_no_labels_but_a_sound_text_layer(tmp_path: Path) -> None:
    lines = [f"{word} stood at the northern gate of the old town in winter" for word in ("mill", "tower", "inn")]
    paths = [write_pdf(tmp_path / f"{number}.pdf", [line]) for number, line in enumerate(lines)]
    table = "\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    first = write_workspace(tmp_path / "first", {paths[0]: lines[0], paths[1]: "nothing of it", paths[2]: table})
    second = write_workspace(tmp_path / "second", {paths[2]: table.replace("2", "3")})
    with PagePictures(RenderSettings(workers=1)) as pictures:
        measured = measure_workspace(first, pictures, 10)
        assert len(measure_workspace(first, pictures, 2).pages) == 2
    assert [entry["pages"] for name, entry in measured.to_json().items() if name in MEASURES] == [3, 3, 1]
    assert max(measured.values("word_f1")) == 1
    assert min(measured.values("character_error_rate")) == 0
    assert measured.values("reading_order") == [1.0]
    assert measured.worst[-1].url == str(paths[0])
    assert shared_tables(first, second, 10) == [pytest.approx(1 - 1 / 7)]
    done = CliRunner().invoke(app, ["bench", "--no-labels", "-w", first.url, "-w", second.url, "--json"])
    said = json.loads(done.stdout)
    assert [one["pages"] for one in said["workspaces"]] == [3, 1]
    assert said["teds"] == pytest.approx(1 - 1 / 7)
    assert "pages looked at" in CliRunner().invoke(app, ["bench", "--no-labels", "-w", first.url]).stdout
    assert CliRunner().invoke(app, ["bench", "--no-labels"]).exit_code == 2


def test_the_asset_is_there_only_with_a_benchmark(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = dg.AssetKey("bench_scores")
    assert key not in build_definitions().resolve_asset_graph().get_all_asset_keys()
    monkeypatch.setenv("PDFOCR_BENCH_DATA", str(bench))
    monkeypatch.setenv("PDFOCR_BENCH_CANDIDATES", f"other={bench / 'candidate'}")
    monkeypatch.setenv("PDFOCR_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("PDFOCR_PRICE_OUT", "1")
    write_workspace(
        tmp_path / "workspace", {bench / "pdfs" / "papers" / f"{s.case['id']}.pdf": s.text for s in SAMPLES}
    )
    made = build_definitions()
    asset = made.resolve_assets_def(key)
    assert asset.partitions_def is not None
    assert asset.partitions_def.get_partition_keys() == ["workspace", "other"]
    assert key not in made.resolve_job_def("pdfocr_all").asset_layer.executable_asset_keys
    figures = {}
    with dg.DagsterInstance.ephemeral() as instance:
        for partition in ("workspace", "other"):
            done = dg.materialize([asset], partition_key=partition, instance=instance)
            (event,) = done.asset_materializations_for_node("bench_scores")
            figures[partition] = {name: value.value for name, value in event.metadata.items()}
    assert figures["workspace"]["score"] == pytest.approx(0.5)
    assert figures["workspace"]["cost"] == pytest.approx(0.0002)
    assert figures["workspace"]["model"] == "test-model"
    assert figures["other"]["score"] == pytest.approx(0.5)
    assert "cost" not in figures["other"]
    assert "harbour" in (tmp_path / "workspace" / "report" / "bench-other.html").read_text()
