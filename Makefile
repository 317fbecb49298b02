# `make test` is all that a newcomer and the continuous integration run. One build profile (release) serves everything.
CARGO = cargo
FLAGS = --release --locked
PYTHON = .venv/bin/python

.PHONY: test lint unit doc quick walk exactness python wheel classes bench soak fuzz tools

test: lint unit doc quick walk exactness python

# The formatter does not see the algorithms by itself, since a macro declares their modules.
lint: tools
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check crates/armwise/src/policy/*.rs
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings

# The real MovieLens 1M, for tests only, where the tool that fetches it is at hand; its terms forbid to keep it here.
# Without it, the four tests that read it say that they are skipped.
GET_ML1M = ../shared/tools/get-movielens-1m
unit:
	@if [ -x $(GET_ML1M) ]; then $(GET_ML1M) .data/ml-1m; fi
	if [ -s .data/ml-1m/ratings.dat ]; then export ARMWISE_ML1M="$(CURDIR)/.data/ml-1m"; fi; \
	$(CARGO) test $(FLAGS) --workspace

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(FLAGS) --workspace --no-deps

# The paper's evaluation in small.
quick:
	$(CARGO) run $(FLAGS) -- reproduce --quick --out target/quick-report

# Eight weeks of a campaign on a made-up market, with the effects compared with the truth.
walk:
	$(CARGO) build $(FLAGS)
	rm -rf target/walk && mkdir -p target/walk
	examples/campaign.sh target/walk

# Long versions of tests: 200 kills in place of 20.
soak:
	ARMWISE_KILLS=200 $(CARGO) test $(FLAGS) -p armwise-cli --test campaign kill_nine

# Any bytes as a table and as a campaign, 60 seconds each; cargo-fuzz is installed into target/ where it is missing. The
# sanitizers need a nightly compiler; without them the stable one does.
FUZZ = PATH="$(CURDIR)/target/fuzz/bin:$$PATH" $(CARGO) fuzz
fuzz:
	@$(FUZZ) --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet --root target/fuzz cargo-fuzz
	for target in table campaign; do \
	  mkdir -p fuzz/corpus/$$target && \
	  $(FUZZ) run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	    -max_total_time=60 -timeout=20 -rss_limit_mb=2048 || exit 1; \
	done

# Every oracle against solvers of other people, on small instances.
exactness: .venv/ready
	$(PYTHON) bench/exactness.py
	$(PYTHON) bench/assignment.py --quick
	$(PYTHON) bench/budget.py --quick
	$(PYTHON) bench/choose.py --quick

# The wheel, in a virtual environment of its own: types, docstrings and tests against what was installed; then the quick
# start in another, which has only what `pip install .` brings.
# The tests run in an empty folder, so that nothing is taken from the sources by accident.
WHEEL = target/python
python: python/requirements-test.txt
	$(CARGO) build $(FLAGS)
	rm -rf $(WHEEL) && mkdir -p $(WHEEL)/empty
	python3 -m venv $(WHEEL)/venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv $(WHEEL)/venv)
	$(WHEEL)/venv/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements-test.txt
	$(WHEEL)/venv/bin/maturin build --release --locked --quiet --interpreter $(WHEEL)/venv/bin/python --out $(WHEEL)
	$(WHEEL)/venv/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)/*.whl
	$(WHEEL)/venv/bin/ruff check python examples
	$(WHEEL)/venv/bin/ruff format --check python examples
	$(WHEEL)/venv/bin/mypy
	cd $(WHEEL)/empty && ../venv/bin/python -m mypy.stubtest armwise._armwise
	cd $(WHEEL)/empty && ../venv/bin/python -m pytest -q -p no:cacheprovider --doctest-modules --pyargs armwise
	cd $(WHEEL)/empty && ARMWISE_COMMAND=$(CURDIR)/target/release/armwise ../venv/bin/python -m pytest -q -p no:cacheprovider $(CURDIR)/python/tests
	cd $(WHEEL)/empty && ../venv/bin/python $(CURDIR)/bench/tables.py --quick
	python3 -m venv $(WHEEL)/plain && $(WHEEL)/plain/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)/*.whl
	cd $(WHEEL)/empty && ../plain/bin/python $(CURDIR)/examples/quickstart.py

# One wheel for Python 3.11 and later (abi3) in target/wheels.
wheel: python/requirements-test.txt
	test -x $(WHEEL)/venv/bin/maturin || (python3 -m venv $(WHEEL)/venv && $(WHEEL)/venv/bin/python -m pip install --quiet 'maturin>=1.16,<2')
	$(WHEEL)/venv/bin/maturin build --release --locked --out target/wheels
	ls -lh target/wheels

# The Python classes of the algorithms, written anew from the library's list of them.
classes:
	ARMWISE_PYTHON=write $(CARGO) test $(FLAGS) -p armwise --test python_classes

# The side-by-side tables, then whether every bar is met; slow, most of it the other solvers' time. Wants an idle
# machine.
bench: .venv/peers
	$(CARGO) run $(FLAGS) -p armwise --example top_k_speed
	$(PYTHON) bench/choose.py
	$(PYTHON) bench/scaling.py
	$(PYTHON) bench/assignment.py --check; assignment=$$?; \
	$(PYTHON) bench/budget.py --check && exit $$assignment

# A minimal Rust lacks these two.
tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

# Debian's Python comes without venv.
.venv/ready: bench/requirements.txt
	python3 -m venv .venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv .venv)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

# Other bandit packages, which only the full benchmark needs.
.venv/peers: .venv/ready bench/requirements-peers.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements-peers.txt
	touch $@
