# Everything a fresh machine needs is Python >= 3.11 and make: each target sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
WHEELS ?= dist
# What `make results` runs; those on public data sets need TRUERANK_DATA, the folder of their folders.
RESULTS ?= experiments/web.toml experiments/shop.toml
# The build without GPU packages, or none: `torch` alone can bring gigabytes of them. Elsewhere: make test TORCH=torch
TORCH  ?= torch==2.13.0+cpu

.PHONY: help demo test lint format bench docs wheel clean results

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: $(VENV)/.core  ## see the bias, and see it go: rankers trained on simulated clicks, and a report with charts
	$(RUN) -m truerank demo

test: $(VENV)/.dev  ## run the tests
	$(RUN) -m pytest

lint: $(VENV)/.dev  ## ruff and mypy (strict on src)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(VENV)/.dev  ## rewrite the code in the project's format
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench: $(VENV)/.dev  ## measure speed, memory and accuracy against named peers
	$(RUN) -m bench

results: $(VENV)/.core  ## run the experiments of experiments/ and write docs/results.md; RESULTS says which
	$(RUN) -m truerank.experiment.results $(RESULTS)

docs: $(VENV)/.dev  ## build the documentation into site/, warnings being errors
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet
	@echo "open site/index.html"

wheel: $(VENV)/.core  ## build the wheel into dist/
	$(RUN) -m pip wheel --quiet --no-deps --wheel-dir $(WHEELS) .

clean:  ## remove .venv and everything built
	rm -rf $(VENV) dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "truerank needs Python >= 3.11; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@$(RUN) -m pip install --quiet --disable-pip-version-check --retries 1 '$(TORCH)' 2>/dev/null \
		|| echo "$(TORCH) is not to be had here; what needs it is not tested. See TORCH in the Makefile."
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.core
