//! What the library says about arms, blocks and rows, in the campaign's words: sends, promotions and customers.
//!
//! Whoever reads it knows the rules of the campaign and not the library, so a limit is called as the rules call it, and
//! the text ends with what can be changed.

use super::constraint;
use crate::{
    Error,
    config::{Config, GroupLimit},
};
use armwise::{Infeasible, Limit};

/// A limit as the rules call it.
pub(super) fn limit(config: &Config, of: &Limit) -> String {
    let quota = |block: usize| match config.promotion.get(block) {
        Some(promotion) => format!("quota of {}", promotion.name),
        None => "quota".to_owned(),
    };
    match of {
        Limit::Block(block) => quota(*block),
        // Only where there is one promotion are all its sends counted so.
        Limit::K | Limit::Min => quota(0),
        Limit::Group { column, values, block } => {
            let groups = &config.limits.group;
            let same = |group: &&GroupLimit| {
                let number = constraint::number_of(groups, group);
                constraint::column_of_groups(&group.column) == *column && values.contains(&number)
            };
            let Some(group) = groups.iter().find(same) else { return of.to_string() };
            let promotion = block.and_then(|block| config.promotion.get(block));
            let within = promotion.map_or(String::new(), |promotion| format!(" in {}", promotion.name));
            format!("{} = {}{within}", group.column, group.value)
        }
        of => of.to_string(),
    }
}

/// Limits that cannot be met, and other refusals of the library.
pub(super) fn told(config: &Config, error: armwise::Error) -> Error {
    match &error {
        armwise::Error::Infeasible(reason) => match infeasible(config, reason) {
            Some(text) => Error::Usage(text),
            None => error.into(),
        },
        armwise::Error::TimeLimit { seconds } => Error::Usage(format!(
            "no choice that keeps all limits was found within {seconds} s; fewer groups, or groups that do not cross, \
             make it easier"
        )),
        armwise::Error::CrossingGroups { groups, both, .. } => Error::Usage(format!(
            "the groups {} and {} share {both} customers, but each has others too; groups must lie inside each other or \
             apart",
            limit(config, &groups[0]),
            limit(config, &groups[1])
        )),
        _ => error.into(),
    }
}

/// Why the limits cannot be met; none if there are no other words for it.
fn infeasible(config: &Config, reason: &Infeasible) -> Option<String> {
    // In a large table, only candidates are counted, so the numbers may be too small.
    let (reason, counted) = match reason {
        Infeasible::AmongCandidates { of_kept, .. } => (&**of_kept, false),
        reason => (reason, true),
    };
    let only =
        |count: usize| if counted { format!("only {count} can be made") } else { "fewer can be made".to_owned() };
    Some(match reason {
        Infeasible::QuotasCost { least, budget } => format!(
            "the quotas cost at least about {least}, which is more than the budget of {budget}; lower the quotas, or give \
             them as {{ max = ... }}"
        ),
        Infeasible::TooFewRows { blocks, needed, places, .. } => {
            let names: Vec<&str> = blocks.iter().map(|&block| config.promotion[block].name.as_str()).collect();
            format!(
                "the quotas cannot be met: {} need {needed} sends, but with who is eligible and the limits {}; lower the \
                 quotas, write them as {{ max = ... }}, or set limits.on_infeasible = \"fill\"",
                names.join(", "),
                only(*places)
            )
        }
        Infeasible::TooFewArms { needed, eligible } => format!(
            "{needed} sends are asked for, but {}; lower the quota, or write it as {{ max = ... }}",
            only(*eligible)
        ),
        Infeasible::GroupMinimum { group, needed, choosable, .. } => format!(
            "{}: at least {needed} sends are asked for, but with who is eligible and the limits {}; lower the minimum",
            limit(config, group),
            only(*choosable)
        ),
        Infeasible::GroupMaximum { group, allowed, needed } => format!(
            "{}: at most {allowed} sends are allowed, but the minima inside it add up to {needed}; raise the one or lower \
             the others",
            limit(config, group)
        ),
        Infeasible::Contradiction { minima, needed, maxima, allowed, places, .. } => {
            let names =
                |limits: &[Limit]| limits.iter().map(|of| limit(config, of)).collect::<Vec<String>>().join(", ");
            let most = match (&maxima[..], counted) {
                ([], true) => format!("who is eligible allows only {places}"),
                ([], false) => "who is eligible allows fewer".to_owned(),
                (maxima, true) => {
                    let most = allowed + places;
                    format!("{} allow only {most}, eligible customers outside them included", names(maxima))
                }
                (maxima, false) => format!("{} allow fewer", names(maxima)),
            };
            format!(
                "the limits cannot be met: {} need {needed} sends, but {most}; lower the minima or raise the maxima, or \
                 set limits.on_infeasible = \"fill\"",
                names(minima)
            )
        }
        Infeasible::LinearRow { row, lo, hi, least, most } => {
            let asked = match (lo, hi) {
                (Some(lo), Some(hi)) => format!("must be from {lo} to {hi}"),
                (Some(lo), None) => format!("must be at least {lo}"),
                (None, Some(hi)) => format!("must be at most {hi}"),
                (None, None) => "has no limit".to_owned(),
            };
            format!("{row}: it {asked}, but whoever is chosen, it lies between {least} and {most}; change that limit")
        }
        Infeasible::LinearRows { .. } | Infeasible::Crossing { .. } => {
            "the quotas, groups and the budget cannot all be met together, though each of them could be alone; lower a \
             minimum, or raise a maximum"
                .to_owned()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config() -> Config {
        let rules = "customer = \"id\"\n[[promotion]]\nname = \"mail\"\nquota = 5\n[[promotion]]\nname = \"call\"\n\
                     quota = 5\n[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\nmin = 3\n";
        Config::parse(rules, Path::new("rules.toml")).expect("good rules")
    }

    #[test]
    fn no_reason_speaks_of_arms_blocks_or_rows() {
        let group = || Limit::Group { column: constraint::column_of_groups("region"), values: vec![1.0], block: None };
        let reasons = [
            Infeasible::TooFewArms { needed: 5, eligible: 3 },
            Infeasible::TooFewRows { blocks: vec![0, 1], needed: 10, rows: 7, places: 7 },
            Infeasible::GroupMinimum { group: group(), needed: 3, eligible: 2, choosable: 1 },
            Infeasible::GroupMaximum { group: Limit::Block(1), allowed: 2, needed: 3 },
            Infeasible::QuotasCost { least: 10.0, budget: 5.0 },
            Infeasible::LinearRow { row: "budget".to_owned(), lo: None, hi: Some(5.0), least: 6.0, most: 7.0 },
            Infeasible::LinearRows { rows: 4 },
            Infeasible::Contradiction {
                minima: vec![Limit::Block(0)],
                needed: 5,
                maxima: vec![group()],
                allowed: 2,
                rows: 1,
                places: 1,
            },
            Infeasible::Crossing { limits: 3 },
        ];
        for reason in reasons {
            let text = told(&config(), armwise::Error::Infeasible(reason)).to_string();
            for word in ["arm", "block", "row", "super", "linear", "unit"] {
                assert!(!text.contains(word), "{word}: {text}");
            }
            assert!(text.contains(';'), "what can be done: {text}");
        }
        assert_eq!(limit(&config(), &group()), "region = north");
        let late = told(&config(), armwise::Error::TimeLimit { seconds: 60.0 }).to_string();
        assert!(!late.contains("arm") && late.contains("60 s"), "{late}");
    }
}
