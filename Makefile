# `make demo` and `make test` are the two commands of the README; VENV and PYTHON can be set on the command line.

VENV ?= .venv
PYTHON ?= python3
ARGS ?=

.PHONY: demo test test-train lint format bench clean

demo: $(VENV)/.installed
	$(VENV)/bin/voxtrunk demo $(ARGS)

test: $(VENV)/.installed-dev
	$(VENV)/bin/python -m pytest $(ARGS)

test-train: $(VENV)/.installed-train
	$(VENV)/bin/python -m pytest tests/synth $(ARGS)

lint: $(VENV)/.installed-train
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

bench: $(VENV)/.installed
	$(VENV)/bin/voxtrunk bench calls $(ARGS)

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/.installed: setup.cfg pyproject.toml
	@echo "Installing into $(VENV): about a minute, 0.6 GB ..."
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/.installed-train: $(VENV)/.installed-dev
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e '.[train,eval]'
	@touch $@
