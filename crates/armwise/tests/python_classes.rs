//! The classes of `python/armwise/policies.py`, made from the library's list of algorithms.
//!
//! Python wants classes that a reader and a type checker can see, so they are written out and committed; `make classes`
//! (this test with `ARMWISE_PYTHON=write`) writes them, and the test fails where the file is not what the list gives.
#![allow(missing_docs, reason = "test code")]

use armwise::{Algorithm, Description, Kind, Parameter, Range};
use std::{fmt::Write, path::PathBuf};

const HEAD: &str = r#""""The library's algorithms as classes, made from its list of them: do not edit, run `make classes`.

Each has the parameters of its Rust namesake (`lam` is Rust's `lambda`), and:

- blocks: the number of promotions M; every block has a model of its own over the same features.
- seed: all randomness follows from it, from the round's number and from the arm's id; None takes one from the
  operating system and keeps it (`seed_`).
- ties: who wins among equal scores, "by-id" or "random" (a fair draw, new in every round).
- gamma: with every round, what was learned before counts gamma times as much; "auto" chooses it by evidence, anew in
  every round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .policy import Policy, Theory

__all__ = [
"#;

/// `lambda` is a keyword of Python.
fn python(parameter: &Parameter) -> &'static str {
    if parameter.name == "lambda" { "lam" } else { parameter.name }
}

fn file() -> String {
    let mut text = HEAD.to_owned();
    let mut names: Vec<&str> = Algorithm::ALL.iter().map(|description| description.class).collect();
    names.push("ALGORITHMS");
    // The linter's order: names in capitals first.
    names.sort_unstable_by_key(|name| (name.chars().any(char::is_lowercase), *name));
    names.iter().for_each(|name| line(&mut text, &format!("    \"{name}\",")));
    text.push_str("]\n");
    Algorithm::ALL.iter().for_each(|description| class(&mut text, description));
    text.push_str(
        "\n\n#: The algorithms by their name in Rust, TOML and JSON, in the order of every list and figure.\n",
    );
    text.push_str("ALGORITHMS: dict[str, type[Policy]] = {\n");
    Algorithm::ALL.iter().for_each(|of| line(&mut text, &format!("    \"{}\": {},", of.name, of.class)));
    text.push_str("}\n");
    text
}

fn class(text: &mut String, description: &Description) {
    let Description { name, class, about, formula, parameters, switches, .. } = description;
    let about = about[..1].to_uppercase() + &about[1..];
    let ranges: Vec<String> = parameters.iter().map(range).collect();
    let numbers = parameters.iter().map(|parameter| format!("{}={:?}, ", python(parameter), parameter.default));
    let words = switches.iter().map(|switch| format!("{}='{}', ", switch.name, switch.default));
    let defaults: Vec<String> = numbers.chain(words).collect();
    let mut out = |text_of: &str| line(text, text_of);
    out("\n");
    out(&format!("class {class}(Policy):"));
    out(&format!("    \"\"\"{about}.\n"));
    out(&format!("    score(i) = {formula}\n"));
    out(&format!("    Parameters: {}.\n", ranges.join(", ")));
    for switch in *switches {
        out(&format!("    {}: {}.\n", switch.name, switch.about));
    }
    out("    >>> import armwise as aw");
    out(&format!("    >>> policy = aw.{class}()"));
    out("    >>> policy");
    out(&format!("    {class}({}blocks=1, seed=0, ties='by-id', gamma=1.0)", defaults.concat()));
    out("    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))");
    out("    1");
    out("    \"\"\"\n");
    out(&format!("    name = \"{name}\""));
    if !switches.is_empty() {
        let names: Vec<String> = switches.iter().map(|switch| format!("\"{}\"", switch.name)).collect();
        let comma = if names.len() == 1 { "," } else { "" };
        out(&format!("    _switches = ({}{comma})", names.join(", ")));
    }
    out("");
    out("    def __init__(");
    out("        self,");
    for parameter in *parameters {
        let kind = match parameter.kind {
            Kind::Number => "float",
            Kind::Lambda => "float | str",
            Kind::Schedule { .. } => "float | str | Theory",
        };
        out(&format!("        {}: {kind} = {:?},", python(parameter), parameter.default));
    }
    out("        *,");
    for switch in *switches {
        out(&format!("        {}: str | Mapping[str, Any] = \"{}\",", switch.name, switch.default));
    }
    out("        blocks: int = 1,\n        seed: int | None = 0,\n        ties: str = \"by-id\",");
    out("        gamma: float | str = 1.0,\n    ) -> None:");
    for parameter in parameters.iter().map(python).chain(switches.iter().map(|switch| switch.name)) {
        out(&format!("        self.{parameter} = {parameter}"));
    }
    out("        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma");
    out("        self._check()");
}

fn range(parameter: &Parameter) -> String {
    let range = match parameter.range {
        Range::Positive => "above 0",
        Range::NonNegative => "at least 0",
    };
    let other = match parameter.kind {
        Kind::Number => "",
        Kind::Lambda => " or \"auto\"",
        Kind::Schedule { .. } => " or \"auto\" or a Theory",
    };
    format!("{} {range}{other}", python(parameter))
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes all");
}

#[test]
fn the_python_classes_are_those_of_the_list() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/armwise/policies.py");
    if std::env::var("ARMWISE_PYTHON").is_ok_and(|value| value == "write") {
        std::fs::write(path, file()).expect("a place to write");
        return;
    }
    let found = std::fs::read_to_string(path).expect("the file is committed");
    assert_eq!(found, file(), "run `make classes`");
}
