//! What every store must do, tried on each: the journal's contract.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

#[cfg(feature = "postgres")]
use armwise_campaign::store::postgres::Postgres;
use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{
        Answer, DecisionId, Entry, Feedback, Head, Heard, Journal, Kept, Kind, Named, Outcome, Record, Responses, Rows,
        Sent, Setup, Sha, Verified, Wanted,
    },
    recipe::fit,
    store::{memory::Memory, sqlite::Sqlite},
};
use common::{Folder, TWO, choose_round, customers, learn_text, open as table_of};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Runs a check on an empty journal of every store.
fn each(check: impl Fn(&mut dyn Journal)) {
    let folder = Folder::new("journal");
    check(&mut Memory::default());
    check(&mut Sqlite::create(&folder.path("j.armwise"), "test").unwrap());
    #[cfg(feature = "postgres")]
    if let Some(address) = common::postgres::address("journal") {
        check(&mut Postgres::create(&address).unwrap());
    }
}

fn entry(before: &Head, kind: Kind, round: Option<u64>, key: Option<&str>) -> Entry {
    let seq = before.seq + 1;
    let responses = Responses {
        table: "t.csv".to_owned(),
        digest: Sha::of(seq.to_string()),
        rounds: vec![1],
        read: 1,
        repeated: 0,
        rejected: 0,
        aside: Vec::new(),
    };
    let mut entry = Entry {
        seq,
        at: "2026-03-02T09:15:00Z".to_owned(),
        kind,
        round,
        key: key.map(str::to_owned),
        body: serde_json::to_string(&responses).unwrap(),
        changes: "{}".to_owned(),
        rows: 0,
        digest: Sha::of("rows"),
        model: Sha::of("model"),
        hash: Sha::of(""),
    };
    entry.hash = entry.chained(before);
    entry
}

fn record(entry: &Entry) -> Record {
    Record::new(entry.clone())
}

/// Appends entries without rows.
fn append(journal: &mut dyn Journal, against: &Head, entries: &[Entry]) -> Result<Vec<Entry>, Error> {
    journal.append(against, &[], &mut || Ok(entries.iter().map(record).collect()), &mut |_| Ok(()))
}

fn sent(round: u64, number: u32, customer: &str) -> Sent {
    Sent {
        id: DecisionId { round, number },
        customer: customer.to_owned(),
        promotion: "mail".to_owned(),
        hold_out: number == 3,
        segment: (number == 2).then(|| "north".to_owned()),
        mean: 0.1,
        width: 1.0 / 3.0,
        draw: (number == 1).then_some(-0.5),
        score: 2e-300,
        rank: number,
        greedy: (number != 2).then_some(number == 1),
        probability: (number == 2).then_some(0.1 + 0.2),
        features: vec![1.0, f64::from(0.1_f32)].into(),
    }
}

fn outcome(round: u64, number: u32, reward: Option<f64>) -> Outcome {
    // The second ones may not have been looked at.
    let answer = |reward| Answer { reward, examined: (number == 2).then_some(0.1 + 0.2) };
    Outcome { decision: DecisionId { round, number }, answer: reward.map(answer) }
}

#[test]
fn what_goes_in_comes_out_in_its_order() {
    each(|journal| {
        assert!(journal.entries(0).unwrap().is_empty() && journal.kept().unwrap().is_none());
        let first = entry(&Head::none(), Kind::Init, None, None);
        let choose = entry(&first.head(), Kind::Choose, Some(1), Some("a"));
        let learn = entry(&choose.head(), Kind::Learn, None, Some("b"));
        let correct = entry(&learn.head(), Kind::Correct, None, None);
        append(journal, &Head::none(), std::slice::from_ref(&first)).unwrap();
        assert_eq!(journal.head().unwrap(), first.head());
        let decisions = [sent(1, 1, "ann"), sent(1, 2, "bob"), sent(1, 3, "ann"), sent(2, 1, "ann")];
        let later = [outcome(1, 2, Some(0.5)), outcome(1, 1, None), outcome(2, 1, Some(1.0))];
        let last = [outcome(1, 2, Some(1.0 / 3.0))];
        // Several entries in one append: all of them, or none.
        let rows = [
            Rows { seq: 2, decisions: &decisions, outcomes: &[], originals: &[], arms: None },
            Rows { seq: 3, decisions: &[], outcomes: &later, originals: &[], arms: None },
            Rows { seq: 4, decisions: &[], outcomes: &last, originals: &[], arms: None },
        ];
        let kept = |seq| Kept { seq, state: vec![1, seq as u8], model: vec![2] };
        let mut seal = || {
            Ok(vec![
                record(&choose),
                Record { sums: vec![(1, vec![7]), (2, vec![8])], kept: Some(kept(3)), ..record(&learn) },
                Record { sums: vec![(1, vec![9])], kept: Some(kept(4)), ..record(&correct) },
            ])
        };
        // What is checked before the commit is what everybody reads after it.
        let mut seen = 0;
        let mut check = |journal: &dyn Journal| {
            assert_eq!(journal.entries(1).unwrap(), [choose.clone(), learn.clone(), correct.clone()]);
            assert_eq!(
                (journal.decisions(1).unwrap(), journal.outcomes(3).unwrap()),
                (decisions[..3].to_vec(), later.to_vec())
            );
            assert_eq!((journal.sums(1).unwrap(), journal.kept().unwrap()), (Some(vec![9]), Some(kept(4))));
            seen += 1;
            Ok(())
        };
        let appended = journal.append(&first.head(), &rows, &mut seal, &mut check);
        assert_eq!(seen, 1, "checked once");
        assert_eq!(appended.unwrap(), [choose.clone(), learn.clone(), correct.clone()]);
        assert_eq!(journal.entries(0).unwrap(), [first.clone(), choose.clone(), learn.clone(), correct.clone()]);
        assert_eq!(journal.entries(2).unwrap(), [learn.clone(), correct.clone()]);
        assert_eq!(journal.head().unwrap(), correct.head());
        // What is new, with as many of its rows as the store reads along: all that belong to an entry, or none.
        let news = journal.news(1).unwrap();
        assert_eq!(news.entries, [choose.clone(), learn.clone(), correct.clone()]);
        assert!(news.decisions.iter().all(|(seq, own)| *seq == 2 && *own == decisions), "{news:?}");
        assert!(news.outcomes.iter().all(|(seq, own)| *own == journal.outcomes(*seq).unwrap()), "{news:?}");
        assert!(journal.news(4).unwrap().entries.is_empty());
        assert_eq!((journal.entry(2).unwrap(), journal.entry(5).unwrap()), (Some(choose.clone()), None));
        assert_eq!(journal.decisions(1).unwrap(), decisions[..3]);
        assert!(journal.decisions(3).unwrap().is_empty());
        assert_eq!(journal.outcomes(3).unwrap(), later);
        let heard = |seq, kind, outcome| Heard { seq, kind, outcome };
        let expected =
            [heard(3, Kind::Learn, later[0]), heard(3, Kind::Learn, later[1]), heard(4, Kind::Correct, last[0])];
        assert_eq!(journal.heard(1).unwrap(), expected);
        assert_eq!(
            journal.heard(1).unwrap()[2]
                .outcome
                .answer
                .map(|answer| (answer.reward.to_bits(), answer.examined.unwrap().to_bits())),
            Some(((1.0_f64 / 3.0).to_bits(), (0.1_f64 + 0.2).to_bits())),
            "every bit"
        );
        let named = |number: usize| {
            let Sent { id, customer, promotion, .. } = decisions[number].clone();
            Named { id, customer, promotion }
        };
        assert_eq!(journal.decisions_of("ann").unwrap(), [named(0), named(2), named(3)]);
        let mut of = Vec::new();
        let mut stop = |seq: u64, sent: Sent| {
            of.push((seq, sent.id.number));
            if of.len() < 2 { Ok(()) } else { Err(Error::Usage("enough".to_owned())) }
        };
        assert!(matches!(journal.each_decision(1, &mut stop), Err(Error::Usage(_))));
        assert_eq!(of, [(2, 1), (2, 2)], "with their entry, one after the other, until they are not wanted");
        assert_eq!((journal.sums(1).unwrap(), journal.sums(2).unwrap()), (Some(vec![9]), Some(vec![8])));
        assert_eq!((journal.sums(3).unwrap(), journal.kept().unwrap()), (None, Some(kept(4))));
        assert_eq!((journal.keyed("b").unwrap(), journal.keyed("c").unwrap()), (Some(learn), None));
        assert_eq!(journal.count().unwrap(), (4, 4));
        assert!(journal.problems().unwrap().is_empty());
    });
}

#[test]
fn an_append_against_another_head_is_refused_and_changes_nothing() {
    each(|journal| {
        let first = entry(&Head::none(), Kind::Init, None, None);
        append(journal, &Head::none(), std::slice::from_ref(&first)).unwrap();
        let (one, other) =
            (entry(&first.head(), Kind::Learn, None, None), entry(&first.head(), Kind::Close, Some(1), None));
        append(journal, &first.head(), std::slice::from_ref(&one)).unwrap();
        // Made by a second writer at the same time.
        let outcomes = [outcome(1, 1, Some(1.0))];
        let rows = [Rows { seq: 2, decisions: &[], outcomes: &outcomes, originals: &[], arms: None }];
        let refused = journal.append(&first.head(), &rows, &mut || Ok(vec![record(&other)]), &mut |_| Ok(()));
        assert!(matches!(refused, Err(Error::HeadMoved { expected: 1, found: 2, .. })), "{refused:?}");
        // The same number, but another history.
        let elsewhere = Head { seq: 2, hash: Sha::of("another") };
        let refused = append(journal, &elsewhere, &[entry(&elsewhere, Kind::Learn, None, None)]);
        assert!(matches!(refused, Err(Error::HeadMoved { expected: 2, found: 2, .. })), "{refused:?}");
        assert_eq!((journal.entries(0).unwrap().len(), journal.count().unwrap()), (2, (0, 0)));
        append(journal, &one.head(), &[entry(&one.head(), Kind::Close, Some(1), None)]).unwrap();
    });
}

#[test]
fn a_key_is_used_once() {
    each(|journal| {
        let first = entry(&Head::none(), Kind::Init, None, Some("request 1"));
        append(journal, &Head::none(), std::slice::from_ref(&first)).unwrap();
        let again = entry(&first.head(), Kind::Learn, None, Some("request 1"));
        let refused = append(journal, &first.head(), &[again]);
        assert!(matches!(&refused, Err(Error::KeyUsed { key, .. }) if key == "request 1"), "{refused:?}");
        // Twice in one append: neither.
        let one = entry(&first.head(), Kind::Learn, None, Some("request 2"));
        let two = entry(&one.head(), Kind::Learn, None, Some("request 2"));
        let refused = append(journal, &first.head(), &[one.clone(), two]);
        assert!(matches!(&refused, Err(Error::KeyUsed { .. })), "{refused:?}");
        assert_eq!(journal.entries(0).unwrap().len(), 1);
        // Entries without a key are not alike.
        let (two, three) = (entry(&first.head(), Kind::Learn, None, None), entry(&one.head(), Kind::Learn, None, None));
        assert_ne!(two.head(), one.head(), "a key is part of what is hashed");
        append(journal, &first.head(), std::slice::from_ref(&one)).unwrap();
        let four = entry(&three.head(), Kind::Learn, None, None);
        append(journal, &one.head(), &[three, four]).unwrap();
    });
}

#[test]
fn what_cannot_be_sealed_leaves_no_trace() {
    each(|journal| {
        let first = entry(&Head::none(), Kind::Init, None, None);
        append(journal, &Head::none(), std::slice::from_ref(&first)).unwrap();
        let decisions = [sent(1, 1, "ann")];
        let rows = [Rows { seq: 2, decisions: &decisions, outcomes: &[], originals: &[], arms: None }];
        let choose = entry(&first.head(), Kind::Choose, Some(1), None);
        let not_ready = || Err(Error::Usage("not ready".to_owned()));
        let refused = journal.append(&first.head(), &rows, &mut || not_ready(), &mut |_| Ok(()));
        assert!(matches!(refused, Err(Error::Usage(_))));
        assert_eq!((journal.entries(0).unwrap().len(), journal.count().unwrap()), (1, (0, 0)));
        let mut seal = || Ok(vec![Record { sums: vec![(1, vec![7])], ..record(&choose) }]);
        let refused =
            journal.append(&first.head(), &rows, &mut seal, &mut |_| Err(Error::Usage("not good".to_owned())));
        assert!(matches!(refused, Err(Error::Usage(_))));
        assert_eq!((journal.entries(0).unwrap().len(), journal.count().unwrap()), (1, (0, 0)));
        assert_eq!((journal.sums(1).unwrap(), journal.keyed("k").unwrap()), (None, None));
        journal.append(&first.head(), &rows, &mut seal, &mut |_| Ok(())).unwrap();
        assert_eq!(journal.decisions(1).unwrap(), decisions);
    });
}

/// Runs a check on every store; what it is given opens the same journal again and again, each time on a handle of its
/// own.
fn each_opened(check: impl Fn(&dyn Fn() -> Result<Box<dyn Journal>, Error>)) {
    let folder = Folder::new("opened");
    let memory = Memory::default();
    check(&|| Ok(Box::new(memory.clone())));
    let path = folder.path("j.armwise");
    drop(Sqlite::create(&path, "test").unwrap());
    check(&|| Ok(Box::new(Sqlite::open(&path, Some("test"))?)));
    #[cfg(feature = "postgres")]
    if let Some(address) = common::postgres::address("opened") {
        check(&|| Ok(Box::new(Postgres::open(&address)?)));
    }
}

#[test]
fn a_journal_that_is_opened_again_is_the_same_and_goes_on() {
    let folder = Folder::new("again");
    let table = folder.write("customers.csv", customers(60));
    let config = Config::parse(&format!("customer = \"customer\"\n{TWO}"), Path::new("rules")).unwrap();
    let recipe = fit(&config, &table_of(&table)).unwrap();
    each_opened(|open| {
        let mut campaign = Campaign::begin(open().unwrap(), Setup::new(config.clone(), recipe.clone())).unwrap();
        for round in 1..=3 {
            choose_round(&mut campaign, &table).unwrap();
            // So many entries that a checkpoint is among them.
            for reward in 0..25 {
                let feedback = if reward == 0 { Feedback::Rewards } else { Feedback::Corrections };
                learn_text(&mut campaign, &folder, feedback, &format!("decision,reward\nr{round}-1,{reward}\n"))
                    .unwrap();
            }
            let (head, model, setup) = (campaign.head(), campaign.model().unwrap(), campaign.setup().clone());
            drop(campaign);
            campaign = Campaign::open(open().unwrap()).unwrap();
            assert_eq!((campaign.head(), campaign.model().unwrap()), (head, model));
            assert_eq!(campaign.setup(), &setup);
        }
        drop(campaign);
        let verified = Verified::of(Campaign::open(open().unwrap())).unwrap();
        assert!(verified.good && verified.entries > 75, "{verified:?}");
    });
}

/// A store may let one writer in at a time, or refuse the second one's append; it never takes both.
#[test]
fn of_two_handles_one_is_refused() {
    each_opened(|open| {
        let mut one = open().unwrap();
        let first = entry(&Head::none(), Kind::Init, None, None);
        append(&mut *one, &Head::none(), std::slice::from_ref(&first)).unwrap();
        let mut other = match open() {
            Ok(other) => other,
            Err(Error::Locked { .. }) => {
                drop(one);
                let other = open().unwrap();
                one = Box::new(Memory::default());
                other
            }
            Err(error) => panic!("{error}"),
        };
        // Made by the second handle before it saw what the first one appended.
        let stale = entry(&Head::none(), Kind::Init, None, Some("stale"));
        let refused = append(&mut *other, &Head::none(), &[stale]);
        assert!(matches!(refused, Err(Error::HeadMoved { expected: 0, found: 1, .. })), "{refused:?}");
        let next = entry(&first.head(), Kind::Learn, None, None);
        append(&mut *other, &first.head(), std::slice::from_ref(&next)).unwrap();
        drop((one, other));
        let journal = open().unwrap();
        assert_eq!(journal.entries(0).unwrap(), [first, next]);
        assert_eq!(journal.keyed("stale").unwrap(), None);
    });
}

/// What is read in one step is what is read step by step; a store for which steps cost nothing gives nothing.
#[test]
fn what_is_read_ahead_is_what_is_read_alone() {
    each(|journal| {
        let first = entry(&Head::none(), Kind::Init, None, None);
        let choose = entry(&first.head(), Kind::Choose, Some(1), Some("a"));
        let again = entry(&choose.head(), Kind::Choose, Some(2), None);
        let learn = entry(&again.head(), Kind::Learn, None, Some("b"));
        let (one, two) = ([sent(1, 1, "ann"), sent(1, 2, "bob")], [sent(2, 1, "ann")]);
        let told = [outcome(2, 1, Some(1.0 / 3.0)), outcome(1, 2, None)];
        let rows = [
            Rows { seq: 2, decisions: &one, ..Rows::default() },
            Rows { seq: 3, decisions: &two, ..Rows::default() },
            Rows { seq: 4, outcomes: &told, ..Rows::default() },
        ];
        let mut seal = || Ok([&first, &choose, &again, &learn].map(record).to_vec());
        journal.append(&Head::none(), &rows, &mut seal, &mut |_| Ok(())).unwrap();
        let wanted = |rounds: &[u64], keys: &[&str]| Wanted {
            rounds: rounds.to_vec(),
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
        };
        // Rounds and keys that nobody has are asked for like the others.
        let Some(ahead) = journal.ahead(&wanted(&[1, 2, 9], &["a", "b", "none"])).unwrap() else {
            assert!(!journal.is_shared(), "a store that others write to is far away");
            return;
        };
        for round in [1, 2, 9] {
            let mut alone = Vec::new();
            let mut take = |seq: u64, sent: Sent| {
                alone.push((seq, sent));
                Ok(())
            };
            journal.each_decision(round, &mut take).unwrap();
            assert_eq!(ahead.decisions.get(&round).cloned().unwrap_or_default(), alone);
            assert_eq!(ahead.heard.get(&round).cloned().unwrap_or_default(), journal.heard(round).unwrap());
        }
        let mut keyed = ahead.keyed;
        keyed.sort_unstable_by_key(|entry| entry.seq);
        assert_eq!(keyed, [choose, learn]);
        for few in [wanted(&[], &["a"]), wanted(&[2], &[]), wanted(&[], &[])] {
            let ahead = journal.ahead(&few).unwrap().unwrap();
            assert_eq!((ahead.decisions.len(), ahead.keyed.len()), (few.rounds.len(), few.keys.len()));
        }
    });
}

#[test]
fn a_turn_shows_the_last_entry_and_ends_with_the_append_or_without_one() {
    each_opened(|open| {
        let mut journal = open().unwrap();
        // Nobody to wait for before there is a campaign.
        assert!(journal.begin_turn(0).unwrap().is_none());
        let first = entry(&Head::none(), Kind::Init, None, None);
        let second = entry(&first.head(), Kind::Learn, None, Some("a"));
        append(&mut *journal, &Head::none(), &[first.clone(), second.clone()]).unwrap();
        if let Some((head, news)) = journal.begin_turn(1).unwrap() {
            assert_eq!((head, news.entries), (second.head(), vec![second.clone()]));
        } else {
            assert!(!journal.is_shared());
        }
        // Questions may be asked in a turn, and it may be begun anew.
        assert_eq!(journal.keyed("a").unwrap(), Some(second.clone()));
        assert!(journal.begin_turn(2).unwrap().is_none_or(|(_, news)| news.entries.is_empty()));
        let third = entry(&second.head(), Kind::Learn, None, None);
        append(&mut *journal, &second.head(), std::slice::from_ref(&third)).unwrap();
        // It ended with the append; to end it once more changes nothing.
        journal.end_turn().unwrap();
        journal.end_turn().unwrap();
        journal.begin_turn(3).unwrap();
        // In a turn, too, an append against another head is refused, and lets the others in.
        let refused = append(&mut *journal, &second.head(), std::slice::from_ref(&third));
        assert!(matches!(refused, Err(Error::HeadMoved { expected: 2, found: 3, .. })), "{refused:?}");
        journal.begin_turn(3).unwrap();
        journal.end_turn().unwrap();
        let shared = journal.is_shared();
        let mut other = if shared { open().unwrap() } else { journal };
        let fourth = entry(&third.head(), Kind::Learn, None, None);
        append(&mut *other, &third.head(), std::slice::from_ref(&fourth)).unwrap();
        assert_eq!(other.head().unwrap(), fourth.head());
    });
}

/// Whoever has the turn appends first, however long the other one has been ready.
#[test]
fn others_wait_for_the_end_of_a_turn() {
    each_opened(|open| {
        let mut one = open().unwrap();
        if !one.is_shared() {
            return;
        }
        let first = entry(&Head::none(), Kind::Init, None, None);
        append(&mut *one, &Head::none(), std::slice::from_ref(&first)).unwrap();
        let mut other = open().unwrap();
        one.begin_turn(1).unwrap();
        let (mine, theirs) =
            (entry(&first.head(), Kind::Learn, None, Some("a")), entry(&first.head(), Kind::Learn, None, Some("b")));
        let refused = std::thread::scope(|scope| {
            let other = scope.spawn(|| append(&mut *other, &first.head(), std::slice::from_ref(&theirs)));
            append(&mut *one, &first.head(), std::slice::from_ref(&mine)).unwrap();
            other.join().unwrap()
        });
        assert!(matches!(refused, Err(Error::HeadMoved { expected: 1, found: 2, .. })), "{refused:?}");
        assert_eq!(one.entries(0).unwrap(), [first, mine]);
    });
}

#[test]
fn an_append_that_is_cut_short_leaves_no_trace() {
    each_opened(|open| {
        let mut journal = open().unwrap();
        let first = entry(&Head::none(), Kind::Init, None, None);
        append(&mut *journal, &Head::none(), std::slice::from_ref(&first)).unwrap();
        let choose = entry(&first.head(), Kind::Choose, Some(1), Some("k"));
        let decisions = [sent(1, 1, "ann")];
        let rows = [Rows { seq: 2, decisions: &decisions, outcomes: &[], originals: &[], arms: None }];
        for in_check in [false, true] {
            let cut = catch_unwind(AssertUnwindSafe(|| {
                let mut seal = || {
                    assert!(in_check, "cut short while sealing");
                    Ok(vec![record(&choose)])
                };
                journal.append(&first.head(), &rows, &mut seal, &mut |_| panic!("cut short before the commit"))
            }));
            assert!(cut.is_err());
            // The handle is as good as before, and so is another one.
            assert_eq!((journal.entries(0).unwrap().len(), journal.count().unwrap()), (1, (0, 0)));
            drop(journal);
            journal = open().unwrap();
            assert_eq!((journal.entries(0).unwrap().len(), journal.count().unwrap()), (1, (0, 0)));
            assert_eq!(journal.keyed("k").unwrap(), None);
        }
        journal.append(&first.head(), &rows, &mut || Ok(vec![record(&choose)]), &mut |_| Ok(())).unwrap();
        drop(journal);
        assert_eq!(open().unwrap().decisions(1).unwrap(), decisions);
    });
}

/// The core and everything else speak to a journal, never to a database.
#[test]
fn only_the_stores_speak_sql() {
    fn look(folder: &std::path::Path, found: &mut Vec<String>) {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                look(&path, found);
            } else if ["rusqlite", "tokio_postgres"]
                .iter()
                .any(|crate_| std::fs::read_to_string(&path).unwrap().contains(crate_))
            {
                found.push(path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    look(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    let stores = ["sqlite", "postgres"];
    assert!(found.iter().all(|folder| stores.contains(&folder.as_str())), "{found:?}");
    assert!(stores.iter().all(|store| found.iter().any(|folder| folder == store)), "{found:?}");
}
