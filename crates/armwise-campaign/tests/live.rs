//! A campaign in service: the same decisions as from a table, answers that stay, rewards that count once.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error, Memory,
    config::Config,
    core::{Feedback, Key, Line, LineOutcome, Sent, Setup, fold, learn, model_hash},
    live::{
        Among, ArmsChange, DecideRequest, Decided, Features, JsonFilter, JsonRow, JsonRows, Live, LiveOptions, Offered,
        RewardsRequest,
    },
    recipe::fit,
    round::{self, Asked, ChooseOptions},
    store::sqlite::verify,
};
use arrow_array::RecordBatch;
use common::Folder;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

const SHOW: &str = "customer = \"id\"\nseed = 7\nrounds_per_segment = 256\n[[promotion]]\nname = \"show\"\n";

fn config(text: &str) -> Config {
    Config::parse(text, Path::new("rules")).unwrap()
}

/// Arms with two features that depend on their number.
fn arms(count: usize, from: usize) -> RecordBatch {
    let arm = |number: usize| {
        let x = (number * 37 % 101) as f64 / 101.0;
        format!("{{\"id\": \"a{number}\", \"features\": [{x}, {}]}}", 1.0 - x)
    };
    let text: Vec<String> = (from..from + count).map(arm).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", text.join(","))).unwrap().0
}

fn rewards(decision: &str, pairs: &[(&str, f64)], key: Option<&str>) -> RewardsRequest {
    let line = |&(id, reward): &(&str, f64)| Line { id: Some(id.to_owned()), reward: Some(reward), ..Line::default() };
    RewardsRequest {
        key: key.map(|key| Key::new(key).unwrap()),
        decision: Some(decision.to_owned()),
        lines: pairs.iter().map(line).collect(),
        feedback: Feedback::Rewards,
    }
}

#[test]
fn what_is_answered_is_in_the_file_and_is_answered_again_after_a_restart() {
    let folder = Folder::new("live");
    let path = folder.path("shop.armwise");
    let live = Live::begin(&path, config(SHOW), Features::Dim(2), LiveOptions::default()).unwrap();
    let keyed =
        |k: usize| DecideRequest { key: Some(Key::new("first").unwrap()), ..DecideRequest::k_of(arms(20, 0), k) };
    let first = live.decide(keyed(3)).unwrap();
    assert_eq!((first.arms.len(), first.arms[0].rank, &*first.arms[0].promotion), (3, 1, "show"));
    assert_eq!(live.decide(keyed(3)).unwrap(), first, "the same request again");
    assert!(matches!(live.decide(keyed(2)), Err(Error::KeyUsed { .. })), "another request with its key");
    let best = first.arms[0].id.clone();
    let told = live.rewards(rewards(&first.decision, &[(&best, 1.0), ("nobody", 1.0)], None)).unwrap();
    assert_eq!(told.counts[&LineOutcome::Applied], 1);
    assert_eq!(told.arms[1].outcome, LineOutcome::Unknown);
    let again = live.rewards(rewards(&first.decision, &[(&best, 1.0)], None)).unwrap();
    assert_eq!(again.arms[0].outcome, LineOutcome::Known);
    let other = live.rewards(rewards(&first.decision, &[(&best, 2.0)], None)).unwrap();
    assert_eq!(other.arms[0].outcome, LineOutcome::Conflict);
    live.wait_for(told.seq, Duration::from_mins(1)).unwrap();
    let second = live.decide(DecideRequest::k_of(arms(20, 0), 3)).unwrap();
    assert!(second.model >= told.seq && second.seq > told.seq);
    let closed = live.close(&first.decision, None).unwrap();
    assert_eq!(closed.done.silent, 2);
    let late = live.rewards(rewards(&first.decision, &[(&first.arms[1].id, 1.0)], None)).unwrap();
    assert_eq!(late.arms[0].outcome, LineOutcome::Late);
    live.revoke(&second.decision, None).unwrap();
    let keyed_rewards = || rewards(&second.decision, &[(&second.arms[1].id, 1.0)], Some("late"));
    let revoked = live.rewards(keyed_rewards()).unwrap();
    assert_eq!(revoked.arms[0].outcome, LineOutcome::Revoked);
    live.stop();
    assert!(matches!(live.decide(keyed(3)), Err(Error::Stopped { .. })));
    drop(live);
    let live = Live::open(&path, LiveOptions::default()).unwrap();
    assert_eq!(live.decide(keyed(3)).unwrap(), first, "after a restart");
    assert_eq!(live.rewards(keyed_rewards()).unwrap(), revoked);
    assert!(live.began_with(config(SHOW), Features::Dim(2)).unwrap());
    assert!(!live.began_with(config(SHOW), Features::Dim(3)).unwrap());
    drop(live);
    let campaign = Campaign::read(&path).unwrap();
    assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), campaign.model_hash());
    assert!(verify(&path).unwrap().findings.is_empty());
}

/// Customers with a number, a category and what the rules need, as JSON rows.
fn market(count: usize, salt: usize) -> RecordBatch {
    let row = |number: usize| {
        let (age, plan) = (18 + (number * 31 + salt) % 60, ["a", "b", "c"][(number + salt) % 3]);
        let (fee, may) = ((number % 7) as f64 / 2.0, !(number + salt).is_multiple_of(4));
        format!(
            "{{\"id\": \"c{number}\", \"age\": {age}, \"plan\": \"{plan}\", \"fee\": {fee}, \"may\": {may}, \"hour\": 9}}"
        )
    };
    let rows: Vec<String> = (0..count).map(row).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", rows.join(","))).unwrap().0
}

/// The same without the column that is the context's.
fn without_hour(batch: &RecordBatch) -> RecordBatch {
    let places: Vec<usize> = (0..batch.num_columns()).filter(|&c| batch.schema().field(c).name() != "hour").collect();
    batch.project(&places).unwrap()
}

#[test]
fn a_slate_is_the_round_that_a_table_with_the_same_rows_gives_to_the_bit() {
    let features = "[features]\n[[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\n\
                    name = \"plan\"\nkind = \"categorical\"\n[[features.column]]\nname = \"hour\"\nkind = \"numeric\"\n\
                    [[features.column]]\nname = \"hour\"\nkind = \"cross\"\nwith = \"plan\"\n";
    let top = "customer = \"id\"\nseed = 3\nrounds_per_segment = 256\n[[promotion]]\nname = \"mail\"\nquota = 5\n";
    let limits = "customer = \"id\"\nseed = 3\nrounds_per_segment = 256\nsegment = \"plan\"\nkeep = \"all\"\n[[promotion]]\nname = \"mail\"\nquota = 4\n\
                  eligible = \"may\"\n[[promotion]]\nname = \"call\"\nquota = { min = 1, max = 3 }\ncost = 2\n[limits]\n\
                  hold_out = 0.3\nbudget = 30\ncost = \"fee\"\n[[limits.group]]\ncolumn = \"plan\"\nvalue = \"a\"\nmax = 2\n";
    for (name, rules) in [("top", top), ("limits", limits)] {
        let folder = Folder::new(&format!("slate-{name}"));
        let rules = config(&format!("{rules}{features}"));
        let sample = Memory::new("sample", vec![market(200, 1)]).unwrap();
        let recipe = fit(&rules, &sample).unwrap();
        let (table_path, live_path) = (folder.path("table.armwise"), folder.path("live.armwise"));
        let setup = Setup::new(rules.clone(), recipe.clone());
        let mut by_table = Campaign::create(&table_path, setup).unwrap();
        let live = Live::begin(&live_path, rules, Features::Recipe(recipe), LiveOptions::default()).unwrap();
        for t in 1..=4 {
            let rows = market(60, t);
            let table = Memory::new("rows", vec![rows.clone()]).unwrap();
            let choice = round::choose(&by_table, &table, ChooseOptions::default(), &|_| ()).unwrap();
            let expected = choice.sent.clone();
            choice.commit(&mut by_table, None).unwrap();
            let context = serde_json::from_str::<JsonRow>("{\"hour\": 9}").unwrap().0;
            let decided = live
                .decide(DecideRequest {
                    key: None,
                    arms: Offered::Rows(without_hour(&rows)),
                    context: Some(context),
                    asked: Asked::Rules,
                    hold: false,
                })
                .unwrap();
            let t = t as u64;
            let (found, kept) = live.read(|campaign| Ok((campaign.sent(t)?, campaign.originals(t)?))).unwrap();
            // A slate of the best few has the probabilities of its arms; a table of such a campaign has none.
            assert!(found.iter().all(|sent| sent.probability.is_some() == (name == "top")), "{name}, round {t}");
            let bare: Vec<_> = found.iter().map(|sent| Sent { probability: None, ..sent.clone() }).collect();
            assert_eq!(bare, expected, "{name}, round {t}");
            assert!(!found.is_empty() && found.iter().any(|sent| sent.hold_out) == (name == "limits"));
            let by_name = |kept: Option<armwise_campaign::core::KeptColumns>| {
                let (columns, originals) = kept.unwrap();
                let values = |original: armwise_campaign::core::Original| {
                    let mut own: Vec<_> = columns.iter().cloned().zip(original.values).collect();
                    own.sort();
                    own
                };
                originals.into_iter().map(values).collect::<Vec<_>>()
            };
            assert_eq!(by_name(kept), by_name(by_table.originals(t).unwrap()), "{name}, round {t}");
            let rewarded: Vec<_> =
                expected.iter().map(|sent| (sent.id.number, f64::from(sent.id.number % 3))).collect();
            let lines: Vec<_> = rewarded.iter().map(|(number, reward)| format!("r{t}-{number},{reward}")).collect();
            let file = folder.write("rewards.csv", format!("decision,reward\n{}\n", lines.join("\n")));
            learn(&mut by_table, &common::open(&file), Feedback::Rewards, None, None).unwrap();
            assert!(fold(&mut by_table).unwrap());
            let lines = rewarded.iter().map(|(number, reward)| Line {
                decision: Some(format!("r{t}-{number}-{}", live.tag())),
                reward: Some(*reward),
                ..Line::default()
            });
            let (lines, feedback) = (lines.collect(), Feedback::Rewards);
            let told = live.rewards(RewardsRequest { key: None, decision: None, lines, feedback }).unwrap();
            assert_eq!(told.counts[&LineOutcome::Applied], expected.len() as u64, "{decided:?}");
            live.wait_for(told.seq, Duration::from_mins(1)).unwrap();
            assert_eq!(live.read(|campaign| Ok(campaign.model_hash())).unwrap(), by_table.model_hash());
        }
    }
}

/// Items with a brand, a price and a size, by number.
fn items(numbers: impl Iterator<Item = usize>) -> RecordBatch {
    let item = |number: usize| {
        let (brand, price) = (["x", "y", "z"][number % 3], (number * 17 % 50) as f64 / 4.0);
        format!("{{\"id\": \"i{number}\", \"brand\": \"{brand}\", \"price\": {price}, \"size\": {}}}", number % 5)
    };
    let rows: Vec<String> = numbers.map(item).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", rows.join(","))).unwrap().0
}

/// What is chosen from the catalogue is what the same rows in the request give, to the bit: with all rows, few of them,
/// many of them, and with a context.
#[test]
#[expect(clippy::too_many_lines, reason = "one story")]
fn the_catalogue_gives_what_its_rows_give() {
    let features = "[features]\n[[features.column]]\nname = \"price\"\nkind = \"numeric\"\n[[features.column]]\n\
                    name = \"brand\"\nkind = \"categorical\"\n";
    let context = "[[features.column]]\nname = \"hour\"\nkind = \"numeric\"\n[[features.column]]\nname = \"hour\"\n\
                   kind = \"cross\"\nwith = \"brand\"\n";
    let plain = "customer = \"id\"\nseed = 5\nrounds_per_segment = 64\n[[promotion]]\nname = \"show\"\n";
    for (name, more) in [("alone", ""), ("context", context)] {
        let folder = Folder::new(&format!("catalogue-{name}"));
        let rules = config(&format!("{plain}{features}{more}"));
        let hours: Vec<String> = (0..60)
            .map(|n| {
                format!(
                    "{{\"id\": \"s{n}\", \"brand\": \"{}\", \"price\": {}, \"hour\": {}}}",
                    ["x", "y", "z"][n % 3],
                    n % 11,
                    n % 24
                )
            })
            .collect();
        let sample = serde_json::from_str::<JsonRows>(&format!("[{}]", hours.join(","))).unwrap().0;
        let recipe = fit(&rules, &Memory::new("sample", vec![sample]).unwrap()).unwrap();
        let begin = |file: &str| {
            let path = folder.path(file);
            Live::begin(&path, rules.clone(), Features::Recipe(recipe.clone()), LiveOptions::default()).unwrap()
        };
        let (kept, given) = (begin("kept.armwise"), begin("given.armwise"));
        kept.arms(ArmsChange::Put(items(0..400)), None).unwrap();
        // Some go, some come, and one changes a column.
        kept.arms(ArmsChange::Retire(vec!["i3".to_owned(), "i4".to_owned()]), None).unwrap();
        let dearer = serde_json::from_str::<JsonRows>("[{\"id\": \"i5\", \"price\": 9}]").unwrap().0;
        kept.arms(ArmsChange::Put(dearer), None).unwrap();
        let gone = kept.arms(ArmsChange::Retire(vec!["i3".to_owned()]), None);
        assert!(matches!(gone, Err(Error::NotFound { what: "arm", .. })));
        let key = || Some(Key::new("more").unwrap());
        let more = kept.arms(ArmsChange::Put(items(400..500)), key()).unwrap();
        assert_eq!(kept.arms(ArmsChange::Put(items(400..500)), key()).unwrap().done, more.done);
        assert!(matches!(kept.arms(ArmsChange::Put(items(400..501)), key()), Err(Error::KeyUsed { .. })));
        assert_eq!(kept.load().catalogue, 498);
        let kept = {
            let path = kept.path().to_owned();
            drop(kept);
            Live::open(&path, LiveOptions::default()).unwrap()
        };
        let rows = |numbers: Vec<usize>| {
            let text = |n: &usize| {
                let (brand, mut price) = (["x", "y", "z"][n % 3], (n * 17 % 50) as f64 / 4.0);
                if *n == 5 {
                    price = 9.0;
                }
                format!("{{\"id\": \"i{n}\", \"brand\": \"{brand}\", \"price\": {price}, \"size\": {}}}", n % 5)
            };
            let rows: Vec<String> = numbers.iter().map(text).collect();
            serde_json::from_str::<JsonRows>(&format!("[{}]", rows.join(","))).unwrap().0
        };
        let all = || (0..500).filter(|n| ![3, 4].contains(n));
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        let brand = |values: &[&str]| Among { filter: [("brand".to_owned(), list(values))].into(), eligible: None };
        let few = Among {
            filter: [("size".to_owned(), list(&["2"]))].into(),
            eligible: Some(list(&["i2", "i7", "i8", "i12"])),
        };
        let mut t = 0;
        for (among, numbers) in [
            (Among::default(), all().collect()),
            (brand(&["x", "z"]), all().filter(|n| n % 3 != 1).collect()),
            (brand(&["y"]), all().filter(|n| n % 3 == 1).collect()),
            (few, vec![2, 7, 12]),
        ] {
            for k in [1, 3] {
                t += 1;
                let context = (name == "context").then(|| serde_json::from_str::<JsonRow>("{\"hour\": 17}").unwrap().0);
                let ask = |arms: Offered| DecideRequest {
                    key: None,
                    arms,
                    context: context.clone(),
                    asked: Asked::K(k),
                    hold: false,
                };
                let by_catalogue = kept.decide(ask(Offered::Catalogue(among.clone()))).unwrap();
                let by_rows = given.decide(ask(Offered::Rows(rows(numbers.clone())))).unwrap();
                assert_eq!(by_catalogue.arms, by_rows.arms, "{name} {among:?} {k}");
                let of = |live: &Live| live.read(|campaign| campaign.sent(t)).unwrap();
                assert_eq!(of(&kept), of(&given), "{name} {among:?} {k}");
                for (live, decided) in [(&kept, &by_catalogue), (&given, &by_rows)] {
                    let best = decided.arms[0].id.clone();
                    let told = live.rewards(rewards(&decided.decision, &[(&best, (t % 3) as f64)], None)).unwrap();
                    live.wait_for(told.seq, Duration::from_mins(1)).unwrap();
                }
            }
        }
        let unknown = Among { filter: BTreeMap::new(), eligible: Some(list(&["i3"])) };
        let ask = DecideRequest {
            key: None,
            arms: Offered::Catalogue(unknown),
            context: None,
            asked: Asked::K(1),
            hold: false,
        };
        assert!(matches!(kept.decide(ask), Err(Error::NotFound { .. })), "a retired arm");
        kept.arms(ArmsChange::Replace(items(0..10)), None).unwrap();
        assert_eq!(kept.load().catalogue, 10);
        let path = kept.path().to_owned();
        drop(kept);
        assert!(verify(&path).unwrap().findings.is_empty());
    }
}

#[test]
fn a_held_decision_is_learned_from_once_it_is_activated() {
    let folder = Folder::new("live-held");
    let path = folder.path("c.armwise");
    let live = Live::begin(&path, config(SHOW), Features::Dim(2), LiveOptions::default()).unwrap();
    let held = live.decide(DecideRequest { hold: true, ..DecideRequest::k_of(arms(9, 0), 2) }).unwrap();
    assert!(held.held);
    let early = live.rewards(rewards(&held.decision, &[(&held.arms[0].id, 1.0)], None)).unwrap();
    assert_eq!(early.arms[0].outcome, LineOutcome::Held);
    assert!(!live.activate(&held.decision, None).unwrap().done.already);
    assert!(live.activate(&held.decision, None).unwrap().done.already);
    let told = live.rewards(rewards(&held.decision, &[(&held.arms[0].id, 1.0)], None)).unwrap();
    assert_eq!(told.arms[0].outcome, LineOutcome::Applied);
    let shown = live.decide(DecideRequest::k_of(arms(9, 0), 2)).unwrap();
    assert!(matches!(live.activate(&shown.decision, None), Err(Error::Refused(_))));
    drop(live);
    assert!(verify(&path).unwrap().findings.is_empty());
}

/// With a clock of its own: what was chosen a window ago is closed, what was chosen since is open, and what is held or
/// was activated late stays open.
#[test]
fn windows_end_by_the_clock() {
    let folder = Folder::new("live-window");
    let path = folder.path("c.armwise");
    let rules = config(&SHOW.replace("[[promotion]]", "reward = { default = 0.5, window = \"1h\" }\n[[promotion]]"));
    let seconds = Arc::new(AtomicU64::new(1_800_000_000));
    let clock = {
        let seconds = Arc::clone(&seconds);
        Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)))
    };
    let options = || LiveOptions { clock: clock.clone(), ..LiveOptions::default() };
    let live = Live::begin(&path, rules, Features::Dim(2), options()).unwrap();
    let decide = |hold: bool| live.decide(DecideRequest { hold, ..DecideRequest::k_of(arms(9, 0), 2) }).unwrap();
    let (first, held) = (decide(false), decide(true));
    seconds.fetch_add(1800, Ordering::SeqCst);
    let later = decide(false);
    let closed = |decided: &Decided| {
        let round = live.round_of(&decided.decision).unwrap();
        live.read(|campaign| Ok(campaign.round(round)?.closed())).unwrap()
    };
    assert!(!closed(&first), "half an hour");
    seconds.fetch_add(1801, Ordering::SeqCst);
    let until = Instant::now() + Duration::from_mins(2);
    while !closed(&first) {
        assert!(Instant::now() < until, "it was not closed");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!closed(&later) && !closed(&held));
    let seq = live.seq();
    live.wait_for(seq, Duration::from_mins(1)).unwrap();
    let late = live.rewards(rewards(&first.decision, &[(&first.arms[0].id, 1.0)], None)).unwrap();
    assert_eq!(late.arms[0].outcome, LineOutcome::Late);
    drop(live);
    let campaign = Campaign::read(&path).unwrap();
    assert_eq!(campaign.model().unwrap().blocks()[0].count(), 2, "silence is worth the default reward");
    assert!(verify(&path).unwrap().findings.is_empty());
}

/// Rest is counted in rounds, so each choice must know the ones before it, however many threads ask.
#[test]
fn who_rests_is_not_chosen_again() {
    let folder = Folder::new("live-rest");
    let rules = config(&format!("{SHOW}[limits]\nrest = 3\n"));
    let live = Live::begin(&folder.path("c.armwise"), rules, Features::Dim(2), LiveOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|_| drop(live.decide(DecideRequest::k_of(arms(12, 0), 3)).unwrap())));
        }
    });
    let chosen: Vec<Vec<String>> = live
        .read(|campaign| {
            let of = |round| Ok(campaign.sent(round)?.into_iter().map(|sent| sent.customer).collect());
            (1..=40).map(of).collect()
        })
        .unwrap();
    for four in chosen.windows(4) {
        let mut all = four.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 12, "{four:?}");
    }
}

#[test]
fn rows_of_json_have_the_types_that_they_say_and_nothing_is_guessed() {
    use arrow_array::{
        Array,
        cast::AsArray,
        types::{Float64Type, Int64Type},
    };
    let rows = |text: &str| serde_json::from_str::<JsonRows>(text).map(|rows| rows.0);
    let batch = rows("[{\"id\": 1, \"x\": 1, \"v\": [1, 2.5]}, {\"v\": [3, 4], \"x\": 0.5, \"id\": 18446744073709551615}, {\"id\": \"c\"}]").unwrap();
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let ids: Vec<_> = column("id").as_string::<i32>().iter().map(Option::unwrap).collect();
    assert_eq!(ids, ["1", "18446744073709551615", "c"]);
    assert_eq!(column("x").as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [Some(1.0), Some(0.5), None]);
    assert!(column("v").is_null(2));
    let whole = rows("[{\"n\": 3}, {\"n\": null}, {}]").unwrap();
    assert_eq!(whole.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(3), None, None]);
    for bad in [
        "[{\"a\": 1, \"a\": 2}]",
        "[{\"a\": {}}]",
        "[{\"a\": [1, \"x\"]}]",
        "[{\"a\": [1]}, {\"a\": 2}]",
        "[1]",
        "{}",
        "[{\"a\": 1]",
    ] {
        assert!(rows(bad).is_err(), "{bad}");
    }
    let filter: JsonFilter = serde_json::from_str("{\"a\": \"x\", \"b\": [1, 2.5], \"c\": true}").unwrap();
    assert_eq!(filter.0["b"], ["1", "2.5"]);
    assert_eq!((filter.0["a"].len(), &*filter.0["c"][0]), (1, "true"));
}
