# `make demo` and `make test` set up everything they need inside .venv; nothing else has to be installed.
PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data
DEMO ?= The jokes fall flat, but the cast is wonderful and the songs are great fun.

PYTHONS ?= 3.11 3.12 3.13

.PHONY: demo test test-all check lint build wheel clean browser paper docs docs-serve fuzz lock

demo: .venv/.core
	@$(BIN)/suffice explain "$(DEMO)"

test: .venv/.dev browser
	$(BIN)/python -m pytest -n 2

# On every Python that is supported; without torch where it cannot be had (scripts/test_all.sh says more).
test-all: browser
	scripts/test_all.sh $(PYTHONS)

# The versions of all packages anew, into constraints.txt.
lock:
	$(PYTHON) scripts/lock.py

# Debian's chromium for the tests of the page; where it cannot be had, those tests are skipped and say so.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null 2>&1; } || \
		echo "no chromium, and it cannot be installed here: the browser tests will be skipped"

check: .venv/.dev lint test

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every table and figure of the paper and more, into experiments/RESULTS.md; a run that was stopped resumes.
paper: .venv/.dev
	$(BIN)/python -m experiments.paper --data $(DATA)

# The documentation site, offline and strict, into build/site.
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

docs-serve: .venv/.dev
	$(BIN)/mkdocs serve

# Random questions against enumeration and the checkers, for SECONDS; goes on where it stopped (build/fuzz.json).
SECONDS ?= 600
fuzz: .venv/.dev
	@mkdir -p build
	$(BIN)/python tests/fuzz.py --seconds $(SECONDS) --state build/fuzz.json
	$(BIN)/python -m tests.pipelines --seconds $(SECONDS)

build: .venv/.dev
	$(BIN)/python -m build

# What people install: the wheel alone, in an empty environment, away from the sources.
wheel: .venv/.dev
	rm -rf dist build/empty
	$(BIN)/python -m build --wheel --outdir dist . >/dev/null
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/suffice explain "$(DEMO)"

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.core: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/.dev: .venv/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis
