//! The folders of the library use only folders that ARCHITECTURE's table puts before them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The folders in the order of ARCHITECTURE's table: the lines between `<!-- layers -->` and the empty line after them.
fn layers(architecture: &str) -> Vec<String> {
    let table = architecture.split("<!-- layers -->").nth(1).expect("ARCHITECTURE has the table of layers");
    let rows = table.trim_start().lines().take_while(|line| line.starts_with('|')).skip(2);
    let first = |line: &str| line.split('`').nth(1).map(|name| name.trim_end_matches(['/']).replace(".rs", ""));
    rows.map(|line| first(line).expect("a folder in back quotes")).collect()
}

/// All Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

/// The first segments of all paths below `crate::` in a file, tests left out: folders, and names that lib.rs re-exports.
fn used(source: &str) -> BTreeSet<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().expect("something before");
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut used = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            used.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned));
            continue;
        };
        let (mut depth, mut name) = (1, String::new());
        let mut names = Vec::new();
        for c in list.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => names.push(std::mem::take(&mut name)),
                c if depth == 1 => name.push(c),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        names.push(name);
        let first = |name: String| name.trim().split("::").next().unwrap_or("").to_owned();
        used.extend(names.into_iter().map(first).filter(|name| !name.is_empty()));
    }
    used
}

/// Which folder each name that lib.rs re-exports comes from.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in lib.split("pub use ").skip(1) {
        let (path, _) = statement.split_once(';').expect("a statement ends");
        let (folder, names) = path.split_once("::").expect("a path");
        for name in names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            exports.insert(name.to_owned(), folder.to_owned());
        }
    }
    exports
}

/// Every use of a folder that stands later: (file, what it uses).
fn violations(layers: &[String], exports: &BTreeMap<String, String>, sources: &[(String, String)]) -> Vec<String> {
    let place = |name: &str| layers.iter().position(|layer| layer == name);
    let mut found = Vec::new();
    for (path, source) in sources {
        let own = path.split(['/', '.']).next().expect("a name");
        if own == "lib" {
            continue;
        }
        let own = place(own).unwrap_or_else(|| panic!("{path} is in no layer of ARCHITECTURE's table"));
        for name in used(source) {
            let folder = exports.get(&name).unwrap_or(&name);
            let used = place(folder).unwrap_or_else(|| panic!("{path} uses {name}, which is in no layer"));
            if used > own {
                found.push(format!("{path} uses {name} of {folder}/"));
            }
        }
    }
    found
}

#[test]
fn a_folder_uses_only_folders_before_it() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| fs::read_to_string(path).expect("readable");
    let layers = layers(&read(&crate_root.join("../../ARCHITECTURE.md")));
    let src = crate_root.join("src");
    let exports = exports(&read(&src.join("lib.rs")));
    let name = |path: &Path| path.strip_prefix(&src).expect("below src").to_string_lossy().into_owned();
    let is_test = |path: &PathBuf| path.file_name().is_some_and(|name| name == "tests.rs");
    let sources: Vec<(String, String)> =
        files(&src).iter().filter(|path| !is_test(path)).map(|path| (name(path), read(path))).collect();
    assert!(layers.len() >= 10 && sources.len() > 60, "{} layers, {} files", layers.len(), sources.len());
    assert_eq!(violations(&layers, &exports, &sources), Vec::<String>::new());
}

/// A parallel iterator elsewhere would wait for ever in a forked process, which has no threads of the pool.
#[test]
fn only_tasks_knows_rayon() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let uses = |path: &&PathBuf| fs::read_to_string(path).expect("readable").contains("rayon::");
    let found: Vec<PathBuf> = files(&src).iter().filter(uses).cloned().collect();
    assert_eq!(found, [src.join("tasks.rs")]);
}

#[test]
fn a_use_of_a_later_folder_is_found() {
    let layers = ["kernel", "model"].map(str::to_owned);
    let exports = exports("pub use model::{Block, Model};\n");
    let sources = [
        ("kernel/mod.rs".to_owned(), "use crate::{\n    Model,\n};\n".to_owned()),
        ("kernel/deep/file.rs".to_owned(), "fn f() { crate::model::g() }\n".to_owned()),
        ("model/mod.rs".to_owned(), "use crate::kernel::{a, b};\n// crate::nothing\n".to_owned()),
    ];
    let found = violations(&layers, &exports, &sources);
    assert_eq!(found, ["kernel/mod.rs uses Model of model/", "kernel/deep/file.rs uses model of model/"]);
}
