//! The page docs/reference/campaign-toml.md against the program: every key is there, no other is, and the defaults and
//! examples are true.
//!
//! Which keys a table has is asked of the program: an unknown key is refused with the list of those it knows.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{collections::BTreeMap, fs, path::Path};

use armwise::Algorithm;
use armwise_campaign::config::Config;

/// A table of the page: its heading, its header in TOML, and the keys it cannot do without.
type Described = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The tables in the order in which TOML wants them.
const TABLES: [Described; 7] = [
    ("The campaign", "", &[("customer", "\"id\"")]),
    ("reward", "[reward]", &[]),
    ("limits", "[limits]", &[]),
    ("limits.group", "[[limits.group]]", &[("column", "\"region\""), ("value", "\"north\"")]),
    ("promotion", "[[promotion]]", &[("name", "\"mail\""), ("cost", "1.0"), ("quota", "500")]),
    ("features", "[features]", &[]),
    ("features.column", "[[features.column]]", &[("name", "\"visits\""), ("kind", "\"numeric\"")]),
];

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/campaign-toml.md")).unwrap()
}

/// The rows of the table under a heading, each cell without its backticks.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n## ").next().unwrap();
    let table = section.lines().filter(|line| line.starts_with("| `"));
    table
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
        .collect()
}

type Values = BTreeMap<(&'static str, String), String>;

/// The least that is a campaign: what each table cannot do without.
fn least() -> Values {
    let pairs = TABLES.iter().flat_map(|(table, _, keys)| keys.iter().map(|(key, value)| (*table, *key, *value)));
    pairs.map(|(table, key, value)| ((table, key.to_owned()), value.to_owned())).collect()
}

fn toml(values: &Values) -> String {
    let lines = TABLES.iter().flat_map(|(table, header, _)| {
        let own = values.iter().filter(move |((of, _), _)| of == table);
        let own: Vec<String> = own.map(|((_, key), value)| format!("{key} = {value}")).collect();
        // A key that holds a whole table is written in place of that table.
        let inside = !header.is_empty() && !own.is_empty();
        inside.then(|| (*header).to_owned()).into_iter().chain(own)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn parse(values: &Values) -> Result<Config, String> {
    let text = toml(values);
    Config::parse(&text, Path::new("campaign.toml")).map_err(|error| format!("{error}\nin\n{text}"))
}

/// A campaign with this key; where the key is a table of its own, that table's other keys make way.
fn with(table: &'static str, key: &str, value: &str) -> Values {
    let mut values = least();
    let path = if table == "The campaign" { key.to_owned() } else { format!("{table}.{key}") };
    values.retain(|(of, _), _| *of != path && !of.starts_with(&format!("{path}.")));
    values.insert((table, key.to_owned()), value.to_owned());
    values
}

#[test]
fn the_page_has_every_key_and_no_other() {
    let page = page();
    for (table, _, _) in TABLES {
        let mut values = least();
        values.insert((table, "no_such_key".to_owned()), "1".to_owned());
        let refused = parse(&values).unwrap_err();
        let known =
            refused.split("unknown field `no_such_key`, expected").nth(1).unwrap_or_else(|| panic!("{refused}"));
        let known = known.lines().next().unwrap();
        let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let listed = rows(&page, table);
        let mut listed: Vec<&str> = listed.iter().map(|row| row[0].as_str()).collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, known, "{table}");
    }
}

#[test]
fn defaults_are_what_a_key_means_that_is_left_out() {
    let page = page();
    for (table, _, _) in TABLES {
        for row in rows(&page, table) {
            let (key, default) = (row[0].as_str(), row[1].as_str());
            let mut without = with(table, key, "");
            without.remove(&(table, key.to_owned()));
            match default {
                "required" => assert!(parse(&without).is_err(), "{table}: {key} is not required"),
                "none" => assert!(parse(&without).is_ok(), "{table}: {key} is required"),
                _ => {
                    let given = parse(&with(table, key, default)).unwrap();
                    assert_eq!(given, parse(&without).unwrap(), "{table}: {key} = {default}");
                }
            }
        }
    }
}

#[test]
fn examples_are_accepted_and_say_something_else_than_the_default() {
    let page = page();
    for (table, _, _) in TABLES {
        for row in rows(&page, table) {
            let (key, default, example) = (row[0].as_str(), row[1].as_str(), row[2].as_str());
            let given = parse(&with(table, key, example)).unwrap();
            let mut without = with(table, key, "");
            without.remove(&(table, key.to_owned()));
            if default != "required" {
                assert_ne!(given, parse(&without).unwrap(), "{table}: {key} = {example} changes nothing");
            }
        }
    }
}

#[test]
fn the_algorithms_are_the_library_s_with_their_defaults() {
    let listed = rows(&page(), "algorithm");
    let known: Vec<Vec<String>> = Algorithm::ALL
        .iter()
        .map(|algorithm| {
            let parameters = algorithm.parameters.iter();
            let parameters: Vec<String> = parameters.map(|one| format!("{} = {}", one.name, one.default)).collect();
            vec![algorithm.name.to_owned(), parameters.join(", "), algorithm.about.to_owned()]
        })
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn the_whole_example_is_a_campaign() {
    let page = page();
    let example = page.split("```toml title=\"campaign.toml\"\n").nth(1).unwrap().split("```").next().unwrap();
    let config = Config::parse(example, Path::new("campaign.toml")).unwrap();
    assert_eq!(config.promotion.len(), 2);
}
