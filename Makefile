# Two commands do everything: `make run` and `make test`. The rest is for people who work on Penstock.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is made when a module is first used: making all of it at once is a third of the time that setting up takes.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
NODE_PEERS := tests/peers/node_modules/.installed-from

# The console: built into the package when its sources are newer than what was built.
CONSOLE := src/penstock/console/static/index.html
WEB_SOURCES := $(shell find web/src web/public web/scripts -type f ! -name schema.d.ts) web/index.html web/vite.config.ts
WEB_PACKAGES := web/node_modules/.installed-from
WEB_TESTED := web/node_modules/.tested

# Two at a time, and all of them to their ends: what is wrong is said at once.
TOGETHER := $(MAKE) -s --no-print-directory -j2 -k

.PHONY: help run console types test ready again fuzz chaos histories lint fmt docs bench lock clean programs chromium style python-types web-types

help: ## show this
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: $(VENV)/.run ## set up what is needed, then serve at http://127.0.0.1:8080
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory console || \
	  echo "The console could not be built; the reason is above. The API works without." >&2; else \
	  echo "The console is not built: that needs Node 20 or newer, with npm (https://nodejs.org). The API works without." >&2; fi
	@$(BIN)/penstock serve

console: $(CONSOLE) ## build the console into the package

types: $(VENV)/.run $(WEB_PACKAGES) ## write the console's types anew, from our own OpenAPI document
	@$(BIN)/python web/scripts/openapi.py > web/node_modules/.openapi.json
	@cd web && npm run --silent types

test: ## set up what is needed, then run every test
	@$(TOGETHER) $(VENV)/.dev ready
	@$(BIN)/pytest -n auto --dist=worksteal

# What tests need besides Python's packages, and the console's own tests, when something of it has changed since.
ready: $(CONSOLE) $(NODE_PEERS) chromium $(WEB_TESTED)

# No more than ten: a change that breaks more than that is no accident.
again: ## try once more, alone, the few tests that have failed
	@$(BIN)/python -c 'import json, sys; failed = json.load(open(".pytest_cache/v/cache/lastfailed")); \
	  print("Tried once more, alone:", *failed, sep="\n  "); sys.exit(len(failed) > 10)'
	@$(BIN)/pytest --last-failed --last-failed-no-failures=none

$(WEB_TESTED): $(WEB_SOURCES) $(WEB_PACKAGES)
	@cd web && npm run --silent test
	@touch $@

fuzz: $(VENV)/.dev ## send what nobody would: requests made up from our own OpenAPI document
	@FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-200} FUZZ_SEED=$${FUZZ_SEED:-$$(date +%s)} $(BIN)/pytest -o faulthandler_timeout=0 tests/platform/test_openapi_holds.py

chaos: $(VENV)/.dev ## kill and halt servers, workers, their database and Temporal, again and again, for ten minutes each, and account for everything
	@CHAOS_SECONDS=$${CHAOS_SECONDS:-600} CHAOS_SEED=$${CHAOS_SEED:-$$(date +%s)} $(BIN)/pytest -s -o faulthandler_timeout=0 tests/chaos

histories: $(VENV)/.dev ## record executions on Temporal anew, which every later change must walk in the same way
	@$(BIN)/pytest -q tests/engine/temporal/record_histories.py

lint: ## what a change must pass before its tests
	@$(TOGETHER) $(VENV)/.dev $(WEB_PACKAGES)
	@$(TOGETHER) python-types style web-types $(ALSO)

style: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# One process: mypy's own workers are given up on a machine that is slow to start them.
python-types: $(VENV)/.dev
	@$(BIN)/mypy

web-types: types
	@cd web && npm run --silent check

fmt: $(VENV)/.dev ## bring the code into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/.run ## write docs/settings.md anew, after a change of settings
	@$(BIN)/penstock config --markdown > docs/settings.md

bench: $(VENV)/.dev ## measure
	@$(BIN)/python -m bench

COMPILE := uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra amqp --extra kafka --extra mqtt --extra nats --extra redis --extra temporal --group build

lock: ## after a change of dependencies in pyproject.toml (needs uv)
	$(COMPILE) -o requirements/run.txt
	$(COMPILE) --group dev --group bench -c requirements/run.txt -o requirements/dev.txt

clean: ## remove what was set up
	rm -rf $(VENV) tests/peers/node_modules bench/peers/node_modules web/node_modules src/penstock/console/static

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Penstock needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)." \
	    "Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python's venv module is missing; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

# Packages are what the lock files say, to the byte; the package itself is installed in place.
$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Setting up Python packages in $(VENV) …"
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "Setting up Python packages for development in $(VENV) …"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $(VENV)/.run $@

# The configuration that we hand out is tested with a real nginx, MQTT 5 and AMQP with real brokers. Who may install
# packages has them installed (and not started: RUNLEVEL); everybody else is told what is not tested.
programs:
	@PATH="$$PATH:/usr/sbin:/usr/local/sbin"; missing=""; \
	for name in nginx mosquitto rabbitmq-server; do command -v $$name >/dev/null || missing="$$missing $$name"; done; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing$$missing, which some tests need …"; \
	  export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive; install="apt-get install -qq -y --no-install-recommends"; failed=""; \
	  $$install $$missing >/dev/null 2>&1 && exit 0; apt-get update -qq >/dev/null; \
	  for name in $$missing; do $$install $$name >/dev/null || failed="$$failed $$name"; done; \
	  missing="$$failed"; [ -n "$$missing" ] || exit 0; \
	fi; \
	echo "Missing:$$missing (on Debian and Ubuntu: apt install$$missing); tests that need them are left out." >&2

# After these: packages of the system are installed one at a time.
chromium: programs
	@web/scripts/chromium.sh

# Tests sign in at real identity providers, and those are written for Node.
$(NODE_PEERS): tests/peers/package-lock.json | $(VENV)/.dev
	@command -v npm >/dev/null || { echo "The tests need Node 20 or newer, with npm (https://nodejs.org)." >&2; exit 1; }
	@echo "Setting up the tests' identity providers in tests/peers …"
	@$(BIN)/python -c 'from tests.node_peers import install; install()'
	@touch $@

$(WEB_PACKAGES): web/package-lock.json
	@command -v npm >/dev/null || { echo "The console is built with Node 20 or newer, with npm (https://nodejs.org)." >&2; exit 1; }
	@echo "Setting up the console's packages in web …"
	@cd web && npm ci --silent --no-audit --no-fund
	@touch $@

$(CONSOLE): $(WEB_SOURCES) $(WEB_PACKAGES)
	@echo "Building the console …"
	@cd web && npm run --silent build
