"""Run by vLLM's own Python: reads command lines as JSON by name, writes what its argument parser says to each.

python parse_arguments.py < {"name": ["serve", "model", "--flag", …], …} > {"name": "" or the error}
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib import import_module
from typing import Any


def parser() -> Any:
    """The parser of `vllm serve`; it has moved between versions."""
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    for module in ("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args"):
        with contextlib.suppress(ImportError):
            return import_module(module).make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    raise ImportError("this vLLM has no parser where it is looked for")


def main() -> None:
    lines: dict[str, list[str]] = json.load(sys.stdin)
    said: dict[str, str] = {}
    with contextlib.redirect_stdout(sys.stderr):
        serve = parser()
        for name, argv in lines.items():
            errors = io.StringIO()
            try:
                with contextlib.redirect_stderr(errors):
                    serve.parse_args(argv[1:])
                said[name] = ""
            except SystemExit:
                said[name] = errors.getvalue()[-600:]
            except ValueError as error:
                said[name] = repr(error)
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
