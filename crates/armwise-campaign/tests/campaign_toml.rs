//! The table of keys against the parser, and the page docs/reference/campaign-toml.md against the table: every key is
//! there, no other is, and the defaults and examples are true.
//!
//! Which keys a section has is asked of the parser: an unknown key is refused with the list of those it knows.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{collections::BTreeMap, fs, path::Path};

use armwise_campaign::{
    Error,
    config::{Config, SECTIONS, Section, explain, overview, page},
};

/// How the page begins.
const HEAD: &str = "# campaign.toml

<!-- Made from the program's table of keys by `make keys`: do not edit. -->

The rules of a campaign. `armwise init` reads them with `--config`, or writes them as it understood the table;
`armwise amend` changes them from the next round on, and `armwise config --explain KEY` says of a key what this page says.

A key that is not listed is an error, as is a value that makes no sense: the message names the line. \"Required\" has no
default; \"none\" means that nothing is set, limited or read unless the key is given.
";

/// The keys that each section cannot do without, in the order in which TOML wants the sections.
const LEAST: [(&str, &[(&str, &str)]); 9] = [
    ("", &[("customer", "\"id\"")]),
    ("reward", &[]),
    ("limits", &[("hold_out", "0.1")]),
    ("limits.group", &[("column", "\"region\""), ("value", "\"north\"")]),
    ("uplift", &[]),
    ("promotion", &[("name", "\"mail\""), ("cost", "1.0"), ("quota", "500")]),
    ("features", &[]),
    ("features.column", &[("name", "\"visits\""), ("kind", "\"numeric\"")]),
    ("tables", &[]),
];

/// Keys whose example makes no sense without others: what their section is then instead.
const TOGETHER: [(&str, &str); 3] =
    [("bins", "kind = \"bins\""), ("edges", "kind = \"bins\""), ("with", "kind = \"cross\"")];

/// The columns that a cross is of.
const CROSSED: &str = "\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n\
    [[features.column]]\nname = \"visits\"\nkind = \"numeric\"\n";

fn section(name: &str) -> &'static Section {
    SECTIONS.iter().find(|section| section.name == name).unwrap_or_else(|| panic!("no section {name}"))
}

type Values = BTreeMap<(&'static str, String), String>;

/// The least that is a campaign: what each section cannot do without.
fn least() -> Values {
    let pairs = LEAST.iter().flat_map(|(section, keys)| keys.iter().map(|(key, value)| (*section, *key, *value)));
    pairs.map(|(section, key, value)| ((section, key.to_owned()), value.to_owned())).collect()
}

fn toml(values: &Values) -> String {
    let lines = LEAST.iter().flat_map(|(name, _)| {
        let own = values.iter().filter(move |((of, _), _)| of == name);
        let own: Vec<String> = own.map(|((_, key), value)| format!("{key} = {value}")).collect();
        // A key that holds a whole section is written in place of that section.
        let inside = !name.is_empty() && !own.is_empty();
        inside.then(|| section(name).header.to_owned()).into_iter().chain(own)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn parse(values: &Values) -> Result<Config, String> {
    let mut text = toml(values);
    if values.contains_key(&("features.column", "with".to_owned())) {
        text += CROSSED;
    }
    Config::parse(&text, Path::new("campaign.toml")).map_err(|error| format!("{error}\nin\n{text}"))
}

/// A campaign with this key; where the key is a section of its own, that section's other keys make way.
fn with(section: &'static str, key: &str, value: &str) -> Values {
    let mut values = least();
    for (_, text) in
        TOGETHER.iter().filter(|(with, _)| *with == key && section == "features.column" && !value.is_empty())
    {
        let (name, value) = text.split_once(" = ").unwrap();
        values.insert((section, name.to_owned()), value.to_owned());
    }
    let path = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
    values.retain(|(of, _), _| *of != path && !of.starts_with(&format!("{path}.")));
    values.insert((section, key.to_owned()), value.to_owned());
    values
}

fn without(section: &'static str, key: &str) -> Values {
    let mut values = with(section, key, "");
    values.remove(&(section, key.to_owned()));
    values
}

#[test]
fn the_table_has_every_key_and_no_other() {
    assert_eq!(LEAST.len(), SECTIONS.len());
    for (name, _) in LEAST {
        let mut values = least();
        values.insert((name, "no_such_key".to_owned()), "1".to_owned());
        let refused = parse(&values).unwrap_err();
        let known = refused
            .split("there is no key `no_such_key` here; there are")
            .nth(1)
            .unwrap_or_else(|| panic!("{refused}"));
        let known = known.lines().next().unwrap();
        let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let mut listed: Vec<&str> = section(name).keys.iter().map(|key| key.name).collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, known, "{name}");
    }
}

#[test]
fn defaults_are_what_a_key_means_that_is_left_out() {
    for section in &SECTIONS {
        for key in section.keys {
            let (of, name, without) = (section.name, key.name, without(section.name, key.name));
            match key.default {
                "required" => assert!(parse(&without).is_err(), "{of}: {name} is not required"),
                "none" => assert!(parse(&without).is_ok(), "{of}: {name} is required"),
                default => {
                    let given = parse(&with(of, name, default)).unwrap();
                    assert_eq!(given, parse(&without).unwrap(), "{of}: {name} = {default}");
                }
            }
        }
    }
}

#[test]
fn examples_are_accepted_and_say_something_else_than_the_default() {
    for section in &SECTIONS {
        for key in section.keys {
            let given = parse(&with(section.name, key.name, key.example)).unwrap();
            if key.default != "required" {
                let left_out = parse(&without(section.name, key.name)).unwrap();
                assert_ne!(given, left_out, "{}: {} = {} changes nothing", section.name, key.name, key.example);
            }
        }
    }
}

/// `make keys` writes the page; a page that was edited by hand, or a key that is not on it, fails here.
#[test]
fn the_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/campaign-toml.md");
    if std::env::var_os("ARMWISE_PAGE").is_some_and(|write| write == "write") {
        fs::write(&path, format!("{HEAD}{}", page())).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == format!("{HEAD}{}", page()),
        "the page is not the table's: run `make keys`"
    );
}

#[test]
fn the_whole_example_is_a_campaign() {
    let page = page();
    let example = page.split("```toml title=\"campaign.toml\"\n").nth(1).unwrap().split("```").next().unwrap();
    let config = Config::parse(example, Path::new("campaign.toml")).unwrap();
    assert_eq!(config.promotion.len(), 2);
}

#[test]
fn a_key_is_explained_by_its_full_name_or_alone() {
    let rest = explain("limits.rest").unwrap();
    assert_eq!(explain("rest").unwrap(), rest);
    for part in ["limits.rest: ", "default  0", "example  [limits]", "rest = 2", "at least 0"] {
        assert!(rest.contains(part), "{part} in {rest}");
    }
    // A name that several sections have is explained for each.
    let names = explain("name").unwrap();
    assert!(names.contains("promotion.name: ") && names.contains("features.column.name: "), "{names}");
    assert!(explain("limits").unwrap().contains("  rest "));
    assert!(explain("algorithm").unwrap().contains("arm-wise-ts"));
    let Err(Error::NotFound { hint, .. }) = explain("cust") else { panic!("there is no such key") };
    assert_eq!(hint, "; there are customer, limits.per_customer, tables.customer_column");
    assert!(matches!(explain(""), Err(Error::NotFound { .. })));
    for section in &SECTIONS {
        for key in section.keys {
            let full =
                if section.name.is_empty() { key.name.to_owned() } else { format!("{}.{}", section.name, key.name) };
            assert!(explain(&full).unwrap().contains(key.example), "{full}");
            assert!(overview().contains(&format!("  {}", key.name)), "{full}");
        }
    }
}
