//! Every error of the library has its status: by its variant, and none is forgotten.

use armwise_campaign::{
    Error,
    core::{Frozen, Refusal},
};
use armwise_server::problem::Fault;
use std::{fs, path::Path};

/// The variants of an enum, read from its source.
pub(crate) fn variants(text: &str, name: &str) -> Vec<String> {
    let body = text.split(&format!("pub enum {name} {{")).nth(1).unwrap().split("\n}\n").next().unwrap();
    let own = body.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    own.map(str::trim)
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_variant_is_named_where_statuses_are_given() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(here.join(path)).unwrap();
    let problem = read("src/problem.rs");
    for (file, name) in [("error.rs", "Error"), ("core/refusal.rs", "Refusal")] {
        let found = variants(&read(&format!("../armwise-campaign/src/{file}")), name);
        assert!(found.len() > 12, "{found:?}");
        for variant in found {
            let told = problem.split("fn of(error").nth(1).unwrap().contains(&format!("{name}::{variant}"));
            assert!(told, "{name}::{variant} has no status in problem.rs");
        }
    }
}

#[test]
fn the_scan_reads_variants() {
    let text = "/// x\npub enum Error {\n    /// One.\n    #[error(\"x\")]\n    One {\n        /// A field.\n        Field: u8,\n    },\n    Two(String),\n}\n";
    assert_eq!(variants(text, "Error"), ["One", "Two"]);
}

#[test]
fn statuses_and_places_follow_from_the_variant() {
    let path = || Path::new("/secret/place/shop.armwise").to_owned();
    let cell = Error::Cell { table: "arms".into(), row: 3, column: "price".into(), problem: "it is missing".into() };
    for (error, status, kind) in [
        (Error::NoCampaign { path: path() }, 404, "not-found"),
        (cell, 422, "rows"),
        (Error::Usage("no".into()), 422, "invalid"),
        (Error::KeyUsed { path: path(), key: "k".into() }, 422, "key-used"),
        (Error::InFlight { key: "k".into() }, 409, "in-flight"),
        (Error::QueueFull { waiting: 9 }, 429, "queue-full"),
        (Error::DiskFull { path: path(), cause: None }, 507, "disk-full"),
        (Error::Unavailable { path: path(), problem: "no answer".into() }, 503, "unavailable"),
        (Error::WentBack { path: path(), seen: 9, found: 8 }, 500, "went-back"),
        (Error::NewerSchema { path: path(), version: 9, oldest: 9, known: 2 }, 500, "newer-schema"),
        (Error::Stopped { path: path() }, 503, "stopped"),
        (Error::Locked { path: path(), holder: "choose".into() }, 503, "locked"),
        (Error::HeadMoved { path: path(), expected: 1, found: 2 }, 503, "head-moved"),
        (Error::TooManyArms { found: 9, most: 8 }, 413, "too-many-arms"),
        (Error::Refused(Refusal::BadKey("a b".into())), 400, "bad-key"),
        (Error::Refused(Refusal::Frozen(Frozen::Seed)), 409, "frozen"),
        (Error::Damaged { path: path(), problem: "x".into(), cause: None }, 500, "damaged"),
        (Error::Library(armwise::Error::NoArms), 422, "invalid"),
    ] {
        let text = error.to_string();
        let fault = Fault::from(error);
        assert_eq!((fault.status().as_u16(), fault.kind()), (status, kind), "{text}");
        let problem = serde_json::to_string(&fault.problem()).unwrap();
        assert!(!problem.contains("/secret"), "the server's folders are its own: {problem}");
    }
}
