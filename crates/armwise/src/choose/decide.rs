//! From the oracle's selection to a decision.

use super::{ChosenArm, Decision};
use crate::model::check_features;
use crate::oracle::Selection;
use crate::score::{Explanation, Scorer};
use crate::{Arms, Error, Oracle, Pick, Row, Scores, tasks};

/// Asks the oracle and checks its answer, since an oracle outside this crate may make mistakes.
pub(super) fn ask(oracle: &dyn Oracle, scores: &Scores<'_>) -> Result<Selection, Error> {
    let selection = oracle.argmax(scores)?;
    selection.check(scores)?;
    Ok(selection)
}

/// The decision that records a selection from these arms.
pub(super) fn decide(scorer: &Scorer<'_>, arms: &Arms<'_>, selection: Selection) -> Result<Decision, Error> {
    Ok(Decision {
        round: scorer.round,
        arms: chosen_arms(scorer, arms, &selection.arms)?,
        objective: selection.objective,
        upper_bound: selection.upper_bound,
        quality: selection.quality,
        prices: selection.prices,
        missing: selection.missing,
        method: None,
        auto: scorer.auto,
    })
}

/// How many picks one task records.
const PICKS: usize = 2048;

/// The picks in their order, each with its mean, width, draw, score and features.
pub(super) fn chosen_arms(scorer: &Scorer<'_>, arms: &Arms<'_>, picks: &[Pick]) -> Result<Vec<ChosenArm>, Error> {
    let task = |picks: &[Pick]| -> Result<Vec<ChosenArm>, Error> {
        let mut rows = Vec::with_capacity(picks.len() * arms.dim());
        picks.iter().for_each(|pick| arms.row_onto(pick.row, &mut rows));
        // All rows at once; row by row only to name the bad one.
        if check_features(0, &rows).is_err() {
            let mut picked = picks.iter().zip(rows.chunks_exact(arms.dim()));
            picked.try_for_each(|(pick, features)| check_features(pick.row, features))?;
        }
        let explained = scorer.explain(arms, &rows, picks);
        let chosen = |(pick, (explained, features)): (&Pick, (Explanation, Row))| {
            let Explanation { mean, width, draw, score } = explained;
            let id = arms.id(pick.row);
            let (block, name) = (pick.block as u32, arms.name(pick.row).map(str::to_owned));
            ChosenArm { id, name, block, mean, width, draw, score, probability: None, features }
        };
        let rows = Row::rows(rows, arms.dim());
        Ok(picks.iter().zip(explained.into_iter().zip(rows)).map(chosen).collect())
    };
    if picks.len() <= PICKS {
        return task(picks);
    }
    // Collected first, so that the error is the first in the order of the picks, whatever the threads do.
    let parts: Vec<&[Pick]> = picks.chunks(PICKS).collect();
    let tasks = tasks::map(parts.len(), || (), |(), part| task(parts[part]));
    let mut all = Vec::with_capacity(picks.len());
    for arms in tasks {
        all.extend(arms?);
    }
    Ok(all)
}
