# `make test` is all that a newcomer and the continuous integration run. One build profile (release) serves everything.
CARGO = cargo
FLAGS = --release --locked
PYTHON = .venv/bin/python

.PHONY: test lint unit build doc quick walk exactness python wheel site spark spark-scale pages classes keys bench soak powercut uplift drift inclusion which which-middle automatic off-policy advise fuzz service serve-soak bench-serve replicas replicas-soak bench-replicas schemathesis browser tools bench-check

test: lint unit doc quick walk exactness python site spark service replicas schemathesis browser

# The formatter does not see the algorithms by itself, since a macro declares their modules.
lint: tools
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check crates/armwise/src/policy/*.rs
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings

# The real MovieLens 1M, for tests only, where the tool that fetches it is at hand; its terms forbid to keep it here.
# Without it, the four tests that read it say that they are skipped. The tests of the store on PostgreSQL get a cluster of
# their own, which is gone afterwards; Debian's package is installed where it is missing. Shortcuts are compared with plain
# scores on narrower registers, too; with portable code, which is slow for want of fused instructions, some of them.
WITH_POSTGRES = python3 python/service_tests/postgres.py run --
GET_ML1M = ../shared/tools/get-movielens-1m
unit: tools
	@if [ -x $(GET_ML1M) ]; then $(GET_ML1M) .data/ml-1m; fi
	if [ -s .data/ml-1m/ratings.dat ]; then export ARMWISE_ML1M="$(CURDIR)/.data/ml-1m"; fi; \
	$(WITH_POSTGRES) $(CARGO) test $(FLAGS) --workspace
	ARMWISE_KERNEL=avx2 $(CARGO) test $(FLAGS) --workspace --test exact
	ARMWISE_KERNEL=portable $(CARGO) test $(FLAGS) --workspace --test exact -- a_catalogue a_guess small_rounds

# The program and the examples. Cargo unites the features of all packages that a command selects, and those of their
# tests' dependencies. So with another selection (`-p`, or no `--workspace`) it would compile many dependencies a second time;
# this one selects what `cargo test --workspace` does and finds everything built. Whatever needs a program takes it from here.
ARMWISE = target/release/armwise
build:
	$(CARGO) build $(FLAGS) --workspace --bins --examples

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(FLAGS) --workspace --no-deps

# The paper's evaluation in small.
quick: build
	$(ARMWISE) reproduce --quick --out target/quick-report

# Eight weeks of a campaign on a made-up market, with the effects compared with the truth.
walk: build
	rm -rf target/walk && mkdir -p target/walk
	examples/campaign.sh target/walk

# Long versions of tests: 200 kills in place of 20, 10,000 mutated commands in place of 1,000.
soak:
	ARMWISE_KILLS=200 $(CARGO) test $(FLAGS) --workspace --test campaign kill_nine
	ARMWISE_COMMANDS=10000 $(CARGO) test $(FLAGS) --workspace --test any_command

# 5,000 power cuts in place of 200.
powercut: tools
	ARMWISE_CUTS=5000 $(CARGO) test $(FLAGS) --workspace --test powercut

# Any bytes as a table, as a campaign and as the body of a request, 60 seconds each; cargo-fuzz is installed into target/ where it is missing. The
# sanitizers need a nightly compiler; without them the stable one does.
FUZZ = PATH="$(CURDIR)/target/fuzz/bin:$$PATH" $(CARGO) fuzz
fuzz:
	@$(FUZZ) --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet --root target/fuzz cargo-fuzz
	for target in table campaign body; do \
	  mkdir -p fuzz/corpus/$$target && \
	  $(FUZZ) run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	    -max_total_time=60 -timeout=20 -rss_limit_mb=2048 || exit 1; \
	done

# A real server, killed, cut off from its power and out of space while clients use it; and the Python client. It needs the
# environment that `make python` makes.
service: build
	cd $(WHEEL)/empty && ARMWISE_COMMAND=$(CURDIR)/$(ARMWISE) ../venv/bin/python -m pytest -q -p no:cacheprovider \
	  --ignore-glob='$(CURDIR)/python/service_tests/test_replicas*' $(CURDIR)/python/service_tests

# 2,000 kills in place of 200, 2,000 power cuts in place of 60.
serve-soak: build
	cd $(WHEEL)/empty && ARMWISE_KILLS=2000 ARMWISE_CUTS=2000 ARMWISE_COMMAND=$(CURDIR)/$(ARMWISE) \
	  ../venv/bin/python -m pytest -q -s -p no:cacheprovider --ignore-glob='$(CURDIR)/python/service_tests/test_replicas*' $(CURDIR)/python/service_tests

# Three replicas over a real PostgreSQL, killed, stopped and cut off by a script while clients use them; PgBouncer and nginx.
# About four minutes. Debian's packages are installed where they are missing; without them, and without CI, it is skipped.
REPLICAS = cd $(WHEEL)/empty && ARMWISE_COMMAND=$(CURDIR)/$(ARMWISE) ARMWISE_UNFENCED=$(CURDIR)/target/release/examples/unfenced \
  ARMWISE_NEXT=$(CURDIR)/target/release/examples/next
replicas: build
	$(REPLICAS) ../venv/bin/python -m pytest -q -p no:cacheprovider $(CURDIR)/python/service_tests/test_replicas*.py

# 100 runs with 60 seconds of faults each, in place of 10 with 9; two hours.
replicas-soak: build
	$(REPLICAS) ARMWISE_RUNS=100 ARMWISE_RUN_SECONDS=60 ../venv/bin/python -m pytest -q -s -p no:cacheprovider \
	  $(CURDIR)/python/service_tests/test_replicas.py

# Throughput of 1, 2 and 3 replicas beside SQLite; wants an idle machine.
bench-replicas: build
	ARMWISE_COMMAND=$(CURDIR)/$(ARMWISE) python3 bench/replicas.py

# What the service does in a second, with and without its journal; wants an idle machine.
bench-serve: build
	ARMWISE_COMMAND=$(CURDIR)/$(ARMWISE) python3 bench/serve.py

# Every route of the service against its OpenAPI document, for about a minute; SECONDS=600 for longer.
SCHEMATHESIS = target/schemathesis
SECONDS = 45
schemathesis: $(SCHEMATHESIS)/ready build
	$(SCHEMATHESIS)/venv/bin/python crates/armwise-server/tests/schemathesis/run.py $(ARMWISE) $(SCHEMATHESIS)/venv/bin/st $(SECONDS)

$(SCHEMATHESIS)/ready: crates/armwise-server/tests/schemathesis/requirements.txt
	python3 -m venv $(SCHEMATHESIS)/venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv $(SCHEMATHESIS)/venv)
	$(SCHEMATHESIS)/venv/bin/python $(PIP) install -r crates/armwise-server/tests/schemathesis/requirements.txt
	touch $@

# The dashboard in Debian's chromium, driven by playwright-core, about a minute; screenshots are left in target/browser/shots.
BROWSER = target/browser
browser: $(BROWSER)/ready build
	cp crates/armwise-server/tests/browser/*.mjs $(BROWSER)
	cd $(BROWSER) && ARMWISE=$(CURDIR)/$(ARMWISE) ARMWISE_SHOTS=$(CURDIR)/$(BROWSER)/shots timeout 1800 node --test --test-concurrency=1 pages.test.mjs

$(BROWSER)/ready: crates/armwise-server/tests/browser/package-lock.json
	node --version && npm --version || (apt-get update && apt-get install -y nodejs npm)
	chromium --version || (apt-get update && apt-get install -y --no-install-recommends chromium fonts-noto-core)
	mkdir -p $(BROWSER) && cp crates/armwise-server/tests/browser/package*.json $(BROWSER)
	cd $(BROWSER) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# Simulated campaigns: uplift without an effect is zero, intervals cover, and the uplift objective brings more. The tests
# play 8 of each kind, this 200; some ten minutes.
uplift:
	ARMWISE_CAMPAIGNS=200 $(CARGO) test $(FLAGS) --workspace --test uplift -- --nocapture

# Drift reported where nothing changes, and found where theta turns by 30 degrees: 200 runs of each in place of 20.
drift:
	ARMWISE_DRIFT=200 $(CARGO) test $(FLAGS) --workspace --test drift -- --nocapture

# Probabilities against 10 million counted draws of each problem in place of some thousands.
inclusion:
	ARMWISE_COUNTED=10000000 $(CARGO) test $(FLAGS) --workspace --test inclusion counting:: -- --nocapture --test-threads=1

# "Which algorithm should I use?" in full: every algorithm on every problem with automatic, tuned and default parameters; hours. With
# RATINGS=ratings.dat also on those. `make quick` has it in small.
which: build
	$(ARMWISE) reproduce which $(if $(RATINGS),--ratings $(RATINGS)) --out target/which-report

# The same with the whole grid on fewer trials; how long it takes was not measured.
which-middle: build
	$(ARMWISE) reproduce which --middle $(if $(RATINGS),--ratings $(RATINGS)) --out target/which-middle

# The table "Automatic or tuned": two algorithms in full, printed with paired intervals. With RATINGS=ratings.dat 50 minutes on a quarter of
# a processor; less without.
automatic: build
	$(ARMWISE) reproduce which --only pc2ucb,arm-wise-ts $(if $(RATINGS),--ratings $(RATINGS)) --out target/automatic

# How good off-policy evaluation is: 1,000 runs of each kind in place of 60; some minutes.
off-policy:
	ARMWISE_RUNS=1000 $(CARGO) test $(FLAGS) --workspace --test off_policy -- --nocapture

# Whether the advice is good on 50 made-up markets in place of 8; a minute or two.
advise:
	ARMWISE_MARKETS=50 $(CARGO) test $(FLAGS) --workspace --test advise -- --nocapture

# Every oracle against solvers of other people, on small instances.
exactness: .venv/ready build
	$(PYTHON) bench/exactness.py
	$(PYTHON) bench/assignment.py --quick
	$(PYTHON) bench/budget.py --quick
	$(PYTHON) bench/choose.py --quick
	$(PYTHON) bench/scaling.py --quick
	$(PYTHON) bench/instructions.py --cases
	$(PYTHON) bench/quote.py --check

# What a newcomer does: a clean environment, `pip install .`, then README and the quick start as they are written.
# Then the wheel in an environment with all that it works with: types, docstrings, tests, and the pages' code, against what
# was installed. The tests run in an empty folder, so that nothing is taken from the sources by accident.
WHEEL = target/python
PIP = -m pip --disable-pip-version-check --quiet
python: python/requirements-test.txt build
	rm -rf $(WHEEL) && mkdir -p $(WHEEL)/empty
	python3 -m venv $(WHEEL)/clean || (apt-get update && apt-get install -y python3-venv && python3 -m venv $(WHEEL)/clean)
	$(WHEEL)/clean/bin/python $(PIP) install .
	cd $(WHEEL)/empty && ../clean/bin/python $(CURDIR)/docs/tools/pages.py $(CURDIR)/README.md
	cd $(WHEEL)/empty && ../clean/bin/python $(CURDIR)/examples/quickstart.py
	$(WHEEL)/clean/bin/python $(PIP) wheel --no-deps --wheel-dir $(WHEEL) . && touch $(WHEEL)/wheel
	python3 -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python $(PIP) install -r python/requirements-test.txt $(WHEEL)/*.whl
	$(WHEEL)/venv/bin/ruff check python examples docs/tools
	$(WHEEL)/venv/bin/ruff format --check python examples docs/tools
	$(WHEEL)/venv/bin/mypy
	cd $(WHEEL)/empty && ../venv/bin/python -m mypy.stubtest armwise._armwise
	cd $(WHEEL)/empty && ../venv/bin/python -m pytest -q -p no:cacheprovider --doctest-modules --pyargs armwise
	$(WHEEL)/venv/bin/python $(PIP) download --no-deps --dest $(WHEEL) obp==0.4.1 && \
	  $(WHEEL)/venv/bin/python -m zipfile -e $(WHEEL)/obp-0.4.1-py3-none-any.whl $(WHEEL)/obp && rm $(WHEEL)/obp-0.4.1-py3-none-any.whl
	cd $(WHEEL)/empty && ARMWISE_OBP=$(CURDIR)/$(WHEEL)/obp ARMWISE_COMMAND=$(CURDIR)/target/release/armwise ../venv/bin/python -m pytest -q -p no:cacheprovider $(CURDIR)/python/tests
	cd $(WHEEL)/empty && ../venv/bin/python $(CURDIR)/bench/tables.py --quick
	cd $(WHEEL)/empty && ../venv/bin/python $(CURDIR)/examples/quickstart.py
	cd $(WHEEL)/empty && ../venv/bin/python $(CURDIR)/examples/slate.py
	cd $(WHEEL)/empty && ../venv/bin/python $(CURDIR)/docs/tools/pages.py

# The documentation as a site in target/site/html; then its links, and that it loads nothing from another host.
SITE = target/site
site: $(SITE)/ready build
	NO_MKDOCS_2_WARNING=1 $(SITE)/venv/bin/mkdocs build --strict --quiet
	$(SITE)/venv/bin/python -m pytest -q -p no:cacheprovider docs/tools

$(SITE)/ready: docs/requirements.txt
	python3 -m venv $(SITE)/venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv $(SITE)/venv)
	$(SITE)/venv/bin/python $(PIP) install -r docs/requirements.txt
	touch $@

# The wheel on a real Spark: a standalone master and two workers on this machine, and Spark Connect. Spark needs Java.
SPARK = target/spark
spark: $(SPARK)/ready $(WHEEL)/wheel
	$(SPARK)/venv/bin/python $(PIP) install --force-reinstall --no-deps $(WHEEL)/*.whl
	cd $(SPARK) && venv/bin/python -m pytest -q -p no:cacheprovider $(CURDIR)/python/spark_tests
	cd $(SPARK) && venv/bin/python $(CURDIR)/examples/parts_on_dask.py

# 20 million customers on two workers of one core each, beside one process of two threads and beside a bare read.
spark-scale: $(SPARK)/ready $(WHEEL)/wheel
	$(SPARK)/venv/bin/python $(PIP) install --force-reinstall --no-deps $(WHEEL)/*.whl
	cd $(SPARK) && venv/bin/python $(CURDIR)/bench/spark_scale.py

# The wheel that `make python` has made, or a new one if the sources are newer.
$(WHEEL)/wheel: $(shell git ls-files crates python/armwise Cargo.lock pyproject.toml)
	rm -f $(WHEEL)/*.whl && mkdir -p $(WHEEL)
	python3 $(PIP) wheel --no-deps --wheel-dir $(WHEEL) . && touch $@

$(SPARK)/ready: python/requirements-spark.txt
	java -version 2>/dev/null || (apt-get update && apt-get install -y openjdk-17-jre-headless)
	python3 -m venv $(SPARK)/venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv $(SPARK)/venv)
	$(SPARK)/venv/bin/python $(PIP) install -r python/requirements-spark.txt
	touch $@

# Writes into the pages what their code prints; run `make python` first, and read the difference.
pages: build
	$(WHEEL)/venv/bin/python docs/tools/pages.py --write

# One wheel for Python 3.11 and later (abi3), in target/wheels.
wheel:
	python3 $(PIP) wheel --no-deps --wheel-dir target/wheels .
	ls -lh target/wheels

# The Python classes of the algorithms, written anew from the library's list of them.
classes:
	ARMWISE_PYTHON=write $(CARGO) test $(FLAGS) --workspace --test python_classes

# The page of campaign.toml, written anew from the program's table of keys.
keys:
	ARMWISE_PAGE=write $(CARGO) test $(FLAGS) --workspace --test campaign_toml

# The side-by-side tables, then which of them missed a bar or failed; slow, most of it the other solvers' time. Wants an
# idle machine.
TABLES = "choose.py --check" scaling.py "groups.py --check" linear.py csv_readers.py "assignment.py --check" "budget.py --check"
bench: .venv/peers build
	target/release/examples/top_k_speed
	@missed=; for table in $(TABLES); do \
	  echo "bench/$$table"; $(PYTHON) bench/$$table || missed="$$missed $${table%% *}"; \
	done; \
	test -z "$$missed" || { echo "A bar is missed, or there was an error, in:$$missed"; exit 1; }

# Instructions of seven small cases against those kept in bench/instructions.json: finds a slow-down on any machine.
bench-check:
	@valgrind --version >/dev/null 2>&1 || (apt-get update && apt-get install -y valgrind)
	python3 bench/instructions.py

# A minimal Rust lacks the first two; the pages of the service use curl; the test of power cuts compiles a file of C.
tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	@curl --version >/dev/null 2>&1 || (apt-get update && apt-get install -y curl)
	@cc --version >/dev/null 2>&1 || (apt-get update && apt-get install -y gcc libc6-dev)

# Debian's Python comes without venv.
.venv/ready: bench/requirements.txt
	python3 -m venv .venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv .venv)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

# Other bandit packages, which only the full benchmark needs.
.venv/peers: .venv/ready bench/requirements-peers.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements-peers.txt
	touch $@
