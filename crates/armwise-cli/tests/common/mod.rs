//! What the tests of the command share: a folder of one's own, and random numbers that are a function of a seed.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A folder of a test's own, which goes when the test ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("armwise-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The command in a folder, with nothing on its standard input.
pub(crate) fn armwise<T: AsRef<str>>(folder: &Path, arguments: &[T]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
    command.args(arguments.iter().map(AsRef::as_ref)).stdin(Stdio::null()).current_dir(folder);
    command
}

/// Random numbers that are a function of the seed (SplitMix64).
pub(crate) fn draws(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0xD134_2543_DE82_EF95);
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

/// A table of customers.
pub(crate) fn customers(rows: usize) -> String {
    let row = |i: usize| format!("C{i:03},{},{}\n", 18 + i * 7919 % 70, ["north", "south", "east"][i * 31 % 3]);
    format!("customer,age,region\n{}", (0..rows).map(row).collect::<String>())
}
