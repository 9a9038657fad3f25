# `make demo` and `make test` set up all they need in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types tests clean

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

.venv/dev: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ .venv/demo

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache build dist

# Figures of the README. Run them on a quiet machine; each prints a table and writes benchmarks/results/*.json.
.PHONY: bench-speed bench-growth bench-quality
bench-speed bench-growth bench-quality: bench-%: .venv/demo
	$(BIN)/python -m benchmarks.$*
