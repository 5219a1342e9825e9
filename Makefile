# Every task of the project. Each target works alone on a fresh machine that has Python 3.11 or newer and make.
.DEFAULT_GOAL := help
.PHONY: help setup test goldens check lint docs e2e frameworks installs bench prior mutants torture demo lock clean

VENV ?= .venv
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
CRASH_SECONDS ?= 3
# As many processes as there are cores; WORKERS=0 runs in one, for a debugger.
WORKERS ?= auto
TESTS ?= tests
PYTEST ?= $(VENV)/bin/python -m pytest
# Where nothing compiled is kept, each start of the program compiles it anew, which takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
UV = $(BIN)/uv pip install --quiet --python $(BIN)/python
DEV := $(VENV)/.installed-dev
# FEW_CLIENTS=1 installs Claude Code, Pi, the conformance suite and what drives Chromium alone, as .ci/run does.
INSPECTOR := .build/inspector
CLAUDE_CODE := .build/claude-code
HOSTS := .build/hosts
BROWSER := .build/browser
# The demo needs no tools of ours: it takes the developers' environment where there is one, else a small one of its own.
DEMO_VENV := $(if $(wildcard $(DEV)),$(VENV),.build/runtime)

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 18

setup: $(DEV) ## the environment in .venv, from the pinned files

$(DEV): requirements/dev.txt requirements/build.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# uv takes a seventh of pip's time. Where it is not to be had, or reaches no index, since only pip's settings name one,
	@# pip does it all. Neither compiles: what is imported, is when it is, and that is a quarter of these packages.
	-sed -n '/^uv==/,/[^\\]$$/p' requirements/dev.txt | $(BIN)/python -m pip install --quiet --require-hashes -r /dev/stdin
	$(UV) --require-hashes -r requirements/dev.txt -r requirements/build.txt || sed '/^uv==/,/[^\\]$$/d' requirements/dev.txt | \
		$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r /dev/stdin -r requirements/build.txt
	$(UV) --no-deps --no-build-isolation -e . || \
		$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

test: $(DEV) ## all tests, the crash harness for CRASH_SECONDS each (3)
	TEST_CRASH_SECONDS=$(CRASH_SECONDS) $(PYTEST) $(TESTS) -n $(WORKERS) --dist worksteal $(ARGS)

goldens: $(DEV) ## write down anew what known sessions give, byte for byte, after a change that means to move it
	GOLDENS=write $(PYTEST) tests/test_goldens.py

check: lint ## format, lint, types, floors, docs
	$(PYTEST) tests/docs tests/mutants -m "not slow" -n $(WORKERS)

lint: $(DEV) ## format, lint, types, floors (TYPES=src for those of the package alone)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright $(TYPES)
	$(BIN)/lint-imports

docs: $(DEV) ## the docs as a site in .build/site, strictly: a link that leads nowhere fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

e2e: $(DEV) ## the real server over stdio: the mcp client, the Inspector, the real Claude Code, opencode, Pi, Codex, Gemini CLI; the page in Chromium
	@tests/e2e/install_inspector $(BIN)/python $(INSPECTOR) $(if $(FEW_CLIENTS),suite)
	@tests/e2e/install_claude_code $(BIN)/python $(CLAUDE_CODE)
	@tests/e2e/install_hosts $(BIN)/python $(HOSTS) $(if $(FEW_CLIENTS),pi)
	@tests/e2e/install_browser $(BIN)/python $(BROWSER)
	TEST_HOSTS=$(CURDIR)/$(HOSTS) TEST_BROWSER=$(CURDIR)/$(BROWSER) TEST_INSPECTOR=$(CURDIR)/$(INSPECTOR) TEST_CLAUDE_CODE=$(CURDIR)/$(CLAUDE_CODE) $(PYTEST) -n 2 --dist loadfile tests/e2e -rs $(ARGS)

frameworks: $(DEV) ## the adapters in the real agent frameworks, lowest and newest versions (ARGS="--only strands")
	$(BIN)/python tests/integrations/run.py $(ARGS)

installs: $(DEV) ## every way to install, in empty homes, with the main job run on each (ARGS="--only pip --write")
	$(BIN)/python benchmarks/install_routes.py $(ARGS)

bench: $(DEV) ## measure, and write benchmarks/results.md
	$(BIN)/python benchmarks/run.py $(ARGS)

prior: $(DEV) ## count anew what agents type again later, and write src/palimpsest_mcp/digest/prior.toml
	$(BIN)/python benchmarks/quality/prior.py

mutants: $(DEV) ## break each promise in a copy; the tests must turn red
	$(BIN)/python tests/mutants/run.py $(ARGS)

torture: $(DEV) ## the crash harness to its numbers, into benchmarks/torture.md (ARGS="--only PART"); 2,000 examples of each property
	$(BIN)/python benchmarks/torture.py $(ARGS)
	HYPOTHESIS_PROFILE=torture $(MAKE) test ARGS="-m 'not crash and not e2e'"

.build/runtime/.installed: requirements/runtime.txt requirements/build.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	test -x .build/runtime/bin/python || $(PYTHON) -m venv .build/runtime
	.build/runtime/bin/python -m pip install --quiet --no-compile --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	.build/runtime/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(if $(wildcard $(DEV)),$(DEV),.build/runtime/.installed) ## compact a bundled session, search, restore, compare
	$(DEMO_VENV)/bin/palimpsest-mcp demo

# Versions and hashes only: where packages come from is the machine's business.
COMPILE := $(BIN)/pip-compile --quiet --generate-hashes --no-header --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options
lock: $(DEV) ## compile requirements/*.txt anew from pyproject.toml (ARGS=--upgrade for newer versions)
	$(COMPILE) $(ARGS) --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) $(ARGS) --extra postgres -c requirements/runtime.txt --output-file requirements/postgres.txt pyproject.toml
	$(COMPILE) $(ARGS) --extra dev -c requirements/runtime.txt --output-file requirements/dev.txt pyproject.toml
	$(COMPILE) $(ARGS) --only-build-deps --build-deps-for editable --build-deps-for wheel -c requirements/dev.txt \
		--output-file requirements/build.txt pyproject.toml
	@! grep -nE '://|^-|[[:space:]]/' requirements/*.txt || { echo "an address or path got into requirements/" >&2; exit 1; }

clean: ## everything that can be made again
	rm -rf .build build dist .pytest_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
