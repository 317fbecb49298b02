# `make test` is all that a newcomer and the continuous integration run. One build profile (release) serves everything.
CARGO = cargo
FLAGS = --release --locked
PYTHON = .venv/bin/python

.PHONY: test lint unit doc exactness bench tools

test: lint unit doc exactness

lint: tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings

unit:
	$(CARGO) test $(FLAGS) --workspace

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(FLAGS) --workspace --no-deps

# Every oracle against solvers of other people, on small instances.
exactness: .venv/ready
	$(PYTHON) bench/exactness.py
	$(PYTHON) bench/assignment.py --quick
	$(PYTHON) bench/budget.py --quick

# The side-by-side tables; an hour or so, most of it the other solvers'. Wants an idle machine.
bench: .venv/ready
	$(CARGO) run $(FLAGS) -p armwise --example top_k_speed
	$(PYTHON) bench/assignment.py
	$(PYTHON) bench/budget.py

# A minimal Rust lacks these two.
tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

# Debian's Python comes without venv.
.venv/ready: bench/requirements.txt
	python3 -m venv .venv || (apt-get update && apt-get install -y python3-venv && python3 -m venv .venv)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@
