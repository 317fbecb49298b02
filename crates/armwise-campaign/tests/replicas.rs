//! Several servers over one database: one journal, the same answers from each, nothing lost and nothing twice.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Feedback, Journal, Key, Line, LineOutcome, Setup, Verified, fold, model_hash},
    live::{Among, ArmsChange, DecideRequest, Features, JsonRows, Live, LiveOptions, Offered, RewardsRequest},
    recipe::Recipe,
    round::Asked,
    store::{
        copy,
        postgres::{Address, Postgres},
    },
};
use arrow_array::RecordBatch;
use common::Folder;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

const SHOW: &str = "customer = \"id\"\nseed = 7\nrounds_per_segment = 16\n[[promotion]]\nname = \"show\"\n";

fn config(text: &str) -> Config {
    Config::parse(text, Path::new("rules")).unwrap()
}

fn arms(count: usize) -> RecordBatch {
    let arm = |number: usize| {
        let x = (number * 37 % 101) as f64 / 101.0;
        format!("{{\"id\": \"a{number}\", \"features\": [{x}, {}]}}", 1.0 - x)
    };
    let text: Vec<String> = (0..count).map(arm).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", text.join(","))).unwrap().0
}

fn keyed(key: &str, k: usize) -> DecideRequest {
    DecideRequest { key: Some(Key::new(key).unwrap()), ..DecideRequest::k_of(arms(20), k) }
}

fn reward(decision: &str, id: &str, reward: f64, key: Option<&str>) -> RewardsRequest {
    RewardsRequest {
        key: key.map(|key| Key::new(key).unwrap()),
        decision: Some(decision.to_owned()),
        lines: vec![Line { id: Some(id.to_owned()), reward: Some(reward), ..Line::default() }],
        feedback: Feedback::Rewards,
    }
}

/// Other rules than it has.
fn banner(live: &Live) -> Config {
    let mut config = live.setup().config;
    "banner".clone_into(&mut config.promotion[0].name);
    config
}

const LONG: Duration = Duration::from_secs(20);

/// Two servers of a new campaign.
fn two(place: &Path) -> (Live, Live) {
    let one = Live::begin(place, config(SHOW), Features::Dim(2), LiveOptions::default()).unwrap();
    (one, Live::open(place, LiveOptions::default()).unwrap())
}

fn verified(place: &Path) -> Campaign {
    let verified = Verified::of(Campaign::read(place)).unwrap();
    assert!(verified.good, "{verified:?}");
    let campaign = Campaign::read(place).unwrap();
    assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), campaign.model_hash());
    campaign
}

#[test]
fn a_server_answers_for_what_another_one_wrote() {
    let Some(place) = common::postgres::place("two") else { return };
    let (one, two) = two(&place);
    let first = one.decide(keyed("first", 3)).unwrap();
    assert_eq!(two.decide(keyed("first", 3)).unwrap(), first, "the same bytes, whoever is asked");
    assert!(matches!(two.decide(keyed("first", 2)), Err(Error::KeyUsed { .. })));
    let best = first.arms[0].id.clone();
    let told = two.rewards(reward(&first.decision, &best, 1.0, Some("r"))).unwrap();
    assert_eq!(told.arms[0].outcome, LineOutcome::Applied);
    assert_eq!(one.rewards(reward(&first.decision, &best, 1.0, Some("r"))).unwrap(), told);
    let again = one.rewards(reward(&first.decision, &best, 1.0, None)).unwrap();
    assert_eq!(again.arms[0].outcome, LineOutcome::Known, "counted once, whoever counted it");
    // Whoever has seen an entry sees it everywhere.
    one.wait_for(told.seq, LONG).unwrap();
    let later = one.decide(DecideRequest::k_of(arms(20), 3)).unwrap();
    assert!(later.model >= told.seq, "{later:?}");
    two.wait_for(later.seq, LONG).unwrap();
    assert_eq!(two.close(&first.decision, None).unwrap().done.silent, 2);
    let late = one.rewards(reward(&first.decision, &first.arms[1].id, 1.0, None)).unwrap();
    assert_eq!(late.arms[0].outcome, LineOutcome::Late);
    one.stop();
    two.stop();
    verified(&place);
}

#[test]
fn rules_and_arms_that_one_server_changed_are_in_force_at_the_other() {
    let Some(place) = common::postgres::place("rules") else { return };
    let (one, two) = two(&place);
    let put = one.arms(ArmsChange::Put(arms(5)), None).unwrap();
    two.wait_for(put.seq, LONG).unwrap();
    let from_catalogue =
        || DecideRequest { arms: Offered::Catalogue(Among::default()), ..DecideRequest::k_of(arms(1), 2) };
    assert_eq!(two.decide(from_catalogue()).unwrap().arms.len(), 2);
    let amended = one.amend(banner(&one), None).unwrap();
    two.wait_for(amended.seq, LONG).unwrap();
    assert_eq!(two.decide(from_catalogue()).unwrap().arms[0].promotion, "banner");
    let retired = two.arms(ArmsChange::Retire(vec!["a0".to_owned()]), None).unwrap();
    one.wait_for(retired.seq, LONG).unwrap();
    assert_eq!(one.load().catalogue, 4);
    one.stop();
    two.stop();
    verified(&place);
}

#[test]
fn what_six_threads_told_three_servers_at_once_is_there_once() {
    let Some(place) = common::postgres::place("many") else { return };
    let (one, two) = two(&place);
    let three = Live::open(&place, LiveOptions::default()).unwrap();
    let lives = [one, two, three];
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..6_usize {
            let (lives, acknowledged) = (&lives, Arc::clone(&acknowledged));
            scope.spawn(move || {
                for step in 0..12_usize {
                    let live = &lives[(thread + step) % 3];
                    let key = format!("d{thread}-{step}");
                    let decided = live.decide(keyed(&key, 2)).unwrap();
                    // Asked again elsewhere, perhaps before that server has heard of it.
                    assert_eq!(lives[(thread + step + 1) % 3].decide(keyed(&key, 2)).unwrap(), decided);
                    let id = decided.arms[step % 2].id.clone();
                    // Told twice at once, to two servers, without a key: it counts once.
                    let tell = |live: &Live| live.rewards(reward(&decided.decision, &id, 1.0, None)).unwrap();
                    let told = std::thread::scope(|scope| {
                        let other = scope.spawn(|| tell(&lives[(thread + step + 2) % 3]));
                        [tell(live), other.join().unwrap()]
                    });
                    let applied = told.iter().filter(|told| told.arms[0].outcome == LineOutcome::Applied);
                    assert_eq!(applied.count(), 1, "{told:?}");
                    acknowledged.lock().unwrap().push(decided);
                }
            });
        }
    });
    for live in &lives {
        live.stop();
    }
    let campaign = verified(&place);
    let rounds: BTreeSet<u64> = campaign.rounds().keys().copied().collect();
    assert_eq!(campaign.count_rounds(), 72);
    let mut seqs = BTreeSet::new();
    for decided in acknowledged.lock().unwrap().iter() {
        assert!(seqs.insert(decided.seq), "two decisions with one entry");
        let round = lives[0].round_of(&decided.decision).unwrap();
        assert!(rounds.contains(&round) || campaign.round(round).is_ok(), "{decided:?} is lost");
    }
    assert_eq!(campaign.entries().unwrap().len() as u64, campaign.head().seq, "no gap");
}

#[test]
fn a_campaign_goes_to_the_database_and_back_with_its_chain_and_its_model() {
    let Some(place) = common::postgres::place("copy") else { return };
    let folder = Folder::new("copy");
    let file = folder.path("shop.armwise");
    let live = Live::begin(&file, config(SHOW), Features::Dim(2), LiveOptions::default()).unwrap();
    live.arms(ArmsChange::Put(arms(9)), None).unwrap();
    for step in 0..300 {
        let decided = live.decide(keyed(&format!("d{step}"), 2)).unwrap();
        live.rewards(reward(&decided.decision, &decided.arms[0].id, f64::from(step % 3), None)).unwrap();
    }
    live.stop();
    drop(live);
    let before = verified(&file);
    assert!(before.entries().unwrap().iter().any(|entry| entry.kind.name() == "checkpoint"));
    let there = copy(&file, &place).unwrap();
    assert_eq!((there.head, there.model), (before.head(), before.model_hash()));
    assert!(matches!(copy(&file, &place), Err(Error::Exists { .. })));
    // It goes on there, and comes back with what was added.
    let live = Live::open(&place, LiveOptions::default()).unwrap();
    let added = live.decide(keyed("there", 2)).unwrap();
    assert!(added.seq > there.head.seq);
    live.stop();
    let back = folder.path("back.armwise");
    let home = copy(&place, &back).unwrap();
    let (there, here) = (verified(&place), verified(&back));
    assert_eq!((there.head(), there.model_hash()), (here.head(), here.model_hash()));
    assert_eq!(home.head, here.head());
    assert_eq!(there.entries().unwrap(), here.entries().unwrap());
    assert!(matches!(copy(&place, &back), Err(Error::Exists { .. })));
}

/// Asks the database itself.
fn sql(address: &Address, text: &str) {
    let database = address.path().to_str().unwrap().split('#').next().unwrap().to_owned();
    let done = std::process::Command::new("psql").args([&database, "-qc", text]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// What a restored older copy looks like: the last entries are gone.
fn take_back(address: &Address, last: u64) {
    let own = format!("(SELECT id FROM armwise.campaign WHERE name = '{}')", address.campaign());
    sql(
        address,
        &format!(
            "BEGIN; ALTER TABLE armwise.entry DISABLE TRIGGER entry_stays; \
             DELETE FROM armwise.decision WHERE false; \
             DELETE FROM armwise.entry WHERE campaign = {own} AND seq > {last}; \
             UPDATE armwise.campaign SET seq = {last}, head = (SELECT hash FROM armwise.entry WHERE campaign = {own} \
             AND seq = {last}) WHERE id = {own}; ALTER TABLE armwise.entry ENABLE TRIGGER entry_stays; COMMIT"
        ),
    );
}

#[test]
fn a_server_refuses_a_database_that_is_older_than_what_it_has_seen() {
    let Some(address) = common::postgres::address("back") else { return };
    let (place, folder) = (address.path(), Folder::new("seen"));
    let options = LiveOptions { seen: Some(folder.path("seen")), ..LiveOptions::default() };
    let live = Live::begin(&place, config(SHOW), Features::Dim(2), options.clone()).unwrap();
    let entries: Vec<u64> = (0..4).map(|_| live.decide(DecideRequest::k_of(arms(9), 1)).unwrap().seq).collect();
    // Rewards of held entries have no rows, so that the journal can be cut by hand.
    take_back(&address, entries[3]);
    live.decide(DecideRequest::k_of(arms(9), 1)).unwrap();
    let last = live.seq();
    take_back(&address, last - 1);
    let refused = live.decide(keyed("after", 1));
    assert!(matches!(refused, Err(Error::WentBack { seen, .. }) if seen == last), "{refused:?}");
    assert!(matches!(live.read(|campaign| Ok(campaign.head())), Err(Error::WentBack { .. })));
    live.stop();
    drop(live);
    // After a restart it remembers.
    let refused = Live::open(&place, options.clone());
    assert!(matches!(refused, Err(Error::WentBack { seen, .. }) if seen == last), "{refused:?}");
    // Another server, which has seen nothing, goes on; the one that comes back finds another history at its place.
    let other = Live::open(&place, LiveOptions::default()).unwrap();
    let forked = other.amend(banner(&other), None).unwrap();
    assert_eq!(forked.seq, last);
    assert!(matches!(Live::open(&place, options), Err(Error::WentBack { .. })));
    other.stop();
}

#[test]
fn what_is_done_by_the_clock_is_done_by_one_and_not_by_one_that_was_paused() {
    let Some(address) = common::postgres::address("duty") else { return };
    drop(Campaign::create(&address.path(), Setup::new(config(SHOW), Recipe::of_dim(2))).unwrap());
    let mut one = Postgres::write(&address).unwrap();
    assert!(one.duty(true).unwrap(), "nobody had it");
    assert!(one.duty(true).unwrap(), "its own is taken again");
    // Another replica takes it when it has run out; here by hand, as every handle of this process is one replica.
    let own = format!("(SELECT id FROM armwise.campaign WHERE name = '{}')", address.campaign());
    sql(&address, &format!("UPDATE armwise.lease SET holder = 'another', epoch = epoch + 1 WHERE campaign = {own}"));
    let mut campaign = Campaign::open(Box::new(one)).unwrap();
    let head = campaign.head();
    let refused = armwise_campaign::core::amend(&mut campaign, config(&SHOW.replace("\"show\"", "\"banner\"")), None);
    assert!(matches!(&refused, Err(Error::Locked { holder, .. }) if holder.contains("another")), "{refused:?}");
    assert_eq!(Campaign::read(&address.path()).unwrap().head(), head);
    let mut two = Postgres::write(&address).unwrap();
    assert!(!two.duty(true).unwrap(), "it is another's");
    sql(&address, &format!("UPDATE armwise.lease SET until = now() - interval '1 second' WHERE campaign = {own}"));
    assert!(two.duty(true).unwrap(), "it has run out");
    // Ordinary commands need no lease.
    let mut campaign = Campaign::write(&address.path(), "test").unwrap();
    assert!(!fold(&mut campaign).unwrap());
}

/// A statement that failed leaves its transaction of no use; what is asked in it after that was answered as a damaged store.
#[test]
fn after_a_statement_that_failed_in_a_turn_everything_may_be_tried_again() {
    let Some(address) = common::postgres::address("aborted") else { return };
    drop(Campaign::create(&address.path(), Setup::new(config(SHOW), Recipe::of_dim(2))).unwrap());
    let mut journal = Postgres::write(&address).unwrap();
    assert!(journal.begin_turn(0).unwrap().is_some());
    assert!(journal.keyed("\0").is_err(), "no text of PostgreSQL has a NUL");
    let refused = journal.keyed("a");
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    journal.end_turn().unwrap();
    assert_eq!(journal.keyed("a").unwrap(), None);
    assert!(journal.begin_turn(0).unwrap().is_some());
    journal.end_turn().unwrap();
}

#[test]
fn numbers_of_rounds_are_given_once() {
    let Some(address) = common::postgres::address("numbers") else { return };
    drop(Campaign::create(&address.path(), Setup::new(config(SHOW), Recipe::of_dim(2))).unwrap());
    let (mut one, mut two) = (Postgres::write(&address).unwrap(), Postgres::write(&address).unwrap());
    assert_eq!((one.numbers(1, 3).unwrap(), two.numbers(1, 2).unwrap()), (1..4, 4..6));
    assert_eq!(one.numbers(100, 1).unwrap(), 100..101, "what the journal has is left behind");
    assert_eq!(two.numbers(6, 1).unwrap(), 101..102);
}

/// A database of its own for a test of the tables themselves.
fn database() -> Option<Address> {
    let url = common::postgres::url()?;
    let micros = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
    let name = format!("tables_{}_{micros}", std::process::id());
    sql(&Address::parse(&format!("{url}#x")).unwrap(), &format!("CREATE DATABASE {name}"));
    let (before, _) = url.rsplit_once('/').unwrap();
    Some(Address::parse(&format!("{before}/{name}#spring")).unwrap())
}

/// What psql prints.
fn asked(address: &Address, text: &str) -> String {
    let database = address.path().to_str().unwrap().split('#').next().unwrap().to_owned();
    let done = std::process::Command::new("psql").args([&database, "-Atqc", text]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A program that does not know the column would take the answer for another one, so it is refused from then on and not
/// before.
#[test]
fn the_first_answer_that_says_how_probable_a_look_was_has_older_programs_refused() {
    let schema = "SELECT version || ' ' || oldest FROM armwise.schema";
    let tell = |live: &Live, decision: &str, id: &str, examined: Option<f64>| {
        let mut told = reward(decision, id, 1.0, None);
        told.lines[0].examined = examined;
        let done = live.rewards(told).unwrap();
        (done.arms[0].outcome, done.seq)
    };
    for how in 0..3 {
        let Some(address) = database() else { return };
        let place = address.path();
        let (one, two) = two(&place);
        let first = one.decide(DecideRequest::k_of(arms(20), 3)).unwrap();
        let ids: Vec<&str> = first.arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(tell(&one, &first.decision, ids[0], None).0, LineOutcome::Applied);
        assert_eq!(tell(&one, &first.decision, ids[1], Some(1.0)).0, LineOutcome::Applied);
        assert_eq!(asked(&address, schema), "3 1", "what older programs know");
        let (outcome, seq) = match how {
            0 => tell(&one, &first.decision, ids[2], Some(0.5)),
            1 => tell(&one, &first.decision, ids[2], Some(1.5)),
            _ => {
                let mut config = one.setup().config;
                config.tables.examined_column = Some("seen".to_owned());
                (LineOutcome::Applied, one.amend(config, None).unwrap().seq)
            }
        };
        assert_eq!(outcome, if how == 1 { LineOutcome::Invalid } else { LineOutcome::Applied });
        assert_eq!(asked(&address, schema), "3 3", "{how}");
        two.wait_for(seq, LONG).unwrap();
        if how == 0 {
            assert_eq!(tell(&two, &first.decision, ids[2], Some(0.5)).0, LineOutcome::Known, "whoever is asked");
            assert_eq!(tell(&two, &first.decision, ids[2], Some(0.25)).0, LineOutcome::Conflict);
        }
        one.stop();
        two.stop();
        let campaign = verified(&place);
        let folder = Folder::new("examined-copy");
        let file = folder.path("c.armwise");
        copy(&place, &file).unwrap();
        let again = verified(&file);
        assert_eq!((again.head(), again.model_hash()), (campaign.head(), campaign.model_hash()));
    }
}

#[test]
fn tables_are_made_brought_up_and_refused_by_their_version() {
    let Some(address) = database() else { return };
    let place: PathBuf = address.path();
    assert!(matches!(Campaign::read(&place), Err(Error::NoCampaign { .. })), "nothing is made by a reader");
    let live = Live::begin(&place, config(SHOW), Features::Dim(2), LiveOptions::default()).unwrap();
    let first = live.decide(DecideRequest::k_of(arms(9), 1)).unwrap();
    // The next version, beside which this program may go on: it has a table and a column more.
    sql(
        &address,
        "ALTER TABLE armwise.entry ADD COLUMN more text; CREATE TABLE armwise.more (x int); \
         UPDATE armwise.schema SET version = version + 1",
    );
    let second = live.decide(DecideRequest::k_of(arms(9), 1)).unwrap();
    assert!(second.seq > first.seq);
    let other = Live::open(&place, LiveOptions::default()).unwrap();
    assert!(other.decide(DecideRequest::k_of(arms(9), 1)).unwrap().seq > second.seq);
    other.stop();
    verified(&place);
    // One that this program may not use: those that run stop writing, and none begins.
    sql(&address, "UPDATE armwise.schema SET version = version + 1, oldest = version + 1");
    let refused = live.decide(DecideRequest { asked: Asked::K(1), ..DecideRequest::k_of(arms(9), 1) });
    assert!(matches!(refused, Err(Error::NewerSchema { .. })), "{refused:?}");
    assert!(matches!(Live::open(&place, LiveOptions::default()), Err(Error::NewerSchema { .. })));
    assert!(matches!(Campaign::read(&place), Err(Error::NewerSchema { .. })));
    live.stop();
    // Tables of version 1 are brought up, by whoever writes first; a reader changes nothing.
    sql(
        &address,
        "DROP TABLE armwise.numbers, armwise.lease, armwise.token; ALTER TABLE armwise.outcome DROP COLUMN examined; \
         UPDATE armwise.schema SET version = 1, oldest = 1",
    );
    assert!(matches!(Campaign::read(&place), Err(Error::OldSchema { version: 1, .. })));
    let live = Live::open(&place, LiveOptions::default()).unwrap();
    live.decide(DecideRequest::k_of(arms(9), 1)).unwrap();
    live.stop();
    verified(&place);
}
