"""What holds for all tests."""

from __future__ import annotations

import signal

# A script that runs the tests in the background has them ignore Ctrl-C. Dagster, run in a test's own process, then ignores
# SIGTERM as well, and every process that a later test starts inherits that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
