# `make demo` and `make test` set up all they need in .venv.
PYTHON ?= python3
BIN := .venv/bin

# Exactly this one, before anything that needs torch: a range alone may pull gigabytes of GPU packages.
TORCH := torch==2.13.0

# Nothing newer than what the tests have passed with.
INSTALL := pip install --quiet --constraint constraints.txt

.PHONY: demo test lint types tests aeon scale remote notebook container docs study soak fuzz-service clean

demo: .venv/demo
	$(BIN)/python examples/demo.py

test: lint types tests aeon

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/dev
	$(BIN)/mypy

# One thread each: a process per core runs already, and threads that wait for a core burn the time of others.
tests: export OMP_NUM_THREADS := 1
tests: export OPENBLAS_NUM_THREADS := 1
tests: .venv/dev
	$(BIN)/pytest -n auto

# aeon needs an older numpy than all else here is tested with, so it has an environment of its own.
aeon: .venv-aeon/ready
	.venv-aeon/bin/python -m pytest --quiet tests/model/test_aeon.py

.venv-aeon/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-aeon
	.venv-aeon/bin/$(INSTALL) --editable . aeon==1.6.0 polars pytest
	touch $@

# Ray and Spark are large, so each has an environment of its own; Dask is part of `make test`. Spark needs Java
# 17, such as Debian's default-jre-headless.
SCALE_TESTS := tests/scale tests/cli/test_cli_folders.py tests/docs/test_night.py
scale: .venv-ray/ready .venv-spark/ready
	.venv-ray/bin/python -m pytest --quiet $(SCALE_TESTS) -k "ray or Ray"
	.venv-spark/bin/python -m pytest --quiet $(SCALE_TESTS) -k "spark or Spark"

.venv-ray/ready: PINNED := ray[data]==2.60.0
.venv-spark/ready: PINNED := pyspark==4.3.0
.venv-ray/ready .venv-spark/ready: .venv-%/ready: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet --editable '.[cli,$*]' '$(PINNED)' polars pytest
	touch $@

# Servers of models by others, started on free ports of loopback. Each needs many packages, so each has an
# environment of its own.
remote: .venv-mlserver/ready .venv-mlflow/ready
	.venv-mlserver/bin/python -m pytest --quiet tests/remote/test_mlserver.py
	.venv-mlflow/bin/python -m pytest --quiet tests/remote/test_mlflow_serving.py

.venv-mlserver/ready: PINNED := mlserver==1.7.1 mlserver-sklearn==1.7.1
.venv-mlflow/ready: PINNED := mlflow==3.17.2
.venv-mlserver/ready .venv-mlflow/ready: .venv-%/ready: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet --editable '.[cli,remote]' $(PINNED) polars pytest
	touch $@

# The widget in JupyterLab itself, driven by chromium; JupyterLab has an environment of its own.
notebook: .venv-jupyter/ready
	.venv-jupyter/bin/python -m pytest --quiet tests/notebook

.venv-jupyter/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-jupyter
	.venv-jupyter/bin/$(INSTALL) --editable '.[notebook,remote]' jupyterlab==4.6.6 playwright polars pytest
	touch $@

# The steps of the Dockerfile in an empty folder with a fresh environment, for machines without a container engine.
container: .venv/dev
	COUNTERPOINT_CONTAINER=1 $(BIN)/pytest --quiet tests/web/test_dockerfile.py tests/web/test_dockerfile_steps.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) --editable '.[datasets]'
	touch $@

.venv/study: .venv/bin/python pyproject.toml study/pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) $(TORCH)
	$(BIN)/$(INSTALL) --editable '.[cli,dask,exact,serve,torch]' lightgbm xgboost-cpu --editable ./study
	touch $@

.venv/dev: .venv/bin/python pyproject.toml study/pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) $(TORCH)
	$(BIN)/$(INSTALL) --editable '.[dev]' --editable ./study
	touch $@ .venv/demo .venv/study

# Hours of trials that look for what no other test thought of; docs/reliability.md says what is tried. A part of
# it: make soak SOAK="--share 0.01", or SOAK="fuzz --cases 100". A short slice is part of `make test`.
soak: .venv/dev
	$(BIN)/python -m soak $(SOAK)

# 10,000 hostile requests to the service by schemathesis, and half as many damaged ones; a part of `make soak`.
fuzz-service: .venv/dev
	$(BIN)/python -m soak hostile $(FUZZ)

# The documentation as pages in site/; its pictures are drawn by docs/pictures.py.
docs: .venv/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .venv-aeon .venv-jupyter .venv-ray .venv-spark .venv-mlserver .venv-mlflow .mypy_cache .pytest_cache .ruff_cache build dist site

# The paper's study on tables: STUDY="--full" for its size, or any other options of `counterpoint study tables`.
study: .venv/study
	$(BIN)/counterpoint study tables $(STUDY)

# Figures of the README. Run them on a quiet machine; each prints a table and writes benchmarks/results/*.json.
# Options: make bench-scale BENCH="--engines jobs".
.PHONY: bench-speed bench-growth bench-columns bench-quality bench-images bench-stream bench-digest bench-actions bench-scale bench-cost bench-sample bench-share bench-serve bench-nearest bench-survival bench-before
bench-speed bench-growth bench-columns bench-quality bench-images bench-stream bench-digest bench-actions bench-scale bench-cost bench-sample bench-share bench-serve bench-nearest bench-survival bench-before: bench-%: .venv/study
	$(BIN)/python -m counterpoint_study.benchmarks.$* $(BENCH)

# It opens the page in a browser, which only the tests' environment can.
.PHONY: bench-page
bench-page: .venv/dev
	$(BIN)/python -m counterpoint_study.benchmarks.page
