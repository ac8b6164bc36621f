# Every target sets up what it needs by itself, in .venv; the second time that takes no time.
# Options: PYTHON=python3.12 (another interpreter, in a venv of its own), ARGS="-k lock" (for pytest).
PYTHON ?=
ARGS ?=
VENV ?= .venv$(addprefix -,$(notdir $(PYTHON)))
CORE_VENV ?= .venv-core$(addprefix -,$(notdir $(PYTHON)))
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.set-up-dev
CORE_READY := $(CORE_VENV)/.set-up-core
COG_FILES := $(wildcard README.md CONTRIBUTING.md lock/README.md terraform/README.md)

# Without bytecode every process of every run would compile PyTorch and Ray anew: it doubles the time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help dev demo test test-late test-nightly test-network test-core check check-format check-lint check-types check-architecture check-docs fmt bench clean
.SUFFIXES:

help: ## show this list
	@echo "usage: make TARGET"
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

$(READY): pyproject.toml
	@PYTHON="$(PYTHON)" .ci/set-up $(VENV) dev

$(CORE_READY): pyproject.toml
	@PYTHON="$(PYTHON)" .ci/set-up $(CORE_VENV) core

dev: $(READY) ## make .venv with rdlc, Ray, PyTorch and the tools

# Lock, run, replay and compare the tiny model on an embedded Ray: what a user would type, one after the other.
define demo_script
project=.demo/project
if [ -t 1 ]; then bold=$$(printf '\033[1m') plain=$$(printf '\033[0m'); else bold='' plain=''; fi
step() { printf '\n%s== %s%s\n' "$$bold" "$$1" "$$plain"; }
rdlc() {
    printf '$$ rdlc %s\n' "$$*"
    "$$python" -m rdlc "$$@" && return
    status=$$?
    printf '\nmake demo: `rdlc %s` ended with exit code %s; its files are in %s\n' "$$*" "$$status" "$$project" >&2
    exit "$$status"
}
python=$$PWD/$(VENV)/bin/python
rm -rf .demo
mkdir .demo
step "a project folder: a run spec and the recipe"
rdlc init "$$project" --target local
cd "$$project"
step "lock: freeze everything that the run depends on"
rdlc lock run.yaml
lock=$$(echo lock/*.lock.yaml)
step "run: train it as locked, and keep the record as baseline"
rdlc run "$$lock"
step "replay: train it again, and prove that it is the same"
rdlc replay "$$lock"
set -- runs/*/*
step "diff: what differs between the two records"
rdlc diff "$$1" "$$2"
step "the records"
rdlc runs
cat <<TEXT

Locked, run, replayed. \`outcome-bitwise\` says that every step's loss and gradient norm and all final
parameters of the replay have the same bits as those of the run.

Go on from here:
  cd $$project
  . ../../$(VENV)/bin/activate
  rdlc verify $$lock
  rdlc lock run.yaml --set recipe.learning_rate=1e-3 -o lock/other.lock.yaml
  rdlc diff $$lock lock/other.lock.yaml
  rdlc run lock/other.lock.yaml
TEXT
endef
export demo_script

demo: $(READY) ## lock, run, replay and compare a tiny training run (.demo/project)
	@sh -eu -c "$$demo_script"

test: $(READY) ## the whole default test suite
	@.ci/test-programs
	@$(RUN) pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-late: $(READY) ## the tests that take long: kills and packages on a real Ray, Terraform with its provider
	@.ci/test-programs
	@$(RUN) pytest -m late -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-nightly: $(READY) ## the longest tests, which CI has no time for
	@.ci/test-programs
	@$(RUN) pytest -m nightly -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-network: $(READY) ## the tests that ask the machine's real package index
	@$(RUN) pytest -m network $(ARGS)

test-core: $(CORE_READY) ## the tests that need neither Ray nor PyTorch, in a venv without them
	@.ci/test-programs
	@RDLC_WITHOUT_TRAIN=1 $(CORE_VENV)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

check: check-format check-lint check-types check-architecture check-docs ## formatting, lint, types, architecture, generated documentation

check-format: $(READY)
	@echo "ruff format --check"
	@$(RUN) ruff format --check --quiet --output-format concise . || { echo 'not formatted: `make fmt` does it' >&2; exit 1; }

check-lint: $(READY)
	@echo "ruff check"
	@$(RUN) ruff check --quiet .

check-types: $(READY)
	@echo "mypy --strict"
	@$(RUN) mypy --no-error-summary

check-architecture: $(READY)
	@echo "lint-imports"
	@PYTHONPATH=recipes $(VENV)/bin/lint-imports --no-cache --no-logo >$(VENV)/lint-imports.log || { cat $(VENV)/lint-imports.log; exit 1; }

check-docs: $(READY)
	@.ci/test-programs
	@echo "cog --check $(COG_FILES)"
	@$(RUN) cogapp --check --check-fail-msg='`make fmt` writes it anew' --diff --verbosity=0 $(COG_FILES)

fmt: $(READY) ## format, mend what ruff can mend, write generated documentation
	@$(RUN) ruff check --fix-only --quiet .
	@$(RUN) ruff format --quiet .
	@$(RUN) cogapp -r --verbosity=1 $(COG_FILES)

bench: $(READY) ## measure (prints figures, never fails on one)
	@set -e; for script in tests/benchmarks/*.py; do echo "$$script"; $(VENV)/bin/python "$$script"; done

clean: ## remove the demo, caches and virtual environments (never runs/ or lock/)
	rm -rf .demo .venv .venv-* .venv.lock build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find rdlc recipes tests -name __pycache__ -type d -prune -exec rm -rf {} +
