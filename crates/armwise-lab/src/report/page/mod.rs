//! The page: the figures in the paper's order between what was run and what becomes of the paper's claims.
//!
//! Plain HTML and CSS without scripts, everything inside the one file. Each figure is there
//! twice, for wide and for narrow screens, and the style sheet shows one of them.

mod parameters;
mod run;
mod table_one;
mod verdicts;
mod which;

use super::figures::{Figure, TITLES, data_label};
use crate::results::{Results, Scale};
use armwise_charts::{escape, inline, page, write};

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn html(results: &Results, figures: &[Figure]) -> String {
    let mut out = String::new();
    out.push_str("<header>\n<p class=\"kicker\">armwise reproduce</p>\n<h1>Arm-wise randomization, reproduced</h1>\n");
    out.push_str("<p class=\"lead\">The evaluation of <cite>An Arm-Wise Randomization Approach to Combinatorial Linear Semi-Bandits</cite> (Takemura and Ito, 2019), run again with paired trials and confidence intervals: every figure, Table I, and what becomes of each claim.</p>\n");
    out.push_str(&warnings(results));
    out.push_str(&verdicts::summary(results));
    out.push_str("</header>\n<main>\n");
    section(&mut out, "run", "What was run", &run::html(results));

    let mut which = which::html(results);
    figures_into(&mut which, figures, &[9]);
    section(&mut out, "which", "Which algorithm should I use?", &which);

    let mut clusters = String::new();
    figures_into(&mut clusters, figures, &[1, 2]);
    section(&mut out, "clusters", "Clusters", &clusters);

    let mut promotions = String::new();
    figures_into(&mut promotions, figures, &[3]);
    promotions.push_str(&table_one::html(results));
    figures_into(&mut promotions, figures, &[4]);
    section(&mut out, "promotions", "Sending promotions", &promotions);

    let mut why = String::new();
    figures_into(&mut why, figures, &[5, 6, 8, 7]);
    section(&mut out, "why", "Exploration, theory and sensitivity", &why);

    section(&mut out, "parameters", "Chosen parameters", &parameters::html(results));
    section(&mut out, "reproduce", "Run it again", &run::again(results));
    section(&mut out, "verdicts", "Verdicts", &verdicts::html(results));
    out.push_str("</main>\n");
    page("Arm-wise randomization, reproduced", STYLE, &out)
}

/// What a reader must know before any number: quick runs are no evidence, generated data are not real.
fn warnings(results: &Results) -> String {
    let mut out = String::new();
    if results.run.scale == Scale::Quick {
        out.push_str("<p class=\"note\"><strong>Quick run.</strong> Fewer trials and settings than the evaluation: a look, not evidence.</p>\n");
    }
    if results.run.scale == Scale::Middle {
        out.push_str("<p class=\"note\"><strong>Middle-sized run.</strong> The grids of the evaluation on fewer trials and smaller data: read the intervals.</p>\n");
    }
    if let Some(promotions) = results.promotions.as_ref().filter(|promotions| promotions.data.generated) {
        write(
            &mut out,
            format_args!(
                "<p class=\"note\"><strong>Generated ratings.</strong> The promotion experiments below run on a generated MovieLens-like set ({}), not on MovieLens. They show how the algorithms behave on such data and cannot confirm or refute the paper’s numbers.</p>\n",
                escape(&data_label(&promotions.data))
            ),
        );
    }
    out
}

fn section(out: &mut String, id: &str, title: &str, body: &str) {
    write(out, format_args!("<section id=\"{id}\">\n<h2>{title}</h2>\n{body}</section>\n"));
}

/// The figures of these numbers, or a line that says which of them are left out.
fn figures_into(out: &mut String, figures: &[Figure], numbers: &[usize]) {
    for &number in numbers {
        match figures.iter().find(|figure| figure.number == number) {
            Some(figure) => figure_into(out, figure),
            None => write(
                out,
                format_args!(
                    "<p class=\"absent\">Figure {number} ({}) is left out: this run has no data for it.</p>\n",
                    TITLES[number - 1]
                ),
            ),
        }
    }
}

fn figure_into(out: &mut String, figure: &Figure) {
    let number = figure.number;
    write(out, format_args!("<figure id=\"figure-{number}\">\n"));
    write(out, format_args!("<h3>Figure {number}. {}</h3>\n", escape(&figure.title)));
    out.push_str(&inline(&figure.wide, &figure.narrow, &figure.alt));
    write(out, format_args!("\n<figcaption>{}", figure.caption));
    write(
        out,
        format_args!(
            " <span class=\"files\"><a href=\"figure-{number}.svg\">SVG</a> <a href=\"figure-{number}.png\">PNG</a></span></figcaption>\n"
        ),
    );
    if !figure.numbers.is_empty() {
        write(
            out,
            format_args!("<details><summary>The numbers of figure {number}</summary>\n{}</details>\n", figure.numbers),
        );
    }
    out.push_str("</figure>\n");
}
