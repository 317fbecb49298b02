//! Any bytes as the body of a request: read, or refused with a fault, and what can be decided is decided.

#![no_main]

use armwise_campaign::{
    config::Config,
    live::{Features, Journalling, Live, LiveOptions},
};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// A campaign of three features, which nothing is written to.
static SERVED: LazyLock<Live> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("armwise-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let rules = r#"{"customer": "id", "rounds_per_segment": 256, "promotion": [{"name": "show"}]}"#;
    let config: Config = serde_json::from_str(rules).expect("rules");
    let options = LiveOptions { journal: Journalling::OffForBenchmarks, ..LiveOptions::default() };
    Live::begin(&folder.join("c.armwise"), config, Features::Dim(3), options).expect("a campaign")
});

fuzz_target!(|data: &[u8]| {
    let Some((first, body)) = data.split_first() else { return };
    let media = ["application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"];
    let _ = armwise_server::read_any(&SERVED, media[*first as usize % media.len()], body);
});
