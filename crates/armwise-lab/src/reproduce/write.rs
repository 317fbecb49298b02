//! The report's folder: the page with its figures, results.json, and one CSV per figure and table.
//!
//! Every file is written under a temporary name and renamed when complete, and only after all results are there. A
//! folder has either a whole report or none.

use std::{fmt::Write, fs, path::Path};

use crate::{
    Error,
    results::{Interval, Results},
};

/// Every CSV that a report can have.
const CSVS: [&str; 12] = [
    "figure1.csv",
    "figure2.csv",
    "figure3.csv",
    "figure4.csv",
    "figure5.csv",
    "figure6.csv",
    "figure7.csv",
    "figure8.csv",
    "figure9.csv",
    "table1.csv",
    "ratios.csv",
    "verdicts.csv",
];

/// Writes the page, the figures, the CSVs and, last, `results.json` into `out`. What an earlier report had there and
/// this one does not have is removed.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be written.
pub fn write(results: &Results, out: &Path) -> Result<(), Error> {
    let io = |source| Error::Io { path: out.to_owned(), source };
    fs::create_dir_all(out).map_err(io)?;
    let json = serde_json::to_string_pretty(results).map_err(|error| io(error.into()))?;
    let csvs = csvs(results);
    if out.join("results.json").exists() {
        let stale = CSVS.into_iter().filter(|known| csvs.iter().all(|(name, _)| name != known));
        crate::report::remove(out, stale.map(str::to_owned))?;
    }
    for (name, text) in csvs {
        put(&out.join(name), &text)?;
    }
    crate::report::write(results, out)?;
    put(&out.join("results.json"), &json)
}

fn put(path: &Path, text: &str) -> Result<(), Error> {
    let part = path.with_extension("part");
    let io = |source| Error::Io { path: path.to_owned(), source };
    fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(io)
}

/// A table under way.
struct Csv(String);

impl Csv {
    fn new(header: &str) -> Self {
        Self(format!("{header}\n"))
    }

    fn row<const N: usize>(&mut self, fields: [&dyn std::fmt::Display; N]) {
        for (place, field) in fields.iter().enumerate() {
            let text = field.to_string();
            let quoted = text.contains([',', '"', '\n']);
            let comma = if place == 0 { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = if quoted {
                write!(self.0, "{comma}\"{}\"", text.replace('"', "\"\""))
            } else {
                write!(self.0, "{comma}{text}")
            };
        }
        self.0.push('\n');
    }
}

fn name_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A number that may be absent: an empty field.
fn field(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn params(params: &crate::results::Params) -> String {
    params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[expect(clippy::too_many_lines, reason = "one short loop per file")]
fn csvs(results: &Results) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    let mut maps = Csv::new("data,features,problem,algorithm,parameter,lambda,value,trials,mean_reward");
    let mut heat = |[data, features, problem]: [&str; 3], sensitivity: &[crate::results::HeatMap]| {
        for map in sensitivity {
            for (lambda, row) in map.lambda.iter().zip(&map.reward) {
                for (value, reward) in map.values.iter().zip(row) {
                    let (name, parameter, trials) = (&map.algorithm, &map.parameter, &map.trials);
                    maps.row([&data, &features, &problem, name, parameter, lambda, value, trials, reward]);
                }
            }
        }
    };
    if let Some(clustered) = &results.clustered {
        let mut csv = Csv::new("policy,arm,cluster,expected,estimate,chosen");
        for panel in &clustered.estimated.panels {
            for (arm, (estimate, chosen)) in panel.estimate.iter().zip(&panel.chosen).enumerate() {
                let (cluster, expected) = (clustered.estimated.cluster[arm], clustered.estimated.expected[arm]);
                csv.row([&panel.algorithm, &arm, &cluster, &expected, estimate, chosen]);
            }
        }
        files.push(("figure1.csv", csv.0));
        let mut csv = Csv::new("angle,label,protocol,algorithm,params,trials,mean,se,regret_mean,regret_se,oracle");
        for angle in &clustered.angles {
            for comparison in &angle.comparisons {
                for tuned in &comparison.algorithms {
                    let (reward, regret) = (tuned.cumulative_reward, tuned.regret);
                    csv.row([
                        &angle.angle,
                        &angle.label,
                        &name_of(&comparison.protocol),
                        &tuned.algorithm,
                        &params(&tuned.params),
                        &tuned.trials,
                        &reward.mean,
                        &field(reward.se),
                        &regret.mean,
                        &field(regret.se),
                        &comparison.oracle.mean,
                    ]);
                }
            }
        }
        files.push(("figure2.csv", csv.0));
        let mut csv = Csv::new("study,algorithm,ties,round,clusters,clusters_se,average_reward,average_reward_se");
        for study in &clustered.touched {
            for (touched, average) in study.clusters_per_round.iter().zip(&study.average_reward) {
                for (t, (a, b)) in touched.points.iter().zip(&average.points).enumerate() {
                    let round = t + 1;
                    let (label, se) = (&study.label, [field(a.se), field(b.se)]);
                    csv.row([label, &touched.algorithm, &touched.ties, &round, &a.mean, &se[0], &b.mean, &se[1]]);
                }
            }
        }
        files.push(("figure5.csv", csv.0));
        let mut csv = Csv::new("algorithm,theorem,t,regret_mean,regret_se,regret_worst,bound");
        for line in &clustered.regret.lines {
            for (i, t) in clustered.regret.t.iter().enumerate() {
                let Some(measured) = line.measured.get(i) else { continue };
                csv.row([
                    &line.algorithm,
                    &line.theorem,
                    t,
                    &measured.mean,
                    &field(measured.se),
                    &line.worst[i],
                    &line.bound[i],
                ]);
            }
        }
        files.push(("figure6.csv", csv.0));
        heat(["artificial clusters", "", "clustered"], &clustered.sensitivity);
    }
    if let Some(promotions) = &results.promotions {
        let (label, features) = (&promotions.data.label, &promotions.data.features);
        let mut csv = Csv::new("data,features,low,high,share");
        for (edges, share) in promotions.cosines.edges.windows(2).zip(&promotions.cosines.share) {
            csv.row([label, features, &edges[0], &edges[1], share]);
        }
        files.push(("figure3.csv", csv.0));
        let mut csv = Csv::new("data,features,reading,k,algorithm,round,average_reward,se");
        for study in &promotions.average_reward {
            for curve in &study.curves {
                for (t, point) in curve.points.iter().enumerate() {
                    let (name, round, se) = (&curve.algorithm, t + 1, field(point.se));
                    csv.row([label, features, &study.reading, &study.k, name, &round, &point.mean, &se]);
                }
            }
        }
        files.push(("figure4.csv", csv.0));
        let mut csv = Csv::new("data,features,reading,k,n,protocol,algorithm,published,mean,se,trials,params,oracle");
        let mut ratios =
            Csv::new("data,features,reading,k,a,b,published,paper,paper_low,paper_high,fresh,fresh_low,fresh_high");
        for table in &promotions.tables {
            for row in &table.rows {
                for comparison in &row.comparisons {
                    for tuned in &comparison.algorithms {
                        let published = row.published.get(&tuned.algorithm).map_or(String::new(), f64::to_string);
                        csv.row([
                            label,
                            features,
                            &table.reading,
                            &row.k,
                            &row.n,
                            &name_of(&comparison.protocol),
                            &tuned.algorithm,
                            &published,
                            &tuned.cumulative_reward.mean,
                            &field(tuned.cumulative_reward.se),
                            &tuned.trials,
                            &params(&tuned.params),
                            &comparison.oracle.mean,
                        ]);
                    }
                }
                for ratio in &row.ratios {
                    let paper = ratio.paper;
                    ratios.row([
                        label,
                        features,
                        &table.reading,
                        &row.k,
                        &ratio.a,
                        &ratio.b,
                        &field(ratio.published),
                        &field(paper.map(|paper| paper.value)),
                        &field(paper.map(|paper| paper.low)),
                        &field(paper.map(|paper| paper.high)),
                        &ratio.fresh.value,
                        &ratio.fresh.low,
                        &ratio.fresh.high,
                    ]);
                }
            }
        }
        files.push(("table1.csv", csv.0));
        files.push(("ratios.csv", ratios.0));
        heat([label, features, &promotions.sensitivity_of], &promotions.sensitivity);
    }
    files.push(("figure7.csv", maps.0));
    if let Some(two_sets) = &results.two_sets {
        let mut csv = Csv::new("parameters,constraint,spare,k,algorithm,scope,rounds,trials,share,low,high");
        let (rounds, trials) = (&two_sets.rounds, &two_sets.trials);
        for panel in &two_sets.panels {
            for line in &panel.lines {
                for (k, share) in panel.k.iter().zip(&line.share) {
                    let (name, scope) = (&line.algorithm, &line.scope);
                    let Interval { value, low, high } = share;
                    csv.row([&panel.label, &"explicit", &0, k, name, scope, rounds, trials, value, low, high]);
                }
            }
        }
        for study in &two_sets.between {
            for line in &study.lines {
                for Interval { value, low, high } in &line.share {
                    let (label, kind, spare) = ("λ = k, the theory's schedules", &study.constraint, &study.spare);
                    let (name, scope) = (&line.algorithm, &line.scope);
                    csv.row([&label, kind, spare, &study.k, name, scope, rounds, trials, value, low, high]);
                }
            }
        }
        files.push(("figure8.csv", csv.0));
    }
    if let Some(which) = &results.which {
        let mut csv = Csv::new(
            "problem,generated,algorithm,variant,parameters,params,trials,reward,reward_se,regret,regret_se,relative,relative_low,relative_high,of_tuned,of_tuned_low,of_tuned_high",
        );
        for problem in &which.problems {
            for contender in &problem.contenders {
                for way in &contender.ways {
                    let params: Vec<String> =
                        way.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
                    csv.row([
                        &problem.label,
                        &problem.generated,
                        &contender.algorithm,
                        &contender.variant,
                        &name_of(&way.how),
                        &params.join(" "),
                        &problem.trials,
                        &way.reward.mean,
                        &field(way.reward.se),
                        &way.regret.mean,
                        &field(way.regret.se),
                        &way.relative.value,
                        &way.relative.low,
                        &way.relative.high,
                        &way.of_tuned.value,
                        &way.of_tuned.low,
                        &way.of_tuned.high,
                    ]);
                }
            }
        }
        files.push(("figure9.csv", csv.0));
    }
    let mut csv = Csv::new("claim,place,rule,outcome,basis,numbers");
    for verdict in &results.verdicts {
        let (outcome, basis) = (name_of(&verdict.outcome), name_of(&verdict.basis));
        csv.row([&verdict.claim, &verdict.place, &verdict.rule, &outcome, &basis, &verdict.numbers]);
    }
    files.push(("verdicts.csv", csv.0));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let mut csv = Csv::new("a,b");
        csv.row([&"x, \"y\"", &1.5]);
        assert_eq!(csv.0, "a,b\n\"x, \"\"y\"\"\",1.5\n");
    }
}
