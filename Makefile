# An index of what can be done here. The work itself is in tools/, tests/, bench/ and examples/.
# demo, browser, faults and bench pass ARGS on: make bench ARGS="w1 --rounds 1".
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
# The first Python on this machine that is new enough; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
# Rooms whose tests share nothing, so that two processes may run them. Those that kill at random points run alone.
SIDE_BY_SIDE := tests/unit tests/store tests/model tests/conformance tests/contract tests/e2e
ALONE := tests/faults

.PHONY: help setup demo demo-hub test test-slow test-all browser check fmt verify contract docs bench faults serve

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/setup  ## Make .venv with pinned versions; runs by itself when it is needed
	@:

.venv/setup: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name one with PYTHON=..." >&2; exit 1; }
	@echo "Setting up .venv with $(PYTHON); about a minute the first time"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[server,postgres,embeddings,test]'
	@touch $@

demo: setup  ## Run real work, kill worker and server in the middle, and show that nothing was lost
	@$(BIN)/python -m examples.demo.run $(ARGS)

demo-hub: setup  ## Deploy definitions to a server, run them, answer the review
	@$(BIN)/python -m examples.support_bot.run

test: setup  ## Run the suites, model and faults short (under 10 minutes)
	$(BIN)/pytest -n 2 -m "not slow" $(SIDE_BY_SIDE)
	$(BIN)/pytest $(ALONE)

test-slow: setup  ## Run what test leaves out: kills of runs, escapes and bombs, workers that crash
	$(BIN)/pytest -n 2 -m slow $(SIDE_BY_SIDE)

test-all: setup  ## Run every suite with the long model and fault runs
	$(BIN)/pytest -n 2 --long $(SIDE_BY_SIDE)
	$(BIN)/pytest --long $(ALONE)

browser: setup  ## Use the debugger page in a real browser (installs Chromium on Debian)
	@command -v chromium >/dev/null || { apt-get update --quiet && apt-get install --quiet --yes chromium; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser]'
	$(BIN)/pytest tests/browser $(ARGS)

check: setup  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fmt: setup  ## Format, and fix what can be fixed without thinking
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

verify: setup  ## Fail when a generated file is stale (make contract docs renews them)
	$(BIN)/python -m turnbuckle.http.openapi | diff -u contracts/openapi.json -
	$(BIN)/python tools/models.py --check
	$(BIN)/python tools/reference.py --check
	$(BIN)/python -m turnbuckle.flow.sandbox.probe --check

contract: setup  ## Generate contracts/openapi.json and src/lbb/models.py
	$(BIN)/python -m turnbuckle.http.openapi > contracts/openapi.json.new
	mv contracts/openapi.json.new contracts/openapi.json
	$(BIN)/python tools/models.py

docs: setup  ## Generate the reference pages that come from the code
	$(BIN)/python tools/reference.py
	$(BIN)/python -m turnbuckle.flow.sandbox.probe

bench: setup  ## Measure speed beside the disk's own floor (bench/README.md)
	$(BIN)/python bench/run.py $(ARGS)

faults: setup  ## Kill, freeze and starve server and worker at random points (seeded)
	$(BIN)/pytest --long tests/faults $(ARGS)

serve: setup  ## Serve on loopback with the test key and a store in .turnbuckle
	$(BIN)/turnbuckle dev
