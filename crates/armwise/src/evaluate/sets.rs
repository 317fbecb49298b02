//! Sets of arms that compete among themselves only: where a constraint falls into such sets, an arm is chosen if it is
//! among the best of its set.

use crate::oracle::Separate;
use crate::{Arms, Constraint, Error, Limit, OnInfeasible, Quotas};

/// The sets of a constraint; none if its arms compete otherwise, or if it cannot be met. Those of quotas on
/// groups depend on the table and are left to `quotas`.
pub(super) fn of(
    constraint: &Constraint,
    arms: &Arms<'_>,
    blocks: usize,
    quotas: impl FnOnce(&Quotas) -> Result<Option<Separate>, Error>,
) -> Result<Option<Separate>, Error> {
    let arms_of = arms.len() * blocks;
    let eligible = |place: usize| arms.is_eligible(place / blocks, place % blocks);
    match constraint {
        Constraint::TopK(top_k) => {
            let of: Vec<u32> = (0..arms_of).map(|place| if eligible(place) { 0 } else { u32::MAX }).collect();
            let size = of.iter().filter(|set| **set == 0).count();
            let min = if top_k.at_most { 0 } else { top_k.k };
            Ok(limited(min, top_k.k, size, top_k.on_infeasible).map(|limits| (of, vec![(Limit::K, limits)])))
        }
        Constraint::Assignment(assignment) => {
            let alone = assignment.per_row >= blocks && assignment.groups.is_empty() && assignment.budget.is_none();
            if !alone || assignment.cost.is_some() || assignment.quotas.blocks().is_some_and(|of| of != blocks) {
                return Ok(None);
            }
            let of = |place: usize| if eligible(place) { (place % blocks) as u32 } else { u32::MAX };
            let of: Vec<u32> = (0..arms_of).map(of).collect();
            let mut sizes = vec![0; blocks];
            of.iter().filter(|&&set| set != u32::MAX).for_each(|&set| sizes[set as usize] += 1);
            let limits = |block: usize| {
                let (min, max) = assignment.quotas.bounds(block);
                let limits = limited(min, max, sizes[block], assignment.on_infeasible)?;
                Some((Limit::Block(block), limits))
            };
            Ok((0..blocks).map(limits).collect::<Option<Vec<_>>>().map(|limits| (of, limits)))
        }
        Constraint::Quotas(of) => quotas(of),
        _ => Ok(None),
    }
}

/// The limits of a set of this size; none if the minimum cannot be met and must be.
fn limited(min: usize, max: usize, size: usize, on_infeasible: OnInfeasible) -> Option<[usize; 2]> {
    (max > 0 && min <= max && (min <= size || on_infeasible == OnInfeasible::Fill))
        .then(|| [min.min(size), max.min(size)])
}
