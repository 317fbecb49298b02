//! Folders, tables and small campaigns for the tests.

#![allow(dead_code, clippy::unwrap_used, reason = "every test file uses a part; a test that unwraps says what it met")]

pub(crate) mod failing;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Feedback, Key, Learned, learn},
    init,
    round::{ChooseOptions, ChosenSummary, choose},
    table::{Sheet, Table},
};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder of its own, removed in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("armwise-campaign-{name}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A number in [0, 1) that depends on its arguments alone.
pub(crate) fn noise(seed: u64, id: u64) -> f64 {
    armwise::Round::new(seed, 1).draws(0, armwise::Stream(300)).uniform(id)
}

/// A whole number below `count` that depends on its arguments alone.
pub(crate) fn below(seed: u64, id: u64, count: usize) -> usize {
    let bits = armwise::Round::new(seed, 2).draws(0, armwise::Stream(300)).bits(id);
    (bits % count as u64) as usize
}

/// A table of customers as CSV: an id, two numbers, a category, a flag.
pub(crate) fn customers(count: u64) -> String {
    let mut text = String::from("customer,age,income,region,may_call\n");
    for i in 0..count {
        let region = ["north", "south", "east"][below(3, i, 3)];
        let (age, income) = (18.0 + (noise(1, i) * 70.0).floor(), (noise(2, i) * 1e6).floor() / 64.0);
        let _ = writeln!(text, "C{i:04},{age},{income},{region},{}", noise(4, i) < 0.6);
    }
    text
}

pub(crate) fn open(path: &Path) -> Table {
    Table::open(path, None).unwrap()
}

/// A campaign over a table with these rules after the name of the id column.
pub(crate) fn begin(folder: &Folder, table: &Path, rules: &str) -> Result<Campaign, Error> {
    begin_at(&folder.path("c.armwise"), table, rules)
}

/// As [`begin`], at a place.
pub(crate) fn begin_at(place: &Path, table: &Path, rules: &str) -> Result<Campaign, Error> {
    let text = format!("customer = \"customer\"\n{rules}");
    let config = Config::parse(&text, Path::new("campaign.toml"))?;
    Ok(init(place, &open(table), config)?.0)
}

pub(crate) fn choose_round(campaign: &mut Campaign, table: &Path) -> Result<ChosenSummary, Error> {
    let choice = choose(campaign, &open(table), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())?;
    choice.commit(campaign, None)
}

/// Learns a CSV table.
pub(crate) fn learn_text(
    campaign: &mut Campaign,
    folder: &Folder,
    feedback: Feedback,
    text: &str,
) -> Result<(Learned, Sheet), Error> {
    learn_asked(campaign, folder, feedback, text, None, None)
}

/// As [`learn_text`], about this round and with this key.
pub(crate) fn learn_asked(
    campaign: &mut Campaign,
    folder: &Folder,
    feedback: Feedback,
    text: &str,
    round: Option<u64>,
    key: Option<&str>,
) -> Result<(Learned, Sheet), Error> {
    let path = folder.write("responses.csv", text);
    let key = key.map(|key| Key::new(key).unwrap());
    learn(campaign, &open(&path), feedback, round, key.as_ref())
}

/// A sheet as CSV.
pub(crate) fn csv(sheet: &Sheet) -> String {
    let mut bytes = Vec::new();
    sheet.csv(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

pub(crate) const TWO: &str = "[[promotion]]\nname = \"mail\"\nquota = 12\n[[promotion]]\nname = \"call\"\nquota = 5\n";
