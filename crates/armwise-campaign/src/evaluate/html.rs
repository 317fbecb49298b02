//! The evaluation as one HTML page: the policies by rank, each with its gain over what was earned on one scale.

use super::{Evaluated, PartLine, PolicyLine};
use armwise::evaluate::{Estimator, FEW, Interval, UNSEEN};
use armwise_charts::{Cell, Estimate, Forest, Table, escape, number, page, percent, significant, write};

const STYLE: &str = "section>p,section>ul{max-width:47.5rem}\n.full{width:100%}\n\
                     .full tbody th{white-space:normal;overflow-wrap:anywhere;min-width:7rem}\n\
                     .forest td,.forest th{vertical-align:middle}\n.forest thead .plot{width:276px;vertical-align:bottom}\n\
                     .forest .plot{padding:0 1rem 0 0}\n.forest .chart{max-width:none}\n\
                     .forest tbody tr+tr .plot{border-top-color:transparent}\n\
                     .small{font-size:.875rem;color:var(--muted)}\n\
                     @media (min-width:48rem){.forest tbody th{white-space:nowrap}}\n\
                     @media (max-width:48rem){.forest thead .plot{width:126px}.forest .plot{padding-right:.5rem}}\n";

/// The page.
#[must_use]
pub fn html(evaluated: &Evaluated) -> String {
    let mut body = format!(
        "<header>\n<p class=\"kicker\">armwise evaluate</p>\n<h1>Other policies for {}</h1>\n<p>{}</p>\n</header>\n<main>\n",
        escape(&evaluated.campaign),
        escape(&opening(evaluated)),
    );
    section(&mut body, "What they would have earned", &ranked(evaluated));
    section(&mut body, "What the log can say", &support(evaluated));
    let parts = |title: &str, of: fn(&PolicyLine) -> &Vec<PartLine>, body: &mut String| {
        if evaluated.policies.iter().any(|line| of(line).len() > 1) {
            section(body, title, &by_part(evaluated, of));
        }
    };
    parts("By promotion", |line| &line.promotions, &mut body);
    parts("By segment", |line| &line.segments, &mut body);
    if let Some(all) = evaluated.hold_out.last() {
        section(&mut body, "The hold-out", &hold_out(all));
    }
    section(&mut body, "What these numbers mean", MEANING);
    section(&mut body, "About this page", &about(evaluated));
    body.push_str("</main>\n");
    page(&evaluated.campaign, STYLE, &body)
}

const MEANING: &str = "<ul>\n<li>A value is what the policy would have earned in a round <em>with what was known before that \
    round</em>. What it would have learned by its own choices, and earned later, no log of another policy can tell.</li>\n\
    <li>The value is doubly robust: the model from before the round, and what that model missed, weighted by how much \
    likelier the policy would have chosen each send. It is right on average if the probabilities are, whatever the model \
    is worth.</li>\n<li>Not identified: the policy wants customers who could not have been chosen, so nothing in the log \
    tells what they would have paid. Nothing is clipped; such a policy has no interval.</li>\n<li>Intervals hold though \
    the rounds are not independent: each takes into account only what is known before its round. They hold for a log \
    that is looked at once; whoever looks every week takes the wider ones that hold at all times.</li>\n</ul>\n";

fn opening(evaluated: &Evaluated) -> String {
    let rounds = evaluated.rounds.len();
    let earned = around(evaluated.logged, evaluated.logged_interval);
    format!(
        "In {rounds} round{} the campaign earned a {} of {earned} a round, chosen by {}.",
        if rounds == 1 { "" } else { "s" },
        evaluated.unit,
        evaluated.logging
    )
}

fn around(value: f64, interval: Option<Interval>) -> String {
    match interval {
        // As many decimals as the interval has a use for, so that the numbers of a column line up.
        Some(interval) => {
            let half = interval.length() / 2.0;
            #[expect(clippy::cast_sign_loss, reason = "clamped")]
            let decimals = if half > 0.0 { (2.0 - half.log10().floor()).clamp(0.0, 8.0) as usize } else { 4 };
            format!("{} ± {}", number(value, decimals), number(half, decimals))
        }
        None => significant(value, 4),
    }
}

fn section(body: &mut String, title: &str, content: &str) {
    write(body, format_args!("<section>\n<h2>{title}</h2>\n{content}</section>\n"));
}

fn estimate(line: &PolicyLine, by: Estimator) -> String {
    let own = line.evaluation.by(by);
    own.value.map_or("–".to_owned(), |value| around(value, own.interval))
}

fn ranked(evaluated: &Evaluated) -> String {
    let estimates = evaluated.policies.iter().map(|line| {
        let half = line.evaluation.gain_interval.map(|interval| interval.length() / 2.0);
        Estimate {
            value: line.evaluation.gain.unwrap_or(f64::NAN),
            half_width: half.unwrap_or(f64::NAN),
            tip: format!("{}: {}", line.policy, gain(line)),
        }
    });
    let forest = Forest::new(estimates.collect());
    let head = vec![
        Cell::text("policy"),
        Cell::html(forest.axis()).class("plot"),
        Cell::number("more than was earned"),
        Cell::number("a round"),
        Cell::number("by weights alone"),
        Cell::number("by the model alone"),
    ];
    let rows = evaluated.policies.iter().zip(forest.cells()).map(|(line, plot)| {
        vec![
            Cell::text(&line.policy),
            Cell::html(plot).class("plot"),
            Cell::number(&gain(line)),
            Cell::number(&if line.evaluation.identified { estimate(line, Estimator::Dr) } else { not(line) }),
            Cell::number(&estimate(line, Estimator::Ips)),
            Cell::number(&estimate(line, Estimator::Dm)),
        ]
    });
    let percents = number(100.0 * evaluated.level, 0);
    format!("<p>By rank. Dots are estimates of the gain in a round, lines {percents}% intervals.</p>\n")
        + &Table { caption: String::new(), head, rows: rows.collect() }.html("full forest")
}

fn gain(line: &PolicyLine) -> String {
    line.evaluation.gain.map_or("–".to_owned(), |gain| around(gain, line.evaluation.gain_interval))
}

fn not(line: &PolicyLine) -> String {
    let of = &line.evaluation;
    if of.unseen > UNSEEN {
        return format!("not identified: {} chosen in no fresh round", share(of.unseen));
    }
    format!("not identified: {} without support", share(of.unsupported))
}

/// A share in percent, with two digits however small it is.
#[must_use]
pub fn share(share: f64) -> String {
    if share > 0.0 && share < 0.001 { format!("{}%", significant(100.0 * share, 2)) } else { percent(share, 1) }
}

/// What is to be known before the lines of policies are believed, a sentence each.
#[must_use]
pub fn notes(evaluated: &Evaluated) -> Vec<String> {
    let mut notes = Vec::new();
    for line in &evaluated.policies {
        let of = &line.evaluation;
        if of.unseen > 0.0 {
            notes.push(format!(
                "{}: no fresh round of the policy that chose has {} of what it wants; these are rare at least, and their \
                 probabilities are not known",
                line.policy,
                share(of.unseen)
            ));
        }
        if of.identified && of.tells_little() {
            notes.push(format!(
                "{}: as much is told as by {} sends of equal weight; below {FEW} no interval is to be believed",
                line.policy,
                number(of.effective, 0)
            ));
        }
    }
    notes
}

fn support(evaluated: &Evaluated) -> String {
    let head = [
        "policy",
        "sends that tell as much",
        "largest weight",
        "without support",
        "in no fresh round",
        "hardly any support",
        "a round, at all times",
        "probabilities",
    ];
    let head =
        head.iter().enumerate().map(|(place, name)| if place == 0 { Cell::text(name) } else { Cell::number(name) });
    let rows = evaluated.policies.iter().map(|line| {
        let (of, doubly) = (&line.evaluation, line.evaluation.by(Estimator::Dr));
        vec![
            Cell::text(&line.policy),
            Cell::number(&format!("{} of {}", number(of.effective, 0), number(of.arms as f64, 0))),
            Cell::number(&significant(of.largest_weight, 3)),
            Cell::number(&share(of.unsupported)),
            Cell::number(&share(of.unseen)),
            Cell::number(&share(of.thin)),
            Cell::number(&doubly.value.filter(|_| of.identified).map_or("–".to_owned(), |v| around(v, doubly.anytime))),
            Cell::number(&line.method),
        ]
    });
    let notes = notes(evaluated).iter().map(|note| format!("<p>{}.</p>\n", escape(note))).collect::<Vec<_>>().concat();
    "<p>A policy that wants what was rarely chosen is told by few sends with large weights: then intervals are wide, and a \
     few sends decide. Whoever looks again after every round takes the intervals that hold at all times.</p>\n"
        .to_owned()
        + &notes
        + &Table { caption: String::new(), head: head.collect(), rows: rows.collect() }.html("full")
}

fn by_part(evaluated: &Evaluated, of: fn(&PolicyLine) -> &Vec<PartLine>) -> String {
    let Some(first) = evaluated.policies.first() else { return String::new() };
    let names = of(first).iter().map(|part| Cell::number(&part.name));
    let head = [Cell::text("policy")].into_iter().chain(names).collect();
    let mut rows = vec![
        [Cell::text("was earned")]
            .into_iter()
            .chain(of(first).iter().map(|part| Cell::number(&significant(part.logged, 4))))
            .collect(),
    ];
    rows.extend(evaluated.policies.iter().map(|line| {
        let parts = of(line).iter().map(|part| {
            Cell::number(&part.value.map_or("not identified".to_owned(), |value| around(value, part.interval)))
        });
        [Cell::text(&line.policy)].into_iter().chain(parts).collect()
    }));
    Table { caption: String::new(), head, rows }.html("full")
}

fn hold_out(all: &crate::report::UpliftLine) -> String {
    match (all.uplift, all.half_width, all.refused) {
        (Some(uplift), half, _) => format!(
            "<p>A send of the policy that chose brought {} ± {} more than its customer would have brought without it: the hold-out, \
             whom the same rules would have chosen, tells. For the other policies there is no hold-out; their values are \
             rewards of sends, not uplift.</p>\n",
            number(uplift, 4),
            number(half.unwrap_or(f64::NAN), 4)
        ),
        (None, _, why) => {
            format!("<p>No uplift: {}.</p>\n", escape(&why.map_or("unknown".to_owned(), |why| why.to_string())))
        }
    }
}

fn about(evaluated: &Evaluated) -> String {
    let item = |left: &super::LeftOut| format!("<li>Round {} is left out: {}.</li>\n", left.round, escape(left.why));
    let left = evaluated.left_out.iter().map(item).collect::<Vec<_>>().concat();
    let sampled = evaluated.sampled.iter().map(|of| {
        let (round, one_in) = (of.round, of.one_in);
        format!("<li>Of round {round} one in {one_in} of those who were not chosen was kept and stands for all of them.</li>\n")
    });
    let other = (!evaluated.disagreements.is_empty()).then(|| format!("<li>{}</li>\n", escape(&disagree(evaluated))));
    let left = left + &sampled.chain(other).collect::<Vec<_>>().concat();
    let left = if left.is_empty() { left } else { format!("<ul class=\"small\">\n{left}</ul>\n") };
    format!(
        "{left}<p class=\"small\">{} (method: {}). Choosing again from the rows of a round gave the sends of the journal, wherever \
         all rows were there. The journal ends with <code>{}</code>. Evaluated rounds: {}.</p>\n",
        escape(&source(evaluated)),
        escape(&evaluated.method),
        evaluated.head,
        evaluated.rounds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    )
}

/// Where the probabilities of the sends come from.
fn source(evaluated: &Evaluated) -> String {
    let known = evaluated.logged_probabilities;
    let sends = evaluated.policies.first().map_or(0, |line| line.evaluation.arms as u64);
    match known {
        0 => "Probabilities of the sends were derived from the rows of their rounds".to_owned(),
        known if known >= sends => "Probabilities of the sends are those that the journal has of them".to_owned(),
        known => format!(
            "Probabilities of {known} of {sends} sends are those of the journal, the others were derived from the rows of their rounds"
        ),
    }
}

/// That some probabilities of the journal are not those that follow from the rows.
#[must_use]
pub fn disagree(evaluated: &Evaluated) -> String {
    let Some(first) = evaluated.disagreements.first() else { return String::new() };
    format!(
        "{} sends have another probability in the journal than follows from the rows of their rounds, the first of them {:?} in \
         round {}: {} against {}. Those of the journal were used.",
        evaluated.disagreements.len(),
        first.customer,
        first.round,
        significant(first.logged, 6),
        significant(first.derived, 6)
    )
}
