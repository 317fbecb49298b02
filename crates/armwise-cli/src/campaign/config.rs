//! `armwise config`: what the keys of campaign.toml say, from the same table as their page.

use armwise_campaign::config::{SECTIONS, explain, overview};
use clap::Args;
use serde_json::json;

use super::{Failure, print};

/// Arguments of `config`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A key, as limits.rest or rest, or a section, as limits; all keys unless given.
    #[arg(long, value_name = "KEY")]
    explain: Option<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    match &arguments.explain {
        Some(key) => {
            let text = explain(key)?;
            print(arguments.json, &json!({"key": key, "text": text}), || text.clone());
        }
        None => print(arguments.json, &json!({"sections": SECTIONS}), overview),
    }
    Ok(0)
}
