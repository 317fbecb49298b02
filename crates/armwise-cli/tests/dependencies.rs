//! The list of dependencies: a new crate, licence or second version is an error until `deny.toml` names it.
//!
//! `cargo deny check` does the same and looks into the advisory database, which it must fetch. This test needs no network:
//! it reads `Cargo.lock` for the crates of all platforms and asks cargo for the licences of those that were built.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

/// Crates that the advisory database calls unmaintained, of the kind that projects like this one meet.
const UNMAINTAINED: [&str; 32] = [
    "adler",
    "ansi_term",
    "async-std",
    "atty",
    "backoff",
    "bincode",
    "daemonize",
    "derivative",
    "dotenv",
    "encoding",
    "failure",
    "fxhash",
    "instant",
    "json",
    "mach",
    "net2",
    "number_prefix",
    "owned_ttf_parser",
    "paste",
    "proc-macro-error",
    "proc-macro-error2",
    "rustls-pemfile",
    "rusttype",
    "rustybuzz",
    "serde_cbor",
    "serde_yaml",
    "stdweb",
    "term_size",
    "ttf-parser",
    "tui",
    "users",
    "yaml-rust",
];

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    allow: Vec<Named>,
    skip: Vec<Named>,
}

/// A crate, perhaps with a version, perhaps with a reason.
#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Plain(String),
    Reasoned {
        #[serde(rename = "crate")]
        name: String,
        reason: String,
    },
}

impl Named {
    fn name(&self) -> &str {
        let (Self::Plain(name) | Self::Reasoned { name, .. }) = self;
        name
    }

    fn has_reason(&self) -> bool {
        matches!(self, Self::Reasoned { reason, .. } if reason.len() > 10)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    toml::from_str(&fs::read_to_string(root().join(name)).unwrap()).unwrap()
}

#[test]
fn every_dependency_is_named() {
    let (lock, deny): (Lock, Deny) = (read("Cargo.lock"), read("deny.toml"));
    let there: BTreeSet<&str> = lock.package.iter().map(|package| package.name.as_str()).collect();
    let named: BTreeSet<&str> = deny.bans.allow.iter().map(Named::name).collect();
    let new: Vec<_> = there.difference(&named).collect();
    assert!(new.is_empty(), "not in deny.toml: {new:?}; look who keeps them, then name them there");
    let gone: Vec<_> = named.difference(&there).collect();
    assert!(gone.is_empty(), "in deny.toml, but no longer needed: {gone:?}");
    for package in &lock.package {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let known = package.source.as_deref().is_none_or(|source| source == registry);
        assert!(known, "{} comes from {:?}", package.name, package.source);
    }
}

#[test]
fn what_is_unmaintained_has_a_reason() {
    let (lock, deny): (Lock, Deny) = (read("Cargo.lock"), read("deny.toml"));
    let reasoned: BTreeSet<&str> = deny.bans.allow.iter().filter(|named| named.has_reason()).map(Named::name).collect();
    let bare: Vec<_> = (lock.package.iter().map(|package| package.name.as_str()))
        .filter(|name| UNMAINTAINED.contains(name) && !reasoned.contains(name))
        .collect();
    assert!(bare.is_empty(), "unmaintained, and deny.toml does not say why they stay: {bare:?}");
    assert!(reasoned.contains("paste") && reasoned.contains("ttf-parser"), "the two that are known");
}

#[test]
fn a_second_version_has_a_reason() {
    let (lock, deny): (Lock, Deny) = (read("Cargo.lock"), read("deny.toml"));
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in &lock.package {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let skipped: BTreeSet<&str> = deny.bans.skip.iter().filter(|named| named.has_reason()).map(Named::name).collect();
    let mut second = BTreeSet::new();
    for (name, versions) in versions {
        let all: Vec<String> = versions.iter().map(|version| format!("{name}@{version}")).collect();
        let unnamed = all.iter().filter(|version| !skipped.contains(version.as_str())).count();
        assert!(unnamed <= 1, "{}: name all but the newest under bans.skip of deny.toml, or let it go", all.join(", "));
        second.extend(all.into_iter().filter(|_| versions.len() > 1));
    }
    let gone: Vec<_> = skipped.iter().filter(|version| !second.contains(**version)).collect();
    assert!(gone.is_empty(), "in deny.toml, but no longer a second version: {gone:?}");
}

#[test]
fn every_licence_is_allowed() {
    let deny: Deny = read("deny.toml");
    let allowed = |licence: &str| deny.licenses.allow.iter().any(|allow| allow == licence);
    // Those of this platform were built, so their manifests are at hand.
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut metadata = Command::new(std::env::var("CARGO").unwrap_or("cargo".into()));
    metadata.args(["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", host]);
    let output = metadata.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "all of them, not only ours: {}", packages.len());
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(satisfied(licence, &allowed), "{}: {licence:?} is not allowed by deny.toml", package["name"]);
    }
}

/// Whether an SPDX expression can be satisfied; AND binds stronger than OR, and old manifests write / for OR.
fn satisfied(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "+WITH+");
    let words: Vec<String> = spaced.split_whitespace().map(|word| word.replace('+', " ")).collect();
    let mut rest = words.as_slice();
    either(&mut rest, allowed) && rest.is_empty()
}

fn either(words: &mut &[String], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut found = both(words, allowed);
    while words.first().is_some_and(|word| word == "OR") {
        *words = &words[1..];
        found |= both(words, allowed);
    }
    found
}

fn both(words: &mut &[String], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut found = one(words, allowed);
    while words.first().is_some_and(|word| word == "AND") {
        *words = &words[1..];
        found &= one(words, allowed);
    }
    found
}

fn one(words: &mut &[String], allowed: &dyn Fn(&str) -> bool) -> bool {
    let Some((word, tail)) = words.split_first() else { return false };
    *words = tail;
    if word != "(" {
        return allowed(word);
    }
    let found = either(words, allowed);
    let closed = words.first().is_some_and(|word| word == ")");
    *words = words.get(1..).unwrap_or_default();
    found && closed
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = |licence: &str| ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&licence);
    let good = ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "MIT AND Zlib", "(GPL-3.0 OR MIT) AND Zlib"];
    let bad = ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "(MIT", "MIT MIT", "Apache-2.0"];
    assert!(good.iter().all(|text| satisfied(text, &allowed)));
    assert!(satisfied("Apache-2.0 WITH LLVM-exception", &allowed));
    assert!(bad.iter().all(|text| !satisfied(text, &allowed)));
}
