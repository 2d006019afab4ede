"""What is said about cores and GPUs when vLLM starts."""

from __future__ import annotations

import pytest

from pdfocr_core.serving.cores import gpus_of, share_of_cores


def test_gpus_are_counted_from_the_servers_arguments() -> None:
    assert gpus_of(["--max-model-len", "16384"]) == 1
    assert gpus_of(["--tensor-parallel-size", "2", "--data-parallel-size=4"]) == 8


@pytest.mark.parametrize(("cores", "gpus", "enough"), [(2, 1, True), (8, 24, False), (64, 8, True), (4, 16, False)])
def test_a_machine_with_few_cores_is_told_that_its_gpu_may_wait(cores: int, gpus: int, enough: bool) -> None:
    pages, line = share_of_cores(cores, gpus)
    assert f"{cores} cores for" in line
    assert ("may wait" not in line) is enough is (pages >= 5)
