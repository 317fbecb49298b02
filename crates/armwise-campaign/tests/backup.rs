//! Copies of a campaign in use, and files with two names.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    core::Feedback,
    store::sqlite::{backup, verify},
};
use common::{Folder, TWO, begin, choose_round, customers, learn_text};
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

/// A plain copy of a live file misses what is still beside it.
#[test]
fn a_backup_beside_a_busy_writer_is_the_campaign_as_of_one_entry() {
    let folder = Folder::new("backup");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let (path, done) = (campaign.path().to_owned(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for reward in 0.. {
                let feedback = if reward == 0 { Feedback::Rewards } else { Feedback::Corrections };
                learn_text(&mut campaign, &folder, feedback, &format!("decision,reward\nr1-1,{reward}\n")).unwrap();
                if done.load(Ordering::Relaxed) && reward > 30 {
                    return campaign.entries().unwrap();
                }
            }
            unreachable!("it ends with the copies")
        });
        let mut copies = Vec::new();
        for number in 0..12 {
            let copy = folder.path(&format!("copy{number}.armwise"));
            let made = backup(&path, &copy).unwrap();
            let checked = verify(&copy).unwrap();
            assert!(checked.good && checked.head == Some(made.head.hash), "copy {number}: {:?}", checked.findings);
            copies.push(copy);
        }
        done.store(true, Ordering::Relaxed);
        let entries = writing.join().unwrap();
        for copy in &copies {
            let copied = Campaign::read(copy).unwrap().entries().unwrap();
            assert_eq!(copied, entries[..copied.len()], "a beginning of the same journal");
        }
        assert!(copies.len() == 12 && entries.len() > 30);
    });
    // A copy goes on as a campaign of its own.
    let copy = folder.path("copy11.armwise");
    let mut campaign = Campaign::write(&copy, "test").unwrap();
    choose_round(&mut campaign, &table).unwrap();
    assert!(campaign.verify().unwrap().good);
}

#[test]
fn a_backup_overwrites_nothing_and_a_failed_one_leaves_nothing() {
    let folder = Folder::new("no-backup");
    let table = folder.write("customers.csv", customers(60));
    let path = begin(&folder, &table, TWO).unwrap().path().to_owned();
    let bytes = fs::read(&path).unwrap();
    let exists = |to: &std::path::Path| matches!(backup(&path, to), Err(Error::Exists { .. }));
    assert!(exists(&path) && exists(&table) && exists(&folder.0), "itself, a table, a folder");
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path("link.armwise")).unwrap();
    assert!(exists(&folder.path("link.armwise")), "a link that leads nowhere");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let nowhere = backup(&folder.path("none.armwise"), &folder.path("copy.armwise"));
    assert!(matches!(nowhere, Err(Error::NoCampaign { .. })));
    assert!(backup(&table, &folder.path("copy.armwise")).is_err(), "not a campaign");
    let missing = backup(&path, &folder.path("no/such/copy.armwise"));
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    assert!(!folder.path("copy.armwise").exists());
    backup(&path, &folder.path("copy.armwise")).unwrap();
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    let odd = |name: &&std::ffi::OsString| {
        let name = name.to_string_lossy();
        name.contains("unfinished") || name.contains(".part") || name.starts_with("copy.armwise-")
    };
    assert_eq!(left.iter().find(odd), None);
}

/// Two names of one file: 13 of 26 acknowledged learns were lost.
#[test]
fn a_file_with_two_names_is_read_but_not_written_to() {
    let folder = Folder::new("links");
    let table = folder.write("customers.csv", customers(60));
    let path = begin(&folder, &table, TWO).unwrap().path().to_owned();
    let other = folder.path("other.armwise");
    fs::hard_link(&path, &other).unwrap();
    for name in [&path, &other] {
        let refused = Campaign::write(name, "test");
        assert!(matches!(refused, Err(Error::Linked { links: 2, .. })), "{refused:?}");
        assert!(Campaign::read(name).unwrap().verify().unwrap().good);
    }
    fs::remove_file(&other).unwrap();
    let mut campaign = Campaign::write(&path, "test").unwrap();
    choose_round(&mut campaign, &table).unwrap();
}
