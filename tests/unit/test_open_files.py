"""Every page in flight is a connection: the limit of open files is raised, and what it does not allow is not tried."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = """
import resource, sys
from pdfocr_core.serving.open_files import connections_possible
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(connections_possible(wanted), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("soft", "hard", "possible", "limit"),
    [
        pytest.param(256, 4096, 1024, 1280, id="raised"),
        pytest.param(2048, 4096, 1024, 2048, id="enough"),
        pytest.param(256, 1024, 768, 1024, id="as far as allowed"),
        pytest.param(128, 200, 100, 200, id="very little"),
    ],
)
def test_the_limit_is_raised_as_far_as_needed_and_allowed(soft: int, hard: int, possible: int, limit: int) -> None:
    asked = [sys.executable, "-c", ASK, str(soft), str(hard), "1024"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert told.split() == [str(possible), str(limit)]
