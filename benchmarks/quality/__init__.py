"""How good the CPU engine reads: `python -m benchmarks.quality`; docs/quality.md says what is measured."""
