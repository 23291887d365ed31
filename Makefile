# Everything runs in ./.venv, which is made on demand, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# More than cores, since most of the long tests wait.
WORKERS ?= 4
TORCH := torch==2.13.0

.PHONY: verify test lint bench soak docs

verify: $(READY)
	$(BIN)/gonogo verify

test: $(READY)
	$(BIN)/python -m pytest -m "not soak" -n $(WORKERS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	for each in benchmarks/*.py; do $(BIN)/python $$each || exit 1; done

soak: $(READY)
	$(BIN)/python -m pytest -m soak
	$(BIN)/python tests/faults/scorecard.py --seeds 3 --write

docs: $(READY)
	$(BIN)/python -m gonogo.docs docs

# torch comes first and by itself: what other packages would pull in as "torch" may be gigabytes of CUDA.
$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[dev,torch]'
	touch $@
