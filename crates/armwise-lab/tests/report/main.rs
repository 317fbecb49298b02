//! The report as a reader gets it: files that open, a page that needs nothing else, the same bytes every time.

mod sample;

use armwise_lab::report;
use armwise_lab::results::Results;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Writes a report and reads all its files.
fn written(name: &str, results: &Results) -> BTreeMap<String, Vec<u8>> {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if out.exists() {
        std::fs::remove_dir_all(&out).expect("an earlier report can be removed");
    }
    report::write(results, &out).expect("the report is written");
    let entries = std::fs::read_dir(&out).expect("the folder is there");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("the file can be read"))
    };
    entries.map(read).collect()
}

fn is_a(name: &str, kind: &str) -> bool {
    name.rsplit('.').next() == Some(kind)
}

fn page(files: &BTreeMap<String, Vec<u8>>) -> String {
    String::from_utf8(files["index.html"].clone()).expect("the page is UTF-8")
}

fn empty() -> Results {
    Results {
        clustered: None,
        promotions: None,
        two_sets: None,
        which: None,
        verdicts: Vec::new(),
        ..sample::results()
    }
}

#[test]
fn a_full_run_has_nine_figures_in_two_formats_and_a_page() {
    let files = written("full", &sample::results());
    let mut expected: Vec<String> =
        (1..=9).flat_map(|number| [format!("figure-{number}.svg"), format!("figure-{number}.png")]).collect();
    expected.push("index.html".to_owned());
    expected.sort();
    assert_eq!(files.keys().cloned().collect::<Vec<_>>(), expected);
}

#[test]
fn every_svg_is_well_formed_and_keeps_its_marks_inside() {
    for (name, bytes) in written("svg", &sample::results()).iter().filter(|(name, _)| is_a(name, "svg")) {
        let text = std::str::from_utf8(bytes).expect("SVG is UTF-8");
        let tree = roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let root = tree.root_element();
        let side = |side: &str| root.attribute(side).and_then(|text| text.parse::<f64>().ok()).expect("a size");
        let (width, height) = (side("width"), side("height"));
        for text in tree.descendants().filter(|node| node.has_tag_name("text")) {
            let place = |axis: &str| text.attribute(axis).and_then(|text| text.parse::<f64>().ok()).expect("a place");
            let size = text.attribute("font-size").and_then(|text| text.parse::<f64>().ok()).expect("a size");
            assert!(size >= 12.0, "{name}: {:?} is set in {size} px", text.text());
            assert!(
                (0.0..=width).contains(&place("x")) && (0.0..=height).contains(&place("y")),
                "{name}: {:?}",
                text.text()
            );
        }
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{name} has a place that is no number");
    }
}

#[test]
fn every_inline_svg_of_the_page_is_well_formed() {
    let page = page(&written("inline", &sample::results()));
    let mut count = 0;
    for part in page.split("<svg ").skip(1) {
        let svg = format!("<svg {}</svg>", part.split("</svg>").next().expect("an end"));
        roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {}", &svg[..200.min(svg.len())]));
        count += 1;
    }
    assert!(count >= 18, "nine figures for two widths, found {count}");
}

#[test]
fn every_png_decodes_and_shows_something() {
    for (name, bytes) in written("png", &sample::results()).iter().filter(|(name, _)| is_a(name, "png")) {
        let picture = tiny_skia::Pixmap::decode_png(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(picture.width() >= 1000, "{name} is {} pixels wide", picture.width());
        let white =
            picture.pixels().iter().filter(|pixel| pixel.red() == 255 && pixel.green() == 255 && pixel.blue() == 255);
        let share = white.count() as f64 / picture.pixels().len() as f64;
        assert!((0.05..0.99).contains(&share), "{name}: {share} of it is white");
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page(&written("alone", &sample::results()));
    for part in page.split(['<', '>']) {
        for attribute in ["src=", "href=", "url("] {
            if let Some((_, target)) = part.split_once(attribute) {
                let target = target.trim_start_matches('"');
                assert!(
                    target.starts_with('#') || target.starts_with("figure-") || target.starts_with("results.json"),
                    "{part}"
                );
            }
        }
    }
    assert!(
        !page.contains("http://")
            && !page.contains("https://")
            && !page.contains("<script")
            && !page.contains("@import")
    );
}

#[test]
fn every_algorithm_is_named_in_the_page() {
    let page = page(&written("names", &sample::results()));
    for name in armwise_lab::grid::SEVEN {
        assert!(page.contains(&format!("<code>{name}</code>")), "{name}");
    }
    for title in ["Greedy", "CombLinUCB", "CombLinTS", "C²UCB", "PC²UCB", "Round-wise TS", "Arm-wise TS", "Oracle"] {
        assert!(page.contains(title), "{title}");
    }
}

/// Also where the name is not only unknown but evil: it never comes near a page.
#[test]
fn results_of_an_unknown_algorithm_are_refused() {
    for name in ["ucb", EVIL] {
        let (mut compared, mut drawn) = (sample::results(), sample::results());
        let clustered = compared.clustered.as_mut().expect("the sample has the clustered case");
        clustered.angles[0].comparisons[0].algorithms[0].algorithm = name.to_owned();
        let promotions = drawn.promotions.as_mut().expect("the sample has promotions");
        promotions.average_reward[0].curves[0].algorithm = name.to_owned();
        for results in [compared, drawn] {
            let out = std::env::temp_dir().join(format!("armwise-unknown-{}", std::process::id()));
            let error = armwise_lab::report::write(&results, &out).expect_err("no such algorithm");
            assert!(error.to_string().starts_with(&format!("algorithm {name:?} is unknown")), "{error}");
            assert!(!out.exists(), "nothing is written");
        }
    }
}

const EVIL: &str = "<script>alert(\"x\" & 'y')</script>";

#[test]
fn labels_are_escaped_everywhere() {
    let mut results = sample::results();
    let evil = EVIL;
    results.run.machine = evil.to_owned();
    results.verdicts[0].claim = evil.to_owned();
    let promotions = results.promotions.as_mut().expect("the sample has promotions");
    promotions.data.label = evil.to_owned();
    promotions.data.features = evil.to_owned();
    promotions.sensitivity_of = evil.to_owned();
    promotions.tables[0].reading = evil.to_owned();
    promotions.average_reward[0].reading = evil.to_owned();
    let clustered = results.clustered.as_mut().expect("the sample has the clustered case");
    clustered.order = evil.to_owned();
    clustered.angles[0].label = evil.to_owned();
    clustered.touched[0].label = evil.to_owned();
    clustered.regret.lines[0].theorem = evil.to_owned();
    let two_sets = results.two_sets.as_mut().expect("the sample has two sets");
    two_sets.panels[0].label = evil.to_owned();
    two_sets.panels[0].lines[1].scope = evil.to_owned();
    two_sets.between[0].constraint = evil.to_owned();
    let which = results.which.as_mut().expect("the sample has all problems");
    which.problems[0].label = evil.to_owned();
    which.problems[0].about = evil.to_owned();
    which.problems[0].contenders[0].variant = evil.to_owned();
    which.problems[0].contenders[1].ways[1].params.insert(evil.to_owned(), evil.into());
    let files = written("evil", &results);
    let page = page(&files);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
    for (name, bytes) in files.iter().filter(|(name, _)| is_a(name, "svg")) {
        roxmltree::Document::parse(std::str::from_utf8(bytes).expect("UTF-8"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn generated_data_are_called_generated_in_each_figure_and_table_that_rests_on_them() {
    let files = written("generated", &sample::results());
    for number in [3, 4, 7] {
        let svg = String::from_utf8(files[&format!("figure-{number}.svg")].clone()).expect("UTF-8");
        assert!(svg.contains(">Data: generated"), "figure {number}");
    }
    let page = page(&files);
    let table = page.split("id=\"table-1\"").nth(1).expect("Table I is there");
    assert!(table.split("</div>").next().expect("its start").contains("generated ratings"));
}

#[test]
fn parts_that_were_not_run_are_left_out_and_the_page_says_so() {
    let only_clusters = Results { promotions: None, ..sample::results() };
    let files = written("clusters", &only_clusters);
    assert!(
        files.contains_key("figure-2.svg")
            && !files.contains_key("figure-3.svg")
            && !files.contains_key("figure-4.png")
    );
    let text = page(&files);
    assert!(text.contains("Figure 3 (Cosine similarity of feature vectors) is left out"));
    assert!(text.contains("Table I is left out") && text.contains("reproduce clustered --seed 7"));

    let only_promotions = Results { clustered: None, ..sample::results() };
    let files = written("promotions", &only_promotions);
    assert!(!files.contains_key("figure-1.svg") && files.contains_key("figure-7.svg"));

    let files = written("empty", &empty());
    assert_eq!(files.keys().collect::<Vec<_>>(), ["index.html"]);
    assert_eq!(page(&files).matches("is left out").count(), 10);
}

#[test]
fn a_later_report_leaves_nothing_of_an_earlier_one() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stale");
    let _ = std::fs::remove_dir_all(&out);
    let names = || {
        let entries = std::fs::read_dir(&out).expect("the folder is there");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let write = |results: &Results| armwise_lab::reproduce::write(results, &out).expect("the report is written");
    write(&sample::results());
    std::fs::write(out.join("notes.txt"), "mine").expect("the folder is writable");
    let has = |name: &str| names().iter().any(|known| known == name);
    assert!(has("figure-3.svg") && has("figure3.csv") && has("table1.csv") && has("ratios.csv"));
    write(&Results { promotions: None, ..sample::results() });
    for gone in
        ["figure-3.svg", "figure-3.png", "figure-4.svg", "figure3.csv", "figure4.csv", "table1.csv", "ratios.csv"]
    {
        assert!(!has(gone), "{gone}");
    }
    for there in ["notes.txt", "results.json", "figure-2.svg", "figure2.csv", "index.html"] {
        assert!(has(there), "{there}");
    }
}

#[test]
fn the_command_to_run_again_has_the_features_and_a_quoted_path() {
    let mut results = sample::results();
    let data = &mut results.promotions.as_mut().expect("the sample has promotions").data;
    data.generated = false;
    data.label = "my ratings.csv".to_owned();
    data.features = "als".to_owned();
    let page = page(&written("again", &results));
    let quote = page.contains("--ratings 'my ratings.csv' --features als --seed 7")
        || page.contains("--ratings &#39;my ratings.csv&#39; --features als --seed 7");
    assert!(quote, "{}", page.split("<pre>").nth(1).unwrap_or_default());
}

#[test]
fn claims_on_generated_data_and_our_own_readings_are_counted_apart() {
    let mut results = sample::results();
    results.verdicts[1].basis = armwise_lab::results::Basis::Generated;
    results.verdicts[2].basis = armwise_lab::results::Basis::Implied;
    let page = page(&written("headline", &results));
    let summary = page.split("class=\"summary\"").nth(1).and_then(|rest| rest.split("</p>").next()).expect("a summary");
    assert!(summary.contains("Of 1 claim of the paper, <strong>1 holds</strong>"), "{summary}");
    assert!(summary.contains("Of 1 claim tried on generated ratings"), "{summary}");
    assert_eq!(summary.matches("Of 1").count(), 2, "our own reading does not count: {summary}");
}

#[test]
fn degenerate_studies_do_not_break_the_report() {
    let mut results = sample::results();
    let clustered = results.clustered.as_mut().expect("the sample has the clustered case");
    clustered.angles.truncate(1);
    clustered.angles[0].comparisons.truncate(1);
    clustered.touched.truncate(1);
    clustered.touched[0].clusters_per_round.iter_mut().for_each(|curve| curve.points.truncate(1));
    clustered.touched[0].average_reward.iter_mut().for_each(|curve| curve.points.truncate(1));
    clustered.regret.t.truncate(1);
    clustered.regret.lines[0].measured[0].mean = 0.0;
    clustered.estimated.panels[0].estimate[0] = f64::NAN;
    clustered.sensitivity[0].reward.truncate(2);
    let promotions = results.promotions.as_mut().expect("the sample has promotions");
    promotions.tables[0].rows.iter_mut().for_each(|row| row.published.clear());
    promotions.average_reward.truncate(1);
    promotions.cosines.share.iter_mut().for_each(|share| *share = 0.0);
    for (name, bytes) in written("degenerate", &results).iter().filter(|(name, _)| is_a(name, "svg")) {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        assert!(!text.contains("NaN"), "{name}");
    }
}

#[test]
fn the_same_results_give_the_same_bytes() {
    assert!(written("first", &sample::results()) == written("second", &sample::results()));
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("a-file");
    std::fs::write(&file, "x").expect("a file can be written");
    let error = report::write(&empty(), &file.join("report")).expect_err("a file is no folder");
    assert!(error.to_string().contains("a-file"), "{error}");
}
