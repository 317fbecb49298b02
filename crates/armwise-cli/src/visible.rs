//! Text for a terminal: what would steer the terminal is shown instead of sent.
//!
//! Names come from tables and rules that others wrote. An escape character in one could repaint the screen or forge a
//! line of the output; a mark of writing direction could show another text than there is.

use std::{borrow::Cow, fmt::Write};

/// Whether a character steers a terminal instead of being shown.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A text of several lines with everything but line ends and tabs made visible, as `\u001b`; in JSON this is the same
/// text, since such characters occur in strings only.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |c| steers(c) && c != '\n' && c != '\t')
}

/// A name on one line: line ends and tabs are made visible, too.
pub(crate) fn on_one_line(name: &str) -> Cow<'_, str> {
    shown(name, steers)
}

fn shown(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_is_left() {
        assert_eq!(visible("a\u{1b}[31m\n\tb\r\u{7f}\u{9b}2J"), "a\\u001b[31m\n\tb\\u000d\\u007f\\u009b2J");
        assert_eq!(on_one_line("a\nb\u{202e}c"), "a\\u000ab\\u202ec");
        assert!(matches!(visible("Zoë 東京, 100 %"), Cow::Borrowed("Zoë 東京, 100 %")));
    }

    #[test]
    fn json_says_the_same_afterwards() {
        let name = "a\u{1b}\u{9b}\u{202e}b\n";
        let text = serde_json::to_string(name).unwrap_or_default();
        assert_eq!(serde_json::from_str::<String>(&visible(&text)).ok().as_deref(), Some(name));
    }
}
