//! Any bytes as the body of a request are read, or refused with a fault that is the caller's: a short form of the fuzz
//! target `body`, from the same seeds, for every run of the tests. `ARMWISE_BODIES` sets how many are tried.

use armwise_campaign::live::{Features, Journalling, Live, LiveOptions};
use std::path::Path;

const MEDIA: [&str; 4] =
    ["application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"];
/// What bodies are made of, beside what is in them.
const PIECES: [&str; 16] = [
    "null",
    "-0",
    "1e999",
    "\"\"",
    "[]",
    "{}",
    "[[",
    "\\u0000",
    "\u{fffd}",
    "9223372036854775808",
    "\"id\"",
    ",",
    "NaN",
    "\"features\":[1,2,3]",
    "\"k\":0",
    "\n",
];

/// Numbers that depend on nothing but where one begins.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count.max(1) as u64) as usize
    }
}

/// A body with a few changes: bytes other than they were, pieces put in, runs taken out or said twice.
fn changed(body: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut body = body.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(body.len() + 1);
        let end = (at + dice.below(24)).min(body.len());
        match dice.below(5) {
            0 if at < body.len() => body[at] ^= 1 << dice.below(8),
            1 => drop(body.drain(at..end)),
            2 => body.splice(at..at, PIECES[dice.below(PIECES.len())].bytes()).for_each(drop),
            3 => {
                let run = body[at..end].to_vec();
                body.splice(at..at, run).for_each(drop);
            }
            _ => body.truncate(at.max(1)),
        }
    }
    body
}

#[test]
fn any_bytes_as_a_body_are_read_or_refused() {
    let tries: usize = std::env::var("ARMWISE_BODIES").map_or(4_000, |tries| tries.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let rules = r#"{"customer": "id", "rounds_per_segment": 256, "promotion": [{"name": "show"}]}"#;
    let options = LiveOptions { journal: Journalling::OffForBenchmarks, ..LiveOptions::default() };
    let live =
        Live::begin(&folder.path().join("c.armwise"), serde_json::from_str(rules).unwrap(), Features::Dim(3), options)
            .unwrap();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/body");
    let mut seeds: Vec<_> = std::fs::read_dir(seeds).unwrap().map(|file| file.unwrap().path()).collect();
    seeds.sort();
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let (mut dice, mut read, mut refused) = (Dice(0x5eed), 0, 0);
    for number in 0..tries {
        // The first byte of a seed says what its media type is; the first of all come as they are.
        let (first, body) = seeds[number % seeds.len()].split_first().unwrap();
        let body = if number < seeds.len() { body.to_vec() } else { changed(body, &mut dice) };
        let other = number >= seeds.len() && dice.below(8) == 0;
        let media = if other { MEDIA[dice.below(MEDIA.len())] } else { MEDIA[usize::from(*first) % MEDIA.len()] };
        match armwise_server::read_any(&live, media, &body) {
            Ok(()) => read += 1,
            Err(fault) => {
                let status = fault.status().as_u16();
                assert!(
                    (400..500).contains(&status),
                    "{status} {fault}: {media}, {:?}",
                    String::from_utf8_lossy(&body)
                );
                refused += 1;
            }
        }
    }
    assert!(read > 0 && refused > tries / 10, "{read} read, {refused} refused");
}
