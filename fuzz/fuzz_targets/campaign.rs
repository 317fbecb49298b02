//! Any bytes as a campaign, and a good campaign with bytes changed: found, or as if nothing had happened.
//!
//! An even first byte takes the rest as the file. An odd one takes it as changes (four bytes of
//! place, one to exclusive-or with) to a campaign made once; whatever can still be read from that must be the truth.

#![no_main]

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Feedback, Head, Sha, close, learn, model_hash, results, status},
    init,
    report::report,
    round::{ChooseOptions, choose},
    store::sqlite::verify,
    table::Table,
};
use libfuzzer_sys::fuzz_target;
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

const RULES: &str = "customer = \"customer\"\nsegment = \"region\"\n[limits]\nhold_out = 0.2\n\
    [[promotion]]\nname = \"mail\"\nquota = 6\n[[promotion]]\nname = \"call\"\nquota = { max = 3 }\n";

struct Good {
    bytes: Vec<u8>,
    said: Said,
}

/// Everything that a campaign says.
#[derive(Debug, PartialEq)]
struct Said {
    head: Head,
    model: Sha,
    results: armwise_campaign::table::Sheet,
}

fn said(path: &Path) -> Result<Said, Error> {
    let campaign = Campaign::read(path)?;
    status(&campaign)?;
    report(&campaign)?;
    let (head, model) = (campaign.head(), model_hash(&campaign.model()?));
    Ok(Said { head, model, results: results(&campaign, None)? })
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("armwise-fuzz-campaign-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    folder
}

/// A campaign of two rounds, one closed.
fn make() -> Result<Good, Error> {
    let folder = folder();
    let (path, table, answers) = (folder.join("good.armwise"), folder.join("table.csv"), folder.join("answers.csv"));
    let mut text = "customer,age,region\n".to_owned();
    (0..40).for_each(|i| writeln!(text, "c{i},{},{}", i * 7 % 31, ["north", "south"][i % 2]).expect("text grows"));
    fs::write(&table, text).expect("written");
    let _ = fs::remove_file(&path);
    let mut campaign = init(&path, &Table::open(&table, None)?, Config::parse(RULES, Path::new("rules"))?)?.0;
    for round in 1..=2 {
        let choice = choose(&campaign, &Table::open(&table, None)?, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())?;
        choice.commit(&mut campaign, None)?;
        fs::write(&answers, format!("decision,reward\nr{round}-1,1\nr{round}-4,0.5\n")).expect("written");
        learn(&mut campaign, &Table::open(&answers, None)?, Feedback::Rewards, None, None)?;
    }
    close(&mut campaign, 1, None)?;
    drop(campaign);
    Ok(Good { said: said(&path)?, bytes: fs::read(&path).expect("it was just written") })
}

static GOOD: LazyLock<Good> = LazyLock::new(|| make().expect("a good campaign can be made"));

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let path = folder().join("case.armwise");
    for leftover in ["case.armwise-wal", "case.armwise-shm", "case.armwise-journal"] {
        let _ = fs::remove_file(folder().join(leftover));
    }
    let good = &*GOOD;
    if first % 2 == 0 {
        fs::write(&path, rest).expect("written");
    } else {
        let mut damaged = good.bytes.clone();
        for change in rest.chunks_exact(5) {
            let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize % damaged.len();
            damaged[place] ^= change[4];
        }
        if rest.len() % 5 == 4 {
            damaged.truncate(damaged.len() / 256 * usize::from(rest[rest.len() - 1]));
        }
        fs::write(&path, damaged).expect("written");
    }
    let (seen, checked) = (said(&path), verify(&path));
    // A file of any bytes cannot have the right hashes by chance, so what it says can only be the truth.
    if let Ok(seen) = &seen {
        assert_eq!(seen, &good.said);
    }
    match checked {
        Ok(checked) => assert!(!checked.good || seen.is_ok(), "verify says good, but {seen:?}"),
        Err(error) => assert!(seen.is_err(), "verify cannot read what a command can: {error}"),
    }
});
