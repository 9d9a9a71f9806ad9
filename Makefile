# `make demo` and `make test` need nothing but Python 3.11+ with venv and pip; packages come on first use.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCHMARKS := recurrent memory fits matcher first_minute

.PHONY: demo test test-all lint bench tables site faults fuzz format lock

demo: $(READY)
	$(BIN)/kleene demo

test: lint
	$(BIN)/pytest -q -n 2 -m "not slow and not data"

test-all: lint
	$(BIN)/pytest -q -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py; done

tables: $(READY)
	$(BIN)/python experiments/tables.py
	$(BIN)/python experiments/command_reference.py

# The documentation; a broken link or a placeholder is an error.
site: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict

faults: $(READY)
	KLEENE_FAULTS=20 $(BIN)/pytest -q tests/faults

fuzz: $(READY)
	$(BIN)/python tests/fuzz/run_all.py

# Exact files with their SHA-256, for a release: requirements.lock.
lock: $(READY)
	$(BIN)/python .ci/lock.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kleene needs Python 3.11 or newer; name one with make PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
