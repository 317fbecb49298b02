# `make test` is all that a newcomer and the continuous integration run. One build profile (release) serves everything.
CARGO = cargo
FLAGS = --release --locked

.PHONY: test lint unit doc

test: lint unit doc

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings

unit:
	$(CARGO) test $(FLAGS) --workspace

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(FLAGS) --workspace --no-deps
