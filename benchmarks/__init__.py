"""Benchmarks: ratios measured in one sitting, never absolute times. `make bench` runs them all."""
