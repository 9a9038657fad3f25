# `make demo` and `make test` set up all they need in .venv.
PYTHON ?= python3
BIN := .venv/bin

# Exactly this one, before anything that needs torch: a range alone may pull gigabytes of GPU packages.
TORCH := torch==2.13.0

.PHONY: demo test lint types tests study clean

demo: .venv/demo
	$(BIN)/python examples/demo.py

test: lint types tests

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/dev
	$(BIN)/mypy

tests: .venv/dev
	$(BIN)/pytest -n auto

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[study]'
	touch $@

.venv/study: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[study,torch]'
	touch $@

.venv/dev: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ .venv/demo .venv/study

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache build dist

# The paper's study on tables: STUDY="--full" for its size, or any other options of `counterpoint study tables`.
study: .venv/study
	$(BIN)/counterpoint study tables $(STUDY)

# Figures of the README. Run them on a quiet machine; each prints a table and writes benchmarks/results/*.json.
.PHONY: bench-speed bench-growth bench-quality bench-images
bench-speed bench-growth bench-quality bench-images: bench-%: .venv/study
	$(BIN)/python -m benchmarks.$*
