//! The artificial clustered case: figure 2 by both protocols, and the figures that use the same worlds.
//!
//! The trials of the paper's protocol are the first tuning trials of `fresh`, so the grid is
//! played once for both.

use super::{
    compare::{Chosen, compare, distinct, heat_maps, tune},
    figures,
    plan::{Plan, angle},
};
use crate::{
    Error,
    grid::Grid,
    play::{Detail, Feedback, Sample},
    results::{Angle, Clustered, Protocol},
    session::{Job, Session},
    world::{self, Purpose, Trial},
};

pub(super) fn run(plan: &Plan, seed: u64, session: &Session<'_>) -> Result<Clustered, Error> {
    let grid = Grid::with_in_turn(&plan.exponents)?;
    let angles: Vec<(f64, String)> = plan.sixteenths.iter().map(|&sixteenths| angle(sixteenths)).collect();
    let worlds: Vec<world::Clustered> = angles.iter().map(|(angle, _)| world::Clustered::paper(*angle)).collect();

    let tuning = Trial::of(seed, Purpose::Tuning, plan.clustered_tuning);
    let job = |world| Job {
        world,
        trials: tuning.clone(),
        settings: grid.runs.clone(),
        feedback: Feedback::AT_ONCE,
        detail: Detail::Totals,
    };
    let jobs: Vec<Job<'_>> = worlds.iter().map(|world| job(world as &dyn world::World)).collect();
    let tuned = session.play("clustered: grid", &jobs)?;

    let chosen: Vec<Vec<Chosen>> = tuned.iter().map(|samples| tune(&grid, samples)).collect();
    let job = |place: usize| Job {
        world: &worlds[place],
        trials: Trial::of(seed, Purpose::Evaluation, plan.clustered_fresh),
        settings: distinct(&chosen[place]).0.iter().map(|&run| grid.runs[run]).collect(),
        feedback: Feedback::AT_ONCE,
        detail: Detail::Totals,
    };
    let jobs: Vec<Job<'_>> = (0..worlds.len()).map(job).collect();
    let fresh = session.play("clustered: fresh trials", &jobs)?;

    let entry = |place: usize| {
        let paper: &[Sample] = &tuned[place][..plan.paper_trials];
        let best = tune(&grid, paper);
        let places = distinct(&chosen[place]).1;
        let comparisons = vec![
            compare(Protocol::Paper, &best, |at| best[at].candidate.run, paper, 1),
            compare(Protocol::Fresh, &chosen[place], |at| places[at], &fresh[place], 1),
        ];
        let (angle, label) = angles[place].clone();
        Angle { angle, label, comparisons }
    };
    let last = worlds.len() - 1;
    let sizes = &worlds[last];
    Ok(Clustered {
        d: sizes.d,
        n: sizes.n,
        k: sizes.k,
        rounds: sizes.rounds,
        order: "by-cluster".to_owned(),
        ties: "by-id".to_owned(),
        grid: grid.values.clone(),
        angles: (0..worlds.len()).map(entry).collect(),
        estimated: figures::estimated(seed)?,
        touched: figures::touched(plan, seed, session)?,
        regret: figures::regret(plan, seed, session)?,
        sensitivity: heat_maps(&grid, &tuned[last]),
    })
}
