//! The page around charts and tables: one self-contained HTML file that follows the reader's light or dark, or a page
//! whose style sheet and script a server has.
//!
//! `style.css` holds what all pages share and names colours by their variables only; what one report alone needs is in
//! its own style sheet. Pictures carry no style of their own, only attributes, so they also show under a content
//! security policy that forbids inline styles.

use crate::html::{escape, write};
use crate::ink::variables;

const STYLE: &str = include_str!("style.css");

/// The style of all pages: the colours, once for light, dark and paper, and what pages share. `own` comes after it.
#[must_use]
pub fn style(own: &str) -> String {
    let mut out = format!(":root{{{}}}\n", variables(false));
    write(&mut out, format_args!("@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", variables(true)));
    // Paper is white whatever the screen is.
    write(&mut out, format_args!("@media print{{:root{{{}}}}}\n", variables(false)));
    out.push_str(STYLE);
    out.push_str(own);
    out
}

/// A whole page. `title` is plain text, `style` the page's own CSS, which comes after the shared one, and `body` markup.
#[must_use]
pub fn page(title: &str, style: &str, body: &str) -> String {
    document(title, &format!("<style>\n{}</style>\n", self::style(style)), body)
}

/// A page that finds its style, and perhaps a script, where `links` says. `title` is plain text, the others markup.
#[must_use]
pub fn document(title: &str, links: &str, body: &str) -> String {
    let mut out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n".to_owned();
    write(&mut out, format_args!("<title>{}</title>\n{links}</head>\n<body>\n{body}</body>\n</html>\n", escape(title)));
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
