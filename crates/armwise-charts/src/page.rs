//! The page around charts and tables: one self-contained HTML file that follows the reader's light or dark.
//!
//! `style.css` holds what all pages share and names colours by their variables only; what one report alone needs is in
//! its own style sheet.

use crate::html::{escape, write};
use crate::ink::variables;

const STYLE: &str = include_str!("style.css");

/// A whole page. `title` is plain text, `style` the page's own CSS, which comes after the shared one, and `body` markup.
#[must_use]
pub fn page(title: &str, style: &str, body: &str) -> String {
    let mut out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n".to_owned();
    write(&mut out, format_args!("<title>{}</title>\n<style>\n", escape(title)));
    write(&mut out, format_args!(":root{{{}}}\n", variables(false)));
    write(&mut out, format_args!("@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", variables(true)));
    // Paper is white whatever the screen is.
    write(&mut out, format_args!("@media print{{:root{{{}}}}}\n", variables(false)));
    write(&mut out, format_args!("{STYLE}{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_style_names_only_variables_that_the_page_declares() {
        let page = page("t", "", "");
        let used: BTreeSet<&str> =
            page.split("var(--").skip(1).map(|rest| rest.split(')').next().expect("an end")).collect();
        assert!(used.contains("text") && used.contains("paper"));
        for name in used {
            assert_eq!(page.matches(&format!("--{name}:#")).count(), 3, "light, dark and print declare {name}");
        }
        assert!(!page.contains("http") && !page.contains("@import") && !page.contains("url("));
    }
}
