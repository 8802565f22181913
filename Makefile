# Everything a developer types. Run `make help`.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The system's own 3.11 first: the lab hosts have the same interpreter at the same path.
PYTHON ?= $(shell command -v /usr/bin/python3.11 || command -v python3.11)
VENV := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHON

PARTS := lint sanity unit molecule acceptance

.PHONY: help venv lock lab lab-down test $(PARTS:%=test-%) format build clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: ## Create .venv with the pinned tools (again only when the pins change)
	@tools/venv.sh $(VENV)

lock: venv ## Pin what requirements/dev.in asks for, with everything below it, in requirements/dev.txt
	@tools/lock.sh

lab: venv ## Bring up the lab and roll speculative decoding out to it
	@python tools/lab_rollout.py

lab-down: ## Stop and remove the lab hosts (caches stay)
	@$(PYTHON) lab/lab.py down

test: venv ## Everything: lint, sanity, unit, molecule, acceptance
	@python tools/run_parts.py $(PARTS)

test-lint: venv ## ruff, mypy, yamllint, ansible-lint (production), documentation, changelog
	@tools/lint.sh

test-sanity: venv ## ansible-test sanity, with no ignored line
	@python tools/sanity.py

test-unit: venv ## Unit tests
	@python -m pytest tests/unit -q

test-molecule: venv ## Roll out to lab hosts and let testinfra look at them
	@molecule test

test-acceptance: venv ## The whole path on lab hosts, also as AWX would run it
	@python -m pytest tests/acceptance -q -rs

format: venv ## Let ruff sort and format the Python files
	@ruff check --fix-only -q . && ruff format -q .

build: venv ## Pack the collection into build/
	@mkdir -p build && ansible-galaxy collection build --force --output-path build

clean: ## Remove what builds and tests leave in the tree (not .venv, not the lab)
	@rm -rf build .cache .ansible .hypothesis && find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
