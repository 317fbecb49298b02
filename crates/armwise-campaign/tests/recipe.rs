//! What columns become: logarithms, bins and crosses against a second computation, their effects against differences
//! between customers, numbers that would hide the others, and what a table's columns are taken for.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Error, Memory, Source, complete,
    config::{Config, template},
    core::why,
    recipe::{Fitted, Recipe, fit_and_look},
};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use common::{Folder, begin, below, choose_round, customers, noise, open};
use std::{fmt::Write, path::Path, sync::Arc};

const PROMOTION: &str = "customer = \"customer\"\n[[promotion]]\nname = \"p\"\nquota = 10\n";

fn parsed(columns: &[&str]) -> Result<Config, Error> {
    let columns: Vec<String> = columns.iter().map(|column| format!("[[features.column]]\n{column}\n")).collect();
    Config::parse(&format!("{PROMOTION}{}", columns.concat()), Path::new("campaign.toml"))
}

fn rules(columns: &[&str]) -> Config {
    parsed(columns).unwrap()
}

fn features(recipe: &Recipe, folder: &Folder, text: &str) -> Vec<Vec<f64>> {
    let path = folder.write("rows.csv", text);
    let rows = open(&path).batches(None).unwrap().next().unwrap().unwrap();
    let (x, _) = recipe.apply(&rows).unwrap();
    x.chunks(recipe.dim()).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
}

const FORMS: [&str; 6] = [
    // A cross may stand before its columns.
    "name = \"region\"\nkind = \"cross\"\nwith = \"age\"",
    "name = \"age\"\nkind = \"numeric\"",
    "name = \"income\"\nkind = \"log\"",
    "name = \"region\"\nkind = \"categorical\"",
    "name = \"income\"\nkind = \"bins\"\nedges = [2000, 9000]",
    "name = \"visits\"\nkind = \"bins\"\nbins = 3",
];

/// Age, income, region and visits of a customer of the made-up table.
fn own(i: u64) -> (f64, f64, &'static str, f64) {
    let region = ["north", "south", "east"][below(3, i, 3)];
    (18.0 + (noise(1, i) * 70.0).floor(), (noise(2, i) * 1e6).floor() / 64.0, region, (noise(5, i) * 9.0).floor())
}

fn table(count: u64) -> String {
    (0..count).fold(String::from("customer,age,income,region,visits\n"), |mut text, i| {
        let (age, income, region, visits) = own(i);
        let _ = writeln!(text, "C{i:04},{age},{income},{region},{visits}");
        text
    })
}

#[test]
fn logarithms_bins_and_crosses_are_what_a_second_computation_gives() {
    let folder = Folder::new("forms");
    let path = folder.write("customers.csv", table(400));
    let (recipe, _) = fit_and_look(&rules(&FORMS), &open(&path)).unwrap();
    let all: Vec<_> = (0..400).map(own).collect();
    let (mean, sd) = mean_and_sd(&all.iter().map(|own| own.0).collect::<Vec<_>>());
    let (log_mean, log_sd) = mean_and_sd(&all.iter().map(|own| (1.0 + own.1).ln()).collect::<Vec<_>>());
    let mut visits: Vec<f64> = all.iter().map(|own| own.3).collect();
    visits.sort_by(f64::total_cmp);
    let edges = [visits[400 / 3], visits[800 / 3]];
    let expected: Vec<Vec<f64>> = all
        .iter()
        .map(|&(age, income, region, visits)| {
            let z = (age - mean) / sd;
            // Alphabetically, as levels are.
            let levels = ["east", "north", "south"].map(|level| f64::from(u8::from(level == region)));
            let income_bin = [income < 2000.0, (2000.0..9000.0).contains(&income), income >= 9000.0];
            let visits_bin = [visits < edges[0], (edges[0]..edges[1]).contains(&visits), visits >= edges[1]];
            let mut x = vec![1.0];
            x.extend(levels.map(|level| level * z));
            x.extend([z, ((1.0 + income).ln() - log_mean) / log_sd]);
            x.extend(levels);
            x.extend(income_bin.iter().chain(&visits_bin).map(|&is| f64::from(u8::from(is))));
            x
        })
        .collect();
    let longest = expected.iter().map(|x| x.iter().map(|x| x * x).sum::<f64>()).fold(0.0, f64::max).sqrt();
    let found = features(&recipe, &folder, &table(400));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(x, e)| (x - e / longest).abs() < 1e-6), "{found:?} {expected:?}");
    }
    let labels = recipe.labels();
    assert_eq!(labels[1..5], ["region = east x age", "region = north x age", "region = south x age", "age"]);
    assert_eq!(labels[5], "log of income");
    assert_eq!(labels[9..12], ["income below 2000", "income 2000 to 9000", "income 9000 or more"]);
    assert!(labels[12].starts_with("visits below ") && labels.len() == recipe.dim());
    // The recipe is part of the campaign's first entry, so it must read back as it is.
    let text = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
}

/// An effect says what changes between two customers, and that of a cross what both changes together do beyond each:
/// its contrast must be the difference of their features.
#[test]
fn effects_are_differences_between_customers() {
    let folder = Folder::new("effects");
    let path = folder.write("customers.csv", table(400));
    let (recipe, _) = fit_and_look(&rules(&FORMS), &open(&path)).unwrap();
    let Fitted::Numeric { mean, sd, .. } = recipe.columns[1] else { panic!("{recipe:?}") };
    let x = |age: f64, income: f64, region: &str, visits: f64| {
        features(&recipe, &folder, &format!("customer,age,income,region,visits\na,{age},{income},{region},{visits}\n"))
            .remove(0)
    };
    let effect = |column: &str, change: &str| {
        let found = recipe.effects().into_iter().find(|e| e.column == column && e.change.starts_with(change));
        found.unwrap_or_else(|| panic!("{column} {change}: {:?}", recipe.effects())).contrast
    };
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-6);
    let minus = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
    let Fitted::Categorical { ref levels, common, .. } = recipe.columns[3] else { panic!("{recipe:?}") };
    let (common, other) = (levels[common].clone(), levels[usize::from(common == 0)].clone());
    let (young, old) = (mean, mean + sd);
    let doubled = minus(x(young, 8001.0, &common, 4.0), &x(young, 4000.0, &common, 4.0));
    assert!(close(&effect("income", "1 + income doubled"), &doubled), "{doubled:?}");
    let binned = recipe.effects().into_iter().filter(|e| e.column == "income" && e.change.contains("instead of"));
    assert_eq!(binned.count(), 2, "three bins, compared with the most common");
    // At the mean of age the cross is zero, so moving there changes the region alone.
    let region = minus(x(young, 4000.0, &other, 4.0), &x(young, 4000.0, &common, 4.0));
    assert!(close(&effect("region", &format!("{other} instead of {common}")), &region), "{region:?}");
    let together = minus(
        minus(x(old, 4000.0, &other, 4.0), &x(young, 4000.0, &other, 4.0)),
        &minus(x(old, 4000.0, &common, 4.0), &x(young, 4000.0, &common, 4.0)),
    );
    let change = format!("region {other} instead of {common} and age +1 sd");
    assert!(close(&effect("region x age", &change), &together), "{together:?}");
    assert!(effect("region x age", &change).iter().any(|c| *c != 0.0));
}

#[test]
fn forms_that_make_no_sense_are_refused_with_the_reason() {
    let age = "name = \"age\"\nkind = \"numeric\"";
    for (columns, problem) in [
        (&["name = \"a\"\nkind = \"cross\""][..], "needs its other column"),
        (&[age, "name = \"age\"\nkind = \"cross\"\nwith = \"plan\""], "\"plan\" is listed 0 times"),
        (&[age, "name = \"age\"\nkind = \"cross\"\nwith = \"age\""], "with itself"),
        (&[age, age], "listed twice"),
        (&["name = \"a\"\nkind = \"bins\"\nedges = [3, 3]"], "each larger than the one before"),
        (&["name = \"a\"\nkind = \"bins\"\nedges = [1, nan]"], "each larger than the one before"),
        (&["name = \"a\"\nkind = \"bins\"\nedges = []"], "1 to 1000 numbers"),
        (&["name = \"a\"\nkind = \"bins\"\nbins = 1"], "from 2 to 1000"),
        (&["name = \"a\"\nkind = \"bins\"\nbins = 3\nedges = [1]"], "not both"),
        (&["name = \"a\"\nkind = \"numeric\"\nbins = 3"], "works for bins columns only"),
        (&["name = \"a\"\nkind = \"categorical\"\nclip = false"], "works for numeric and log columns only"),
        (&["name = \"a\"\nkind = \"bins\"\nmissing = \"mean\""], "works for numeric and log columns only"),
        (&["name = \"a\"\nkind = \"numeric\"\nwith = \"b\""], "works for cross columns only"),
    ] {
        let said = parsed(columns).unwrap_err().to_string();
        assert!(said.contains(problem), "{said}");
    }
}

/// One history of 50,000 among some hundreds used to make every other difference 1/28 of what it is without it.
#[test]
fn one_wrong_value_does_not_hide_the_others() {
    let folder = Folder::new("outlier");
    let made = |wrong: Option<f64>| {
        let mut text = String::from("customer,history,visits,flat\n");
        for i in 0..5000_u64 {
            // A long tail, as money has: nothing unusual.
            let history = (30.0 + 200.0 * -(1.0 - noise(1, i)).ln()).min(3300.0);
            let history = if i == 1233 { wrong.unwrap_or(history) } else { history };
            let _ = writeln!(text, "c{i},{history},{},{}", i % 5, if i == 77 { 9000 } else { 0 });
        }
        folder.write("customers.csv", text)
    };
    let columns = ["history", "visits", "flat"].map(|name| format!("name = \"{name}\"\nkind = \"numeric\""));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let spread = |wrong: Option<f64>, clip: bool| {
        let mut config = rules(&columns);
        config.features.column.iter_mut().for_each(|column| column.clip = clip);
        let (recipe, extremes) = fit_and_look(&config, &open(&made(wrong))).unwrap();
        let x = features(&recipe, &folder, "customer,history,visits,flat\na,100,2,0\nb,600,3,0\n");
        (x[1][1] - x[0][1], x[1][2] - x[0][2], extremes)
    };
    let (history, visits, warned) = spread(None, true);
    assert!(warned.is_empty(), "{warned:?}");
    let (with_wrong, visits_too, warned) = spread(Some(50_000.0), true);
    assert!(with_wrong > 0.8 * history && visits_too > 0.8 * visits, "{with_wrong} of {history}");
    assert_eq!((warned.len(), warned[0].column.as_str(), warned[0].row, warned[0].count), (1, "history", 1234, 1));
    assert!((warned[0].value - 50_000.0).abs() < 1e-9 && warned[0].clipped_to.unwrap() < 8000.0, "{warned:?}");
    // What it was before, and still is for whoever asks for it.
    let (hidden, _, _) = spread(Some(50_000.0), false);
    assert!(hidden < 0.1 * history, "{hidden} of {history}");
    // The same value in a later table is clipped and counted.
    let (recipe, _) = fit_and_look(&rules(&columns), &open(&made(None))).unwrap();
    let path = folder.write("later.csv", "customer,history,visits,flat\na,50000,2,0\nb,600,3,0\n");
    let rows = open(&path).batches(None).unwrap().next().unwrap().unwrap();
    let (_, odd) = recipe.apply(&rows).unwrap();
    assert_eq!((odd.clipped["history"], odd.clipped.len()), (1, 1));
}

/// Columns in single precision are not copied but standardised on the fly; they are clipped to the same bits.
#[test]
fn single_precision_and_text_are_clipped_alike() {
    let folder = Folder::new("clip-singles");
    let number = |i: u64| if i < 300 && i % 97 == 5 { 5000.0 - 200.0 * i as f32 } else { (i % 64) as f32 / 4.0 };
    let mut text = String::from("customer,n\n");
    (0..3000).for_each(|i| writeln!(text, "c{i},{}", number(i)).unwrap());
    let path = folder.write("customers.csv", text);
    let (recipe, warned) = fit_and_look(&rules(&["name = \"n\"\nkind = \"numeric\""]), &open(&path)).unwrap();
    assert_eq!(warned.len(), 1);
    let names: ArrayRef = Arc::new((0..3000).map(|i| Some(format!("c{i}"))).collect::<StringArray>());
    let numbers: ArrayRef = Arc::new((0..3000).map(|i| Some(number(i))).collect::<Float32Array>());
    let batch = RecordBatch::try_from_iter([("customer", names), ("n", numbers)]).unwrap();
    let memory = Memory::new("memory", vec![batch]).unwrap();
    let apply = |source: &dyn Source| {
        let rows = source.batches(None).unwrap().next().unwrap().unwrap();
        let (x, odd) = recipe.apply(&rows).unwrap();
        (x.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), odd)
    };
    let (single, text) = (apply(&memory), apply(&open(&path)));
    assert_eq!(single, text);
    assert_eq!(single.1.clipped["n"], 4);
}

#[test]
fn why_shows_the_customers_own_values() {
    let folder = Folder::new("own");
    let table = folder.write("customers.csv", customers(200));
    let columns = "[[promotion]]\nname = \"p\"\nquota = 10\n[[features.column]]\nname = \"age\"\nkind = \"numeric\"\n\
        [[features.column]]\nname = \"income\"\nkind = \"log\"\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n\
        [[features.column]]\nname = \"region\"\nkind = \"cross\"\nwith = \"age\"\n";
    let mut campaign = begin(&folder, &table, columns).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let text = customers(200);
    for sent in campaign.sent(1).unwrap() {
        let told = why(&campaign, &sent.customer, None, None).unwrap();
        let line: Vec<&str> = text.lines().find(|l| l.starts_with(&sent.customer)).unwrap().split(',').collect();
        let own = |feature: &str| {
            let all = &told.promotions[0].contributions;
            let part = all.iter().find(|part| part.feature == feature);
            part.unwrap_or_else(|| panic!("{feature}: {all:?}")).own.clone()
        };
        assert_eq!(own("age").unwrap(), line[1]);
        let income: f64 = own("log of income").unwrap().parse().unwrap();
        let expected: f64 = line[2].parse().unwrap();
        assert!((income - expected).abs() <= 2e-5 * expected.max(1.0), "{income} {expected}");
        assert_eq!(own(&format!("region = {}", line[3])), None, "the name says it");
        assert_eq!(own(&format!("region = {} x age", line[3])).unwrap(), line[1]);
    }
}

#[test]
fn columns_are_taken_for_what_they_are_and_outcomes_are_asked_about() {
    let folder = Folder::new("guess");
    let mut text = String::from(
        "customer,visits,mens,zip_code,plz,visit,conversion,spend,days_since_purchase,lastVisit,newbie,history\n",
    );
    for i in 0..300_u64 {
        let (flag, money) = (i % 2, noise(1, i) * 100.0);
        let _ = writeln!(
            text,
            "c{i},{},{flag},{},0{},{flag},{flag},{money},{},{},{},{money}",
            i % 7,
            10_000 + i,
            1000 + i % 9,
            i % 30,
            i % 40,
            if i % 3 == 0 { "" } else { "1" }
        );
    }
    let table = folder.write("customers.csv", text);
    let mut config = rules(&[]);
    let guess = complete(&mut config, &open(&table)).unwrap();
    let taken: Vec<(&str, &str)> =
        config.features.column.iter().map(|column| (column.name.as_str(), column.kind.name())).collect();
    let expected = [
        ("visits", "numeric"),
        ("mens", "categorical"),
        ("zip_code", "categorical"),
        ("plz", "categorical"),
        ("days_since_purchase", "numeric"),
        ("lastVisit", "numeric"),
        ("newbie", "numeric"),
        ("history", "numeric"),
    ];
    assert_eq!(taken, expected);
    let asked: Vec<&str> = guess.asked.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(asked, ["visit", "conversion", "spend"]);
    assert!(guess.left_out.iter().all(|(_, reason)| reason.contains("looks like an outcome")), "{:?}", guess.left_out);
    // The draft asks, and taking the marks away answers yes.
    let draft = template(&config, &guess);
    assert!(draft.contains("# Is \"spend\" known before a send?"), "{draft}");
    assert_eq!(Config::parse(&draft, Path::new("campaign.toml")).unwrap().features, config.features);
    let question = draft.find("# Is \"spend\"").unwrap();
    let (before, after) = draft.split_at(question);
    let answered =
        before.to_owned() + &after.lines().skip(1).take(4).map(|l| l.replacen("# ", "", 1) + "\n").collect::<String>();
    let answered = Config::parse(&answered, Path::new("campaign.toml")).unwrap();
    assert_eq!(answered.features.column.last().unwrap(), &guess.asked[2]);
}
