# `make test` is all that a newcomer and the continuous integration run. One build profile (release) serves everything.
CARGO = cargo
FLAGS = --release --locked

.PHONY: test lint unit doc tools

test: lint unit doc

# A minimal Rust lacks these two; nothing else is needed.
tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

lint: tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings

unit:
	$(CARGO) test $(FLAGS) --workspace

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(FLAGS) --workspace --no-deps
