# HyperKitty's commands. `make setup` is implied by every other one.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
SETUP_STAMP := $(VENV)/.setup-stamp

# The system's Python first: one under a home directory cannot be read by the users Chromium runs as.
PYTHON ?= $(shell for p in /usr/bin/python3 python3; do \
  "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$p"; break; }; done)

.PHONY: help setup environment chromium generate

help: ## This list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: environment chromium generate ## Everything the other commands need; does nothing when nothing changed.

environment: $(SETUP_STAMP)

$(SETUP_STAMP): pyproject.toml uv.lock clients/python/pyproject.toml
	@if [ -z "$(PYTHON)" ]; then
	  echo "setup: needs Python 3.11 or later with venv (Debian: apt-get install python3 python3-venv)" >&2; exit 1
	fi
	if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	  echo "setup: making $(VENV) with $(PYTHON)"
	  rm -rf $(VENV)
	  $(PYTHON) -m venv $(VENV)
	fi
	if [ "$$($(BIN)/uv --version 2>/dev/null | cut -d' ' -f2)" != "$(UV_VERSION)" ]; then
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"
	fi
	echo "setup: installing what uv.lock names"
	UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=$(VENV) \
	  $(BIN)/uv sync --frozen --quiet --inexact --compile-bytecode --python $(BIN)/python
	touch $@

# The launcher execs these binaries themselves, never the wrappers in /usr/bin.
chromium:
	@if [ -x /usr/lib/chromium/chromium-headless-shell ] || [ -x /usr/lib/chromium/chromium ]; then exit 0; fi
	if ! command -v apt-get >/dev/null; then
	  echo "setup: no Chromium in /usr/lib/chromium, and no apt-get to install it; install Debian's chromium and chromium-headless-shell" >&2; exit 1
	fi
	if [ "$$(id -u)" != 0 ]; then
	  echo "setup: no Chromium in /usr/lib/chromium, and only root may install it: run" >&2
	  echo "  sudo apt-get install chromium chromium-headless-shell" >&2; exit 1
	fi
	echo "setup: installing Chromium"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-headless-shell >/dev/null

generate: environment
	@$(BIN)/python proto/generate.py

.PHONY: run demo check lint types architecture unit test soak clean

run: setup ## Start HyperKitty, show a demonstration, stay up; Ctrl-C ends it.
	@exec $(BIN)/python -m deploy.local.demo --stay

demo: setup ## The demonstration agent on a fresh home, step by step.
	@exec $(BIN)/python -m deploy.local.demo

check: setup lint types architecture unit ## Format, lint, types, imports, contract, dead code, architecture, unit tests.

lint:
	@$(BIN)/ruff format --check --quiet --output-format concise . || { echo "run: $(BIN)/ruff format ." >&2; exit 1; }
	$(BIN)/ruff check --quiet --output-format concise .
	$(BIN)/lint-imports --no-logo
	$(BIN)/buf lint build/contract.binpb --path hyperkitty
	$(BIN)/python proto/breaking.py

types:
	@$(BIN)/pyright

architecture:
	@$(BIN)/python -m pytest -q tests/architecture

unit:
	@$(BIN)/python -m pytest -q -n 2 tests/unit

# By file: what a file's tests share is started once, and those that hurt a system do it one at a time.
test: setup ## Everything that needs no container engine.
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not docker'

soak: setup ## Sessions opened, used, killed and closed for MINUTES (2): what was lost or left (nothing).
	@$(BIN)/python -m bench.soak --minutes $(or $(MINUTES),2)

clean: ## Remove what setup and generation made; running systems and homes are left alone.
	@rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find clients/python/hyperkitty -mindepth 1 -maxdepth 1 -type d ! -name client -exec rm -rf {} +
