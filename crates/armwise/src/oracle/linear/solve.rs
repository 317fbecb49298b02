//! The linear rows handed to the solver.
//!
//! The solver is not trusted. It runs on its own thread, gets a scaled copy of the problem, and its answer is checked
//! against the rows before it is returned. Its time limit is the only clock in the library.

use super::{Linear, Written};
use crate::error::{Error, check};
use crate::oracle::{Infeasible, Pick, Quality, Scores, Selection};
use good_lp::solvers::{ResolutionError, Solution, SolutionStatus, SolverModel, WithTimeLimit};
use good_lp::{Expression, ProblemVariables, Variable, variable};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How far a row may be missed, relative to the size of its terms. This allows for rounding of the sum only. The
/// solvers' own tolerance is larger and could add a small arm to a large one that already fills the row.
const TOLERANCE: f64 = 1e-9;

/// The arms that the solver decides on, by place.
struct Model {
    /// Scores over the largest absolute one, so that the solver's tolerances fit.
    gains: Vec<f64>,
    /// The most of each; 1 for an arm.
    most: Vec<f64>,
    rows: Vec<Written>,
    seconds: f64,
}

/// The solver's answer.
struct Answer {
    /// How many of each, in whole numbers.
    counts: Vec<f64>,
    proven: bool,
    /// On the scale of `gains`.
    bound: Option<f64>,
}

impl Linear {
    pub(in crate::oracle) fn solve(
        &self,
        scores: &Scores<'_>,
        arms: &[Pick],
        rows: Vec<Written>,
        stop: &AtomicBool,
    ) -> Result<Selection, Error> {
        // A day is as good as no limit, and every clock can represent it.
        check("time_limit", self.time_limit, self.time_limit <= 86_400.0, "at most 86400 seconds")?;
        let mut free = vec![true; arms.len()];
        for &(place, _) in rows.iter().flat_map(|row| &row.terms) {
            free[place] = false;
        }
        let bound: Vec<usize> = (0..arms.len()).filter(|&place| !free[place]).collect();
        let free = (0..arms.len()).filter(|&place| free[place] && scores.get(arms[place]) > 0.0);
        let mut chosen: Vec<Pick> = free.map(|place| arms[place]).collect();
        if bound.is_empty() {
            return Ok(Selection::optimal(chosen, scores));
        }
        let sure: f64 = chosen.iter().map(|&arm| scores.get(arm)).sum();
        let largest = bound.iter().map(|&place| scores.get(arms[place]).abs()).fold(0.0, f64::max);
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let mut new_place = vec![0; arms.len()];
        for (new, &place) in bound.iter().enumerate() {
            new_place[place] = new;
        }
        let moved = |mut row: Written| {
            row.terms.iter_mut().for_each(|term| term.0 = new_place[term.0]);
            row
        };
        let model = Model {
            gains: bound.iter().map(|&place| scores.get(arms[place]) / unit).collect(),
            most: vec![1.0; bound.len()],
            rows: rows.into_iter().map(moved).collect(),
            seconds: self.time_limit,
        };
        let most: f64 = model.gains.iter().map(|gain| gain.max(0.0)).sum();
        let alike = Alike::new(&model);
        let answer = run(model, stop)?;
        let mut taken: Vec<bool> = answer.counts.iter().map(|&count| count > 0.5).collect();
        alike.choose_first(&mut taken);
        chosen.extend(bound.iter().zip(&taken).filter(|&(_, &taken)| taken).map(|(&place, _)| arms[place]));
        let mut selection = Selection::optimal(chosen, scores);
        if !answer.proven {
            selection.quality = Quality::Gap;
            // The solver's bound may be off by its tolerance.
            let bound = answer.bound.map_or(most, |bound| (bound + TOLERANCE).min(most));
            selection.upper_bound = selection.objective.max(bound * unit + sure);
        }
        Ok(selection)
    }
}

/// The whole numbers from 0 to `most` with the largest sum of gains that meet the rows.
pub(in crate::oracle) fn whole_numbers(
    gains: Vec<f64>,
    most: Vec<f64>,
    rows: Vec<Written>,
    seconds: f64,
) -> Result<Vec<f64>, Error> {
    Ok(run(Model { gains, most, rows, seconds }, &AtomicBool::new(false))?.counts)
}

/// Solves on a separate thread, so that the caller can leave and a panic in the solver becomes an error.
fn run(model: Model, stop: &AtomicBool) -> Result<Answer, Error> {
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Cancelled);
    }
    let seconds = model.seconds;
    let patience = Duration::from_secs_f64(seconds * 1.1 + 1.0);
    let nap = Duration::from_millis(2);
    let (sender, receiver) = channel();
    let work = move || {
        // Sending fails if the caller has left; the answer is then dropped.
        let _ = sender.send(model.solve());
    };
    std::thread::Builder::new()
        .name("armwise-linear".to_owned())
        .spawn(work)
        .map_err(|error| Error::Solver(error.to_string()))?;
    let mut waited = Duration::ZERO;
    loop {
        match receiver.recv_timeout(nap) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::Solver("it panicked".to_owned())),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Err(Error::Cancelled),
            Err(RecvTimeoutError::Timeout) => waited += nap,
        }
        if waited > patience {
            return Err(Error::TimeLimit { seconds });
        }
    }
}

/// Groups of arms with equal gains and equal coefficients, in tie order.
struct Alike(Vec<Vec<usize>>);

impl Alike {
    fn new(model: &Model) -> Self {
        let mut columns: Vec<Vec<(usize, u64)>> = vec![Vec::new(); model.gains.len()];
        for (number, row) in model.rows.iter().enumerate() {
            row.terms.iter().for_each(|&(place, c)| columns[place].push((number, c.to_bits())));
        }
        let kind = |place: usize| (model.gains[place].to_bits(), &columns[place]);
        let mut places: Vec<usize> = (0..columns.len()).collect();
        // Places are by rank, so that a stable sort leaves equal ones in tie order.
        places.sort_by(|&a, &b| kind(a).cmp(&kind(b)));
        Self(places.chunk_by(|&a, &b| kind(a) == kind(b)).filter(|group| group.len() > 1).map(<[_]>::to_vec).collect())
    }

    /// Keeps the number chosen in each group, but chooses the group's first arms.
    fn choose_first(&self, chosen: &mut [bool]) {
        for group in &self.0 {
            let count = group.iter().filter(|&&place| chosen[place]).count();
            group.iter().enumerate().for_each(|(at, &place)| chosen[place] = at < count);
        }
    }
}

impl Model {
    fn solve(&self) -> Result<Answer, Error> {
        let mut variables = ProblemVariables::new();
        let whole = |&most: &f64| {
            if (0.5..1.5).contains(&most) { variable().binary() } else { variable().integer().min(0.0).max(most) }
        };
        let arms: Vec<Variable> = self.most.iter().map(|most| variables.add(whole(most))).collect();
        let sum = |terms: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut expression = Expression::with_capacity(0);
            terms.for_each(|(place, c)| expression.add_mul(c, arms[place]));
            expression
        };
        let objective = sum(&mut self.gains.iter().copied().enumerate());
        let problem = variables.maximise(objective);
        #[cfg(feature = "linear-highs")]
        let mut solver = problem.using(good_lp::highs);
        #[cfg(not(feature = "linear-highs"))]
        let mut solver = problem.using(good_lp::microlp);
        for row in &self.rows {
            let size = row.terms.iter().map(|&(_, c)| c.abs()).fold(0.0, f64::max);
            let Some(size) = Some(size).filter(|&size| size > 0.0) else { continue };
            let scaled = || sum(&mut row.terms.iter().map(|&(place, c)| (place, c / size)));
            let (lo, hi) = (row.lo / size, row.hi / size);
            if row.lo >= row.hi {
                solver.add_constraint(scaled().eq(lo));
                continue;
            }
            if lo.is_finite() {
                solver.add_constraint(scaled().geq(lo));
            }
            if hi.is_finite() {
                solver.add_constraint(scaled().leq(hi));
            }
        }
        let solution = solver.with_time_limit(self.seconds).solve().map_err(|error| match error {
            ResolutionError::Infeasible => Error::Infeasible(Infeasible::LinearRows { rows: self.rows.len() }),
            ResolutionError::Other(text) if text.starts_with("Time limit") => {
                Error::TimeLimit { seconds: self.seconds }
            }
            other => Error::Solver(other.to_string()),
        })?;
        let counts: Vec<f64> = arms.iter().map(|&arm| solution.value(arm).round()).collect();
        self.verify(&counts)?;
        let proven = matches!(solution.status(), SolutionStatus::Optimal);
        #[cfg(feature = "linear-highs")]
        let bound = None;
        #[cfg(not(feature = "linear-highs"))]
        let bound = solution.into_inner().stats().best_bound;
        Ok(Answer { counts, proven, bound })
    }

    /// Refuses an answer that misses a row.
    fn verify(&self, counts: &[f64]) -> Result<(), Error> {
        for row in &self.rows {
            let sum: f64 = row.terms.iter().map(|term| term.1 * counts[term.0]).sum();
            let size = row.terms.iter().map(|term| term.1.abs() * counts[term.0].max(1.0)).fold(0.0, f64::max);
            if !(sum >= row.lo - TOLERANCE * size && sum <= row.hi + TOLERANCE * size) {
                let text = format!("its answer gives {} the value {sum}, outside [{}, {}]", row.name, row.lo, row.hi);
                return Err(Error::Solver(text));
            }
        }
        Ok(())
    }
}
