//! What the parser of TOML says, in words that need no knowledge of Rust's types.
//!
//! The parser's sentences are few and always the same; one that is not known here is left as it is.

/// A message of the parser in plain words.
pub(super) fn plain(message: &str) -> String {
    let message = message.replace('\n', "; ");
    known(&message).unwrap_or(message)
}

fn known(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (key, keys) = rest.split_once(", ")?;
        return Some(match keys.strip_prefix("expected ") {
            Some(keys) => format!("there is no key {key} here; there are {}", keys.trim_start_matches("one of ")),
            None => format!("there is no key {key} here"),
        });
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (value, values) = rest.split_once(", expected ")?;
        return Some(format!("{value} is not known here; give {}", one_of(values)));
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return Some(format!("the key {key} is missing"));
    }
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (value, kind) = rest.rsplit_once(", expected ")?;
    Some(format!("{} is given where {} is needed", found(value), needed(kind)))
}

fn one_of(values: &str) -> String {
    if values.starts_with("one of ") || values.contains(" or ") { values.to_owned() } else { format!("only {values}") }
}

/// A value that was found.
fn found(value: &str) -> String {
    let inside = |text: &str| text.trim_matches('`').to_owned();
    match value.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "boolean", text)) => inside(text),
        Some(("floating", text)) => inside(text.trim_start_matches("point ")),
        _ if value == "map" => "a table or a date".to_owned(),
        _ if value == "sequence" => "a list".to_owned(),
        _ => value.to_owned(),
    }
}

/// The kind of value that is needed.
fn needed(kind: &str) -> &str {
    match kind {
        "f64" | "f32" => "a number",
        "usize" | "u64" | "u32" => "a whole number of at least 0",
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        _ if kind.starts_with("internally tagged enum") => "a table with a name, { name = \"...\" },",
        _ if kind.starts_with("struct ") => "a table",
        _ => kind,
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use std::path::Path;

    #[test]
    fn no_refusal_names_a_type_of_the_program() {
        let good = "customer = \"id\"\n[[promotion]]\nname = \"mail\"\nquota = 5\n";
        for (rules, part) in [
            (format!("{good}[limits]\nhold_out = \"5%\"\n"), "the text \"5%\" is given where a number is needed"),
            (format!("{good}[limits]\nbudget = 2026-01-01\n"), "a table or a date is given where a number"),
            (format!("{good}[limits]\nrest = -1\n"), "-1 is given where a whole number of at least 0"),
            (format!("{good}[limits]\nrest = 1.5\n"), "1.5 is given where"),
            (format!("{good}[limit]\nrest = 1\n"), "there is no key `limit` here; there are `customer`"),
            (format!("algorithm = \"ucb\"\n{good}"), "the text \"ucb\" is given where a table with a name"),
            (format!("{good}[algorithm]\nname = \"ucb\"\n"), "`ucb` is not known here; give one of `greedy`"),
            (format!("{good}[algorithm]\nname = \"c2ucb\"\nalpha = \"x\"\n"), "expected a number, or a table"),
            (format!("ties = \"coin\"\n{good}"), "`coin` is not known here; give `by-id` or `random`"),
            ("customer = \"id\"\n[[promotion]]\nquota = 5\n".to_owned(), "the key `name` is missing"),
            (good.replace('5', "\"many\""), "expected a number, or a table with `min` and `max`"),
            (format!("{good}[features]\nbias = 1\n"), "1 is given where true or false is needed"),
            (format!("{good}[tables]\nseparator = \"|\"\n"), "\"|\" is none of"),
        ] {
            let message = Config::parse(&rules, Path::new("r.toml")).expect_err(&rules).to_string();
            assert!(message.contains(part), "{message}");
            for word in ["untagged", "enum", "variant", "f64", "usize", "u64", "struct", "Some(", "field"] {
                assert!(!message.contains(word), "{word}: {message}");
            }
        }
    }
}
