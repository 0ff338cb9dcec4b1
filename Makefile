# `make demo` and `make test` set up all they need: a .venv from the locked versions and the extension. What is up to date is
# not touched again. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTENSION := python/hetsched/_core.abi3.so
RELEASE := $(VENV)/extension-release
GATE := $(VENV)/extension-gate
# What an instant passes through are many small functions: with more of them joined than a compiler would, EASY and budgets take
# 8 % less time, and nothing measured takes more.
RELEASE_FLAGS := $(RUSTFLAGS) -Cllvm-args=-inline-threshold=600
TRAINING := target/training
COUNTED := $(TRAINING)/counted.profdata
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust \( -name '*.rs' -o -name Cargo.toml \) -type f)

# Another environment that happens to be active must not be built for, nor found by cargo or maturin. What Python compiles
# of the package and its tests is kept: each of a hundred processes would compile it again.
unexport CONDA_PREFIX PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_REQUIRE_VIRTUALENV := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-python test-extension test-slurm check-python docs fuzz bench wheel optimised-wheel release wheel-test lock clean check-tools

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(RELEASE) ## schedule a real log under four policies; results in ./hetsched-demo
	@$(BIN)/hetsched demo

# The gate. What fails first ends the rest, and next to what one core does (pip, mypy, the last crate) there is something
# else to do: nothing waits for more than it needs. The engine and its tests are compiled while pip installs, as they need
# no Python. They have all assertions; Python's tests wait for the extension as users have it, for a compiler that is wrong
# once it optimises is seen only there.
step = @printf '\n== %s\n' '$(1)'; $(1)
SIDE_BY_SIDE = @$(BIN)/python tools/side_by_side.py
CLIPPY := cargo clippy --locked --quiet --all-targets
HERE = $(MAKE) --no-print-directory

test: check-tools $(VENV)/made ## all checks and tests
	$(call step,cargo fmt --check)
	$(SIDE_BY_SIDE) '$(CARGO_TEST)' '$(CLIPPY) --workspace -- -D warnings && $(CLIPPY_EXAMPLE)' '$(HERE) test-python'
	@printf '\nAll checks passed.\n'

# Both need what pip installs, which only one may do.
test-python: $(VENV)/dev $(VENV)/demo
	$(SIDE_BY_SIDE) '$(HERE) check-python' '$(HERE) test-extension'

test-extension: $(RELEASE) $(VENV)/collected
	$(SIDE_BY_SIDE) '$(STUBTEST)' '$(QUICK_BENCH)' '$(PYTEST)'

check-python: $(VENV)/dev
	$(call step,$(BIN)/ruff format --check .)
	$(call step,$(BIN)/ruff check .)
	$(call step,PYTHONPATH=python $(BIN)/lint-imports)
	$(call step,$(BIN)/mypy --strict python tools tests/typing)

EXAMPLE := examples/placement-in-rust/Cargo.toml
# As in Cargo.toml, so that crates below both are checked once.
SHARED := CARGO_PROFILE_DEV_DEBUG=line-tables-only
CLIPPY_EXAMPLE = $(SHARED) $(CLIPPY) --manifest-path $(EXAMPLE) --target-dir target -- -D warnings
CARGO_TEST := cargo test --profile gate --locked --workspace --exclude hetsched-benches --quiet
STUBTEST := $(BIN)/python -m mypy.stubtest hetsched._core --allowlist tests/stubtest-allowlist.txt --mypy-config-file tests/stubtest.ini
# Whether all runs and agrees; how fast it was beside all else says nothing.
QUICK_BENCH := $(BIN)/python benches/python/run.py --quick

# A worker a core, and one for the time in which tests wait for other processes; linear algebra in the one thread of a
# worker; a worker that has nothing left to do takes over tests of another.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 --dist=worksteal

docs: $(RELEASE) $(VENV)/dev ## the site of the documentation, in target/site
	@$(BIN)/python tools/build_site.py target/site

# Installs nothing: a test says what is missing, and is left out.
test-slurm: $(RELEASE) $(VENV)/dev ## the bridge on a real, throwaway Slurm: SLURM_CONF=/path/of/its/slurm.conf make test-slurm
	@HETSCHED_TEST_SLURM=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/slurm_real

fuzz: $(GATE) $(VENV)/dev ## every property on a thousand new examples, with all assertions; and what takes minutes
	@$(PYTEST) --hypothesis-profile=long -m 'hypothesis or at_length or at_length_only'
	@PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-$$(date +%s%N)} PROPTEST_CASES=10000 sh -c \
	    'echo "PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"; exec $(CARGO_TEST)'
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet

bench: $(RELEASE) $(VENV)/dev ## speed: whole runs against other simulators, then the engine's parts
	@$(BIN)/python benches/python/run.py --peers twin,accasim
	@$(BIN)/python benches/python/readers.py --lines 1000000
	@$(BIN)/python benches/python/sweep.py
	@$(BIN)/python benches/python/whatif.py
	@$(BIN)/python benches/python/power.py
	@$(BIN)/python benches/python/budget.py
	@$(BIN)/python benches/python/scale.py
	@$(BIN)/python benches/python/power_in_time.py
	@$(BIN)/python benches/python/gym.py
	@$(BIN)/python benches/python/roles.py
	@$(BIN)/python benches/python/machine_day.py
	@$(BIN)/python benches/python/cliffs.py
	@$(BIN)/python benches/python/core.py
	@cargo bench --locked --package hetsched-benches

wheel: $(VENV)/demo ## a wheel for CPython 3.10 and newer, in dist/
	@RUSTFLAGS='$(RELEASE_FLAGS)' $(COMMIT) $(BIN)/maturin build --release --locked --out dist

# Built twice: the second time the compiler knows from the training runs which ways are common. Not by zig, whose linker takes no
# counters: what is counted goes by symbols, and these differ between the two ways to build.
optimised-wheel: $(VENV)/demo $(COUNTED) ## the same, faster: compiled for what is common (needs llvm-tools)
	@RUSTFLAGS='$(RELEASE_FLAGS) -Cprofile-use=$(CURDIR)/$(COUNTED)' $(COMMIT) $(BIN)/maturin build --release --locked --out dist

$(COUNTED): $(RUST_SOURCES) tools/train_extension.py | $(VENV)/demo
	@PROFILES=yes PYTHON='$(PYTHON)' sh tools/check-tools.sh
	@rm -rf $(TRAINING)/*.profraw $(TRAINING)/wheel $(TRAINING)/site
	@RUSTFLAGS='$(RELEASE_FLAGS) -Cprofile-generate=$(CURDIR)/$(TRAINING)' \
		$(BIN)/maturin build --release --locked --target-dir $(TRAINING)/target --out $(TRAINING)/wheel
	@$(BIN)/python -m pip install --quiet --no-deps --target $(TRAINING)/site $(TRAINING)/wheel/*.whl
	@PYTHONPATH=$(TRAINING)/site $(BIN)/python tools/train_extension.py
	@"$$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata merge --output $@ $(TRAINING)/*.profraw

# Linked by zig against an old glibc, so that the wheel also runs where that is all there is.
release: $(VENV)/release ## an sdist and a wheel for every Linux with glibc 2.17 or newer, in dist/
	@rm -rf dist
	@$(BIN)/maturin sdist --out dist
	@PATH="$(CURDIR)/$(BIN):$$PATH" RUSTFLAGS='$(RELEASE_FLAGS)' $(COMMIT) $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_17 --out dist

wheel-test: $(VENV)/release ## what `make release` made, as users have it: other Pythons, without Rust
	@$(BIN)/python tools/try_wheel.py dist

COMMIT = HETSCHED_COMMIT=$$(git rev-parse --short=12 HEAD 2>/dev/null)

lock: ## renew requirements/*.txt (needs uv)
	uv pip compile $(LOCK) pyproject.toml --extra gym --extra models --extra plots --extra report --extra testing --group build --group docs --group test -o requirements/dev.txt
	uv pip compile $(LOCK) pyproject.toml --extra plots --extra report --group build -c requirements/dev.txt -o requirements/demo.txt
	uv pip compile $(LOCK) --group pyproject.toml:release -c requirements/dev.txt -o requirements/release.txt
LOCK := --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-annotate --custom-compile-command 'make lock'

clean: ## remove everything that was made, but for results
	rm -rf $(VENV) target dist $(EXTENSION) .bench .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

check-tools:
	@PYTHON='$(PYTHON)' sh tools/check-tools.sh

# Files in .venv stand for what was done, when it had succeeded. Of all that tests need, Python compiles what it imports.
$(VENV)/made:
	@PYTHON='$(PYTHON)' sh tools/check-tools.sh
	@echo 'making $(VENV)'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/demo $(VENV)/dev $(VENV)/release: $(VENV)/%: requirements/%.txt $(VENV)/made
	@echo 'installing $<'
	@$(BIN)/python -m pip install --quiet $(if $(filter dev,$*),--no-compile) --require-hashes --requirement $<
	@touch $@

# The first time, one process compiles what tests import, and their assertions: every worker of theirs would do so again.
# What cannot be collected, the tests report.
$(VENV)/collected: | $(RELEASE) $(VENV)/dev
	@echo 'compiling the tests'
	@$(BIN)/python -m pytest --collect-only --quiet >/dev/null || true
	@touch $@

# One extension is there at a time, of either profile; cargo keeps what it has compiled for the other.
.PHONY: missing
$(RELEASE) $(GATE): $(VENV)/extension-%: $(RUST_SOURCES) pyproject.toml $(VENV)/made $(if $(wildcard $(EXTENSION)),,missing) | $(VENV)/demo
	@PYTHON='$(PYTHON)' sh tools/check-tools.sh
	@echo 'building the extension'
	@$(if $(filter release,$*),RUSTFLAGS='$(RELEASE_FLAGS)') \
		$(BIN)/maturin develop --profile $* $(if $(filter gate,$*),--features gate) --locked --quiet >/dev/null
	@rm -f $(RELEASE) $(GATE)
	@touch $@
