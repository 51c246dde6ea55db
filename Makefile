# Two commands: `make bench` runs the main job, `make test` runs every check. Both need Python >= 3.11 and make alone.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: bench test clean lock

bench: $(VENV)/.core
	rm -rf runs/default  # a run made by other code is never continued
	$(BIN)/breakfall bench --out runs/default

test: $(VENV)/.test
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n auto

# Installed by name and hash; our own package without resolving anything again.
$(VENV)/.core: requirements/core.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/core.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: $(VENV)/.core requirements/test.lock requirements/bare.lock
	$(PIP) --require-hashes -r requirements/test.lock
	$(PIP) --require-hashes --no-deps -r requirements/bare.lock
	bash tests/install-system.sh
	@touch $@

# Locks name versions and hashes, and no registry's address.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		pyproject.toml requirements/build.in -o requirements/core.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--group test --group bench-peers -c requirements/core.lock -o requirements/test.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--no-deps --group bare -o requirements/bare.lock

clean:
	rm -rf $(VENV) runs/default .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache .coverage dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
