# Two commands do everything: `make run` and `make test`. The rest is for people who work on Penstock.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint fmt bench lock clean

run: $(VENV)/.run ## set up, then serve at http://127.0.0.1:8080
	$(BIN)/penstock serve

test: $(VENV)/.dev ## set up, then run every test
	$(BIN)/pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fmt: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m bench

COMPILE := uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra redis --group build

lock: ## after a change of dependencies in pyproject.toml (needs uv)
	$(COMPILE) -o requirements/run.txt
	$(COMPILE) --group dev --group bench -c requirements/run.txt -o requirements/dev.txt

$(VENV)/.run: requirements/run.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

clean:
	rm -rf $(VENV) tests/peers/node_modules bench/peers/node_modules
