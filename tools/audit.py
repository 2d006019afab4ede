"""Look for known vulnerabilities in what is installed: `make audit`. Needs PyPI's vulnerability service, so no part of CI."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request

# A release that is known to be vulnerable: a mirror that has no vulnerabilities to tell is found out by it.
PROBE = "https://pypi.org/pypi/requests/2.19.0/json"
UNREACHABLE = 3


def main() -> int:
    """Ask for every installed package; the exit code is pip-audit's, or 3 when the service cannot be asked."""
    problem = _problem()
    if problem:
        print(f"Nothing was audited: {problem}. Run this where PyPI's vulnerability service can be reached.")
        return UNREACHABLE
    command = [sys.executable, "-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner", "off"]
    return subprocess.run(command, check=False).returncode


def _problem() -> str:
    """Why the service cannot be asked; empty when it can."""
    try:
        with urllib.request.urlopen(PROBE, timeout=20) as answer:
            told = json.load(answer)
    except (OSError, ValueError) as error:
        return f"{PROBE} does not answer as it should ({error})"
    return "" if told.get("vulnerabilities") else f"{PROBE} tells no vulnerabilities, as only a mirror would"


if __name__ == "__main__":
    sys.exit(main())
