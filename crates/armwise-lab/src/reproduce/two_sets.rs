//! Theorem 1 on the two-set problem: who ever tries the better set, and where the theorem's bound is exceeded.
//!
//! The simulation shows the failure at sizes that can be played; the refutation is arithmetic, at a T that cannot. It rests on
//! the exact law of the sums of independent draws and on Hoeffding's inequality for the rewards, nothing else.

use armwise::{Algorithm, theory::Problem};
use serde_json::{Value, json};

use super::plan::Plan;
use crate::{
    Error,
    play::{Detail, Feedback, Setting},
    results::{Between, Refutation, Tried, TriedLine, TwoSets},
    session::{Job, Session},
    stats,
    world::{self, Choice, Purpose, Trial},
};

const DELTA: f64 = 0.1;
/// A policy of the figure: algorithm, what the figure calls its scope, and the algorithm itself.
type Player = (&'static str, String, Algorithm);

/// The players with these parameters: lambda, and what v and alpha are.
fn players(k: usize, lambda: f64, scale: &Value) -> Result<Vec<Player>, Error> {
    let of = |name: &'static str, title: &str, scope: Option<Value>| -> Result<Player, Error> {
        let parameter = if name.ends_with("ts") { "v" } else { "alpha" };
        let mut given = vec![("lambda", lambda.into()), (parameter, scale.clone())];
        given.extend(scope.map(|scope| ("scope", scope)));
        Ok((name, title.to_owned(), Algorithm::with(name, &given)?))
    };
    Ok(vec![
        of("arm-wise-ts", "", None)?,
        of("arm-wise-ts", "shared", Some("shared".into()))?,
        of("arm-wise-ts", "mixed 0.5", Some(json!({ "mixed": 0.5 })))?,
        of("arm-wise-ts", "best of M", Some(json!({ "best-of": { "k": k } })))?,
        of("round-wise-ts", "", None)?,
        of("pc2ucb", "", None)?,
        of("c2ucb", "", None)?,
    ])
}

/// The schedules of Theorems 1 to 4.
fn theory(k: usize, n: usize, rounds: u64) -> Value {
    json!({ "r": 1.0, "s": 1.0, "delta": DELTA, "k": k, "n": n, "rounds": rounds })
}

/// The players of a problem with k arms in a set.
type MakePlayers<'a> = &'a dyn Fn(usize) -> Result<Vec<Player>, Error>;

pub(super) fn run(plan: &Plan, seed: u64, session: &Session<'_>) -> Result<TwoSets, Error> {
    let (ks, rounds, trials) = (&plan.two_sets_ks, plan.two_sets_rounds, plan.two_sets_trials);
    let panels: [(&str, MakePlayers<'_>); 3] = [
        ("λ = k, the theory's schedules", &|k| players(k, k as f64, &theory(k, 2 * k, rounds))),
        ("λ = 1, the theory's schedules", &|k| players(k, 1.0, &theory(k, 2 * k, rounds))),
        ("λ = v = α = 1", &|k| players(k, 1.0, &1.0.into())),
    ];
    let own = players(1, 1.0, &1.0.into())?;
    if let Some(caution) = own.iter().find_map(|(_, _, algorithm)| world::Choice::Explicit.caution(algorithm)) {
        session.watch().note(&format!("this experiment shows why {caution}"));
    }
    let panel = |(label, players): &(&str, MakePlayers<'_>)| {
        let worlds = ks.iter().map(|&k| world::TwoSets::new(k, rounds)).collect::<Result<Vec<_>, Error>>()?;
        let made = ks.iter().map(|&k| players(k)).collect::<Result<Vec<_>, Error>>()?;
        let cases: Vec<Case<'_>> = worlds.iter().zip(&made).map(|(world, players)| (world, &**players)).collect();
        let shares = shares(&cases, trials, seed, session, &format!("two sets: {label}"))?;
        let line = |place: usize| TriedLine {
            algorithm: made[0][place].0.to_owned(),
            scope: made[0][place].1.clone(),
            share: shares.iter().map(|at| stats::share(at[place], trials)).collect(),
        };
        Ok(Tried { label: (*label).to_owned(), k: ks.clone(), lines: (0..made[0].len()).map(line).collect() })
    };
    let panels = panels.iter().map(panel).collect::<Result<Vec<_>, Error>>()?;
    Ok(TwoSets {
        theta: world::TwoSets::THETA,
        rounds,
        trials,
        delta: DELTA,
        panels,
        between: between(plan, seed, session)?,
        refutation: refutation(1000, 1e10)?,
    })
}

/// A world and who plays it.
type Case<'w> = (&'w world::TwoSets, &'w [Player]);

/// For each case and player, in how many runs the better set was tried.
fn shares(
    cases: &[Case<'_>],
    trials: usize,
    seed: u64,
    session: &Session<'_>,
    stage: &str,
) -> Result<Vec<Vec<usize>>, Error> {
    let mut jobs = Vec::new();
    for &(world, players) in cases {
        jobs.push(Job {
            world: world as &dyn world::World,
            trials: Trial::of(seed, Purpose::Evaluation, trials),
            settings: players.iter().map(|(_, _, algorithm)| Setting::by_id(*algorithm)).collect(),
            feedback: Feedback::AT_ONCE,
            detail: Detail::Rounds,
        });
    }
    let samples = session.play(stage, &jobs)?;
    let count = |(&(world, players), samples): (&Case<'_>, &Vec<crate::play::Sample>)| {
        // Round 1 has one super arm, so its regret is none whatever is played.
        let tried = |place: usize| samples.iter().filter(|s| world.tried(&s.played[place].regret[1..])).count();
        (0..players.len()).map(tried).collect()
    };
    Ok(cases.iter().zip(&samples).map(count).collect())
}

/// From no substitutes to plenty, at one k, lambda = k and the theory's schedules.
fn between(plan: &Plan, seed: u64, session: &Session<'_>) -> Result<Vec<Between>, Error> {
    let (k, rounds, trials) = (plan.between_k, plan.two_sets_rounds, plan.two_sets_trials);
    let kinds = [
        (Choice::Explicit, 0),
        (Choice::Linear, k / 10),
        (Choice::Linear, k),
        (Choice::Linear, 9 * k),
        (Choice::Assignment, 0),
        (Choice::Quotas, 0),
        (Choice::TopK, 0),
    ];
    let world =
        |&(choice, spare): &(Choice, usize)| world::TwoSets::with(k, world::TwoSets::THETA, rounds, choice, spare);
    let worlds = kinds.iter().map(world).collect::<Result<Vec<_>, Error>>()?;
    let made = worlds.iter().map(|world| {
        let n = world::World::rows(world) * world::World::blocks(world);
        let all = players(k, k as f64, &theory(k, n, rounds))?;
        Ok(all.into_iter().filter(|(name, ..)| name.ends_with("ts")).collect::<Vec<Player>>())
    });
    let made = made.collect::<Result<Vec<_>, Error>>()?;
    let cases: Vec<Case<'_>> = worlds.iter().zip(&made).map(|(world, players)| (world, &**players)).collect();
    let found = shares(&cases, trials, seed, session, "two sets: with substitutes")?;
    let entry = |(place, &(choice, spare)): (usize, &(Choice, usize))| Between {
        constraint: choice.name().to_owned(),
        spare,
        k,
        lines: made[place]
            .iter()
            .zip(&found[place])
            .map(|((name, scope, _), &count)| TriedLine {
                algorithm: (*name).to_owned(),
                scope: scope.clone(),
                share: vec![stats::share(count, trials)],
            })
            .collect(),
    };
    Ok(kinds.iter().enumerate().map(entry).collect())
}

/// Theorem 1's bound on two sets of k arms with lambda = k after T rounds, beside the regret of a run that never tries the
/// better set, and a bound on the probability that it is tried.
///
/// # Formula
/// ```text
/// after n = k (t - 1) rewards of the first set, mean at least 0.5 - e but for exp(-n e^2 / 2) (Hoeffding):
/// P(second chosen in round t) <= Q((0.5 - e) n / (lambda + n) k / (v_t sqrt(k / lambda + k / (lambda + n)))),   e = 0.1
/// ```
/// Rounds beyond 1,000 are taken together, with the v_t of the last and the n of the first of them.
pub(super) fn refutation(k: usize, rounds: f64) -> Result<Refutation, Error> {
    const NEAR: u64 = 1000;
    const STRAY: f64 = 0.1;
    let [first, second] = world::TwoSets::THETA;
    let (size, n, lambda) = (k as f64, 2 * k, k as f64);
    let problem = Problem { d: 2, k, lambda, r: 1.0, s: 1.0 };
    #[expect(clippy::cast_sign_loss, reason = "a number of rounds")]
    let whole = rounds as u64;
    let tail = |z: f64| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
    let off = |seen: f64| libm::exp(-0.5 * STRAY * STRAY * seen);
    let chosen = |t: u64, seen: f64| {
        let v = problem.beta(t, DELTA / (4.0 * n as f64 * rounds));
        let lead = (first - STRAY) * seen / (lambda + seen) * size;
        tail(lead / (v * (size / lambda + size / (lambda + seen)).sqrt()))
    };
    let seen = |t: u64| size * (t - 1) as f64;
    let near: f64 = (2..=NEAR).map(|t| off(seen(t)) + chosen(t, seen(t))).sum();
    let far = rounds * chosen(whole, seen(NEAR + 1)) + off(seen(NEAR + 1)) / (1.0 - off(size));
    Ok(Refutation {
        k,
        rounds,
        regret: size * (second - first) * (rounds - 1.0),
        bound: problem.arm_wise_ts_bound(whole, n, DELTA)?,
        tried: near + far,
        delta: DELTA,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By arithmetic alone; what is played is in the figure.
    #[test]
    fn theorem_1_is_contradicted_where_the_better_set_is_never_tried() {
        let found = refutation(1000, 1e10).unwrap();
        assert!(found.holds() && found.tried < 0.01 && found.regret > 2.0 * found.bound, "{found:?}");
        // At a T that can be played the bound is vacuous, and with small sets the better one is found.
        assert!(!refutation(1000, 1e6).unwrap().holds());
        assert!(!refutation(100, 1e10).unwrap().holds());
    }
}
