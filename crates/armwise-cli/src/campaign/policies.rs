//! Policies on the command line: `--policy NAME`, each followed by its own `--param NAME=VALUE`; several values make a
//! grid.
//!
//! Which parameter belongs to which policy is told by their order, which derived arguments do not have, so these are made
//! by hand.

use armwise::{Algorithm, Policy as _};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use serde_json::{Map, Value};

use super::Failure;

/// A policy's name with the values of its parameters.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    name: String,
    parameters: Vec<(String, Vec<String>)>,
}

/// The policies that were given, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Policies(Vec<Given>, Option<String>);

impl Policies {
    /// The algorithms, a grid as one for each combination.
    pub(super) fn algorithms(&self) -> Result<Vec<Algorithm>, Failure> {
        if let Some(param) = &self.1 {
            return Err(Failure::usage(format!("--param {param} comes before any --policy; it belongs after its own")));
        }
        let mut all = Vec::new();
        for given in &self.0 {
            let description = Algorithm::describe(&given.name).map_err(|error| Failure::usage(error.to_string()))?;
            let mut tables = vec![Map::from_iter([("name".to_owned(), Value::from(given.name.as_str()))])];
            for (name, values) in &given.parameters {
                description.parameter(name).map_err(|error| Failure::usage(error.to_string()))?;
                let with = |table: &Map<String, Value>| {
                    let each = values.iter().map(|value| {
                        let value = value.parse::<f64>().map_or_else(|_| Value::from(value.as_str()), Value::from);
                        let mut table = table.clone();
                        table.insert(name.clone(), value);
                        table
                    });
                    each.collect::<Vec<_>>()
                };
                tables = tables.iter().flat_map(with).collect();
            }
            for table in tables {
                let bad = |error: String| Failure::usage(format!("--policy {}: {error}", given.name));
                let algorithm: Algorithm =
                    serde_json::from_value(table.into()).map_err(|error| bad(error.to_string()))?;
                algorithm.validate().map_err(|error| bad(error.to_string()))?;
                if !all.contains(&algorithm) {
                    all.push(algorithm);
                }
            }
        }
        Ok(all)
    }
}

impl Args for Policies {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new("policy")
                    .long("policy")
                    .value_name("NAME")
                    .action(ArgAction::Append)
                    .help("A policy by its name, for example arm-wise-ts; may be given several times"),
            )
            .arg(
                Arg::new("param")
                    .long("param")
                    .value_name("NAME=VALUE")
                    .action(ArgAction::Append)
                    .help("A parameter of the policy before it; several values, as in v=0.1,0.3, make a grid"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Policies {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let of = |name: &str| {
            let values = matches.get_many::<String>(name).into_iter().flatten().cloned();
            let places = matches.indices_of(name).into_iter().flatten();
            places.zip(values).collect::<Vec<_>>()
        };
        let mut all: Vec<(usize, bool, String)> = Vec::new();
        all.extend(of("policy").into_iter().map(|(place, value)| (place, true, value)));
        all.extend(of("param").into_iter().map(|(place, value)| (place, false, value)));
        all.sort_unstable();
        let mut policies = Self::default();
        for (_, is_policy, value) in all {
            if is_policy {
                policies.0.push(Given { name: value, parameters: Vec::new() });
            } else if let Some(last) = policies.0.last_mut() {
                let (name, values) = value.split_once('=').unwrap_or((&value, ""));
                last.parameters.push((name.to_owned(), values.split(',').map(str::to_owned).collect()));
            } else {
                policies.1 = Some(value);
            }
        }
        Ok(policies)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Vec<Algorithm>, String> {
        let command = Policies::augment_args(Command::new("t"));
        let matches = command.try_get_matches_from([&["t"], words].concat()).map_err(|error| error.to_string())?;
        let policies = Policies::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        policies.algorithms().map_err(|failure| failure.text)
    }

    #[test]
    fn a_parameter_belongs_to_the_policy_before_it_and_values_make_a_grid() {
        let words = ["--policy", "arm-wise-ts", "--param", "v=0.1,0.3", "--param", "lambda=2", "--policy", "greedy"];
        let new = |name: &str, parameters: &[(&str, f64)]| Algorithm::new(name, parameters).expect("good parameters");
        let expected = vec![
            new("arm-wise-ts", &[("v", 0.1), ("lambda", 2.0)]),
            new("arm-wise-ts", &[("v", 0.3), ("lambda", 2.0)]),
            new("greedy", &[]),
        ];
        assert_eq!(read(&words), Ok(expected));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        for (words, part) in [
            (&["--param", "v=1", "--policy", "greedy"][..], "before any --policy"),
            (&["--policy", "thompson"], "is unknown; it must be one of"),
            (&["--policy", "greedy", "--param", "v=1"], "has no v"),
            (&["--policy", "arm-wise-ts", "--param", "v=-1"], "v"),
            (&["--policy", "arm-wise-ts", "--param", "v"], "arm-wise-ts"),
        ] {
            let error = read(words).expect_err("refused");
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
