//! The groups as a tree under the total, with the best arms of each class.
//!
//! Whether groups are nested is decided on the arms at hand, by one rule: sort the groups of
//! every class by falling size; each group must then follow the same group in every class that has it.

use super::sort::Sorter;
use super::{Limits, Quotas};
use crate::oracle::{columns::each_eligible, top_k::Best};
use crate::{Error, Pick, Scores};

/// A group, or the total.
pub(super) struct Node {
    pub(super) limits: Limits,
    /// The smallest group around it; the total has itself.
    pub(super) parent: usize,
    /// How many of its arms are eligible.
    pub(super) eligible: usize,
}

/// The groups in an order where every group comes before the groups around it; the total is last.
pub(super) struct Forest {
    pub(super) nodes: Vec<Node>,
    /// The arms that can matter, each class by rank, with the innermost group they are in.
    pub(super) classes: Vec<(usize, Vec<Pick>)>,
}

impl Forest {
    pub(super) fn build(quotas: &Quotas, scores: &Scores<'_>) -> Result<Self, Error> {
        let total = quotas.total()?;
        let mut sorter = Sorter::new(&quotas.groups, scores)?;
        let mut best: Vec<Best> = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        each_eligible(scores, |arm, _| {
            let class = sorter.class(&quotas.groups, arm)?;
            while best.len() <= class {
                let limits = sorter.classes()[best.len()].iter().map(|&group| &sorter.groups[group]).chain([&total]);
                best.push(best_under(limits));
                sizes.push(0);
            }
            sizes[class] += 1;
            best[class].offer(scores.place(arm), scores);
            Ok(())
        })?;
        // A class may be known from a prefix of the columns only if an arm was in it, so these lengths agree.
        let classes = &sorter.classes()[..best.len()];
        let (order, parents, eligible) = nest(&sorter.groups, classes, &sizes, scores.len())?;
        let count = order.len();
        let mut place_of = vec![0; count];
        order.iter().enumerate().for_each(|(place, &group)| place_of[group] = place);
        let node = |&group: &usize| Node {
            limits: sorter.groups[group].clone(),
            parent: parents[group].map_or(count, |parent| place_of[parent]),
            eligible: eligible[group],
        };
        let mut nodes: Vec<Node> = order.iter().map(node).collect();
        nodes.push(Node { limits: total, parent: count, eligible: sizes.iter().sum() });
        let innermost = |groups: &[usize]| groups.iter().map(|&group| place_of[group]).min().unwrap_or(count);
        let classes = classes.iter().zip(best).map(|(groups, best)| (innermost(groups), best.sorted(scores))).collect();
        Ok(Self { nodes, classes })
    }
}

/// The groups by rising size, the parent of each, and the size of each.
pub(in crate::oracle) type Nesting = (Vec<usize>, Vec<Option<usize>>, Vec<usize>);

pub(in crate::oracle) fn nest(
    groups: &[Limits],
    classes: &[Vec<usize>],
    sizes: &[usize],
    rows: usize,
) -> Result<Nesting, Error> {
    let mut eligible = vec![0; groups.len()];
    for (class, size) in classes.iter().zip(sizes) {
        for &group in class {
            eligible[group] += size;
        }
    }
    let by_size = |&a: &usize, &b: &usize| {
        // Among groups with the same arms the largest minimum comes first, so that a smaller maximum is found to
        // contradict it.
        let by_min = || groups[b].min.cmp(&groups[a].min);
        eligible[a].cmp(&eligible[b]).then_with(by_min).then_with(|| groups[a].by_order(&groups[b]))
    };
    let mut parents: Vec<Option<Option<usize>>> = vec![None; groups.len()];
    for class in classes {
        let mut chain = class.clone();
        chain.sort_unstable_by(by_size);
        for (at, &group) in chain.iter().enumerate() {
            let parent = chain.get(at + 1).copied();
            match parents[group] {
                Some(known) if known != parent => {
                    // Neither can hold `group`: the one of the two that is missing from the other class crosses it.
                    let other = [known, parent].into_iter().flatten().find(|&other| crosses(classes, group, other));
                    let other = other.expect("two different parents of one group cannot both hold it");
                    return Err(crossing(groups, classes, sizes, rows, [group, other]));
                }
                _ => parents[group] = Some(parent),
            }
        }
    }
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_unstable_by(by_size);
    Ok((order, parents.into_iter().map(Option::flatten).collect(), eligible))
}

/// Whether the smaller group has arms outside the larger one.
fn crosses(classes: &[Vec<usize>], smaller: usize, larger: usize) -> bool {
    classes.iter().any(|class| class.contains(&smaller) && !class.contains(&larger))
}

fn crossing(groups: &[Limits], classes: &[Vec<usize>], sizes: &[usize], rows: usize, [a, b]: [usize; 2]) -> Error {
    let (first, second) = if groups[a].by_order(&groups[b]).is_lt() { (a, b) } else { (b, a) };
    let count = |in_first: bool, in_second: bool| {
        let fits = |class: &[usize]| (class.contains(&first), class.contains(&second)) == (in_first, in_second);
        classes.iter().zip(sizes).filter(|(class, _)| fits(class)).map(|(_, size)| size).sum()
    };
    Error::CrossingGroups {
        groups: Box::new([first, second].map(|group| groups[group].most().clone())),
        rows,
        both: count(true, true),
        only_first: count(true, false),
        only_second: count(false, true),
    }
}

/// Room for the best arms of a class that can be chosen under these limits, and one more for the price of a limit.
fn best_under<'a>(limits: impl Iterator<Item = &'a Limits>) -> Best {
    let (mut most, mut demanded) = (usize::MAX, 0);
    for limits in limits {
        most = most.min(limits.max);
        demanded = demanded.max(limits.min);
    }
    // Enough arms to meet a minimum even above an outer maximum, so that the error names the maximum. Scores of zero or
    // less count only where there is a minimum.
    Best::new(most.max(demanded).saturating_add(1), if demanded > 0 { f64::MIN } else { f64::from_bits(1) })
}
