# Each target makes its own virtual environment; PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS := $(VENV)/.installed-docs

.PHONY: demo test fuzz sanitize lint docs format bench accuracy clean

demo: $(STAMP)  ## learn a simulated dictionary and compare it with the truth
	$(BIN)/graphdict demo

test: $(STAMP)  ## run the tests
	$(BIN)/python -m pytest -n 2

FUZZ ?= --seconds 600
fuzz: $(STAMP)  ## attack at random, ten minutes of each kind; FUZZ="kills --cases 200 --seed 7" says otherwise
	$(BIN)/python tests/fuzz/run.py $(FUZZ)

# Everything else stays as it is: the checked build and what it needs have an environment of their own.
SANITIZED := build/sanitize
sanitize:  ## test the compiled part with errors in memory, undefined behaviour and bounds checked
	$(PYTHON) -m venv $(SANITIZED)/venv
	$(SANITIZED)/venv/bin/python -m pip install --quiet --upgrade pip
	rm -rf $(SANITIZED)/source && mkdir -p $(SANITIZED)/source
	cp -r pyproject.toml setup.py MANIFEST.in README.md LICENSE src $(SANITIZED)/source
	find $(SANITIZED)/source -name "*.so" -delete
	GRAPHDICT_SANITIZE=1 $(SANITIZED)/venv/bin/python -m pip install --quiet "$(SANITIZED)/source[test]"
	LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 \
		$(SANITIZED)/venv/bin/python -m pytest -q -p no:cacheprovider \
		tests/native tests/engine/backends tests/engine/test_thread_pool.py

lint: $(STAMP)  ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/graphdict/native/*.?pp
	$(BIN)/mypy
	$(BIN)/python tests/public_types.py

docs: $(DOCS)  ## run the examples and build the pages into build/docs; a warning is a failure
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

format: $(STAMP)  ## rewrite files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/graphdict/native/*.?pp

bench: $(STAMP)  ## compare speed and memory with the authors' package (about ten minutes)
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/scaling.py

accuracy: $(STAMP)  ## measure GraphDictMarginal on fresh draws against what the data allow (about 20 minutes)
	$(BIN)/python benchmarks/accuracy.py

clean:
	rm -rf $(VENV) .bench build dist docs/gallery docs/generated .pytest_cache .mypy_cache .ruff_cache

$(STAMP): pyproject.toml setup.py $(wildcard src/graphdict/native/*.?pp)
	@command -v c++ >/dev/null || \
		{ echo "graphdict is built with a C++ compiler, and there is none (Debian: apt-get install g++)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@
