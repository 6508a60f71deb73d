# SPDX-License-Identifier: GPL-2.0-or-later
#
# make demo    set up, then the main job: forge a faster kernel and prove it
# make test    set up, then all checks and tests
# make test-all  the same, with the tests that need kernels of their own, built if need be
# make bench   set up as for tests, then what kernsmith itself costs
# make fuzz    set up, then what reads foreign files gets INPUTS damaged ones of each kind
# make setup   only set up; says what it installs, silent when there is nothing to do
# make lint    only the checks
# make clean   remove what was built here (not the caches in ~/.cache/kernsmith, not .venv)

BIN := .venv/bin
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# One more than there are processors: a test waits for a link or a boot now and then.
WORKERS := $(shell n=$$(nproc); echo $$(( n < 4 ? n + 1 : 4 )))

# Checks of Python and of Rust wait for nothing of each other: each with the output in one piece.
CHECK := $(MAKE) --no-print-directory --jobs=2 --output-sync=target

INPUTS ?= 10000000

.PHONY: setup setup-test demo test test-all lint lint-python lint-rust test-rust fuzz bench clean

setup:
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh test

demo: setup
	@$(BIN)/kernsmith optimize --source debian:7.3 --config lab --workload lab \
	    --machine tcg --cpu emeraldrapids --with autofdo

lint: setup
	@$(CHECK) lint-python lint-rust

lint-python:
	@echo '== ruff'
	@$(BIN)/ruff check --quiet src tests
	@$(BIN)/ruff format --check --quiet src tests
	@echo '== mypy'
	@$(BIN)/mypy --no-error-summary

lint-rust:
	@echo '== cargo fmt'
	@cargo fmt --all --check
	@echo '== cargo clippy'
	@cargo clippy --quiet --workspace --all-targets -- -D warnings

test-rust:
	@echo '== cargo test'
	@cargo test --quiet --profile checked --workspace

test: setup-test
	@$(CHECK) lint-python lint-rust test-rust
	@echo '== pytest'
	@$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup

test-all: export KERNSMITH_TEST_ALL = 1
test-all: test

fuzz: setup
	@KERNSMITH_FUZZ=$(INPUTS) cargo test --release --package kernsmith-profile -- damaged changed

bench: setup-test
	@set -e; for bench in bench/*.py; do echo "== $$bench"; $(BIN)/python "$$bench"; done

clean:
	rm -rf build target .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f src/kernsmith/_native*.so
