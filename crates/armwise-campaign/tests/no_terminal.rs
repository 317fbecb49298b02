//! The library knows no terminal: a service or a notebook is as good a caller as a command.
//!
//! Exit codes, flags, command names, standard streams and the process's panic hook belong to the command line, which
//! adds them to what the library gives back. Comments may speak of them.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What only a terminal or a service has, as it would be written in code.
const OF_A_TERMINAL: [&str; 12] = [
    "exit_code",
    "\"--",
    "`armwise ",
    "std::io::stdin",
    "stdout",
    "set_hook",
    "eprintln",
    "println",
    "StatusCode",
    "HTTP",
    "Idempotency",
    "async fn",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What of a line is not a comment. A text with two slashes, such as an address, is cut there too, which hides nothing
/// that is looked for in front of it.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The lines of a text that speak of a terminal.
fn offences(text: &str) -> Vec<(usize, &'static str)> {
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(place, line)| {
            OF_A_TERMINAL.into_iter().filter(move |word| code(line).contains(word)).map(move |word| (place + 1, word))
        })
        .collect()
}

#[test]
fn the_library_does_not_speak_of_a_terminal() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 30, "the sources are where they were: {files:?}");
    let found: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            // The driver of the database is asynchronous; the one file that speaks to it waits for it.
            let is_driver = path.ends_with("store/postgres/link.rs");
            offences(&text)
                .into_iter()
                .filter(|(_, word)| !(is_driver && *word == "async fn"))
                .map(|(line, word)| format!("{}:{line}: {word}", path.display()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "these belong to the command line:\n{}", found.join("\n"));
}

#[test]
fn the_scan_finds_code_and_passes_comments() {
    for bad in ["    println!(\"done\");", "say(\"give --table or \\\"--json\\\"\");", "let out = std::io::stdout();"] {
        assert_eq!(offences(bad).len(), 1, "{bad}");
    }
    assert_eq!(offences("a\n\"run `armwise init` first\" // why"), [(2, "`armwise ")]);
    assert!(offences("/// `armwise init` prints it on stdout.\nlet x = 1; // as println does").is_empty());
}
