//! Names that try to be more than names: markup, quotes, control characters, text that turns its direction, letters of
//! four bytes. Wherever the kit takes plain text they come out as the text they are.

use armwise_charts::{
    Bar, BarChart, Cell, ErrorMark, Heat, Ink, LinePanel, Look, Marker, NARROW, Part, Point, Scale, Scene, Series,
    Stack, StackChart, Table, WIDE, grid, inline, page, rounds_axis, standalone,
};

/// Each name and what a reader sees of it.
const NAMES: [(&str, &str); 8] = [
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ("\" onload=\"alert(1)", "\" onload=\"alert(1)"),
    ("' onload='alert(1)", "' onload='alert(1)"),
    ("</title></text></svg><b>&amp;&#x3c;]]>", "</title></text></svg><b>&amp;&#x3c;]]>"),
    ("\u{202e}evil\u{2066}\u{2069}", "\u{fffd}evil\u{fffd}\u{fffd}"),
    ("מבצע אביב", "מבצע אביב"),
    ("𝒜😀👩\u{200d}👧", "𝒜😀👩\u{200d}👧"),
    ("a\u{0}b\u{1b}c\u{85}d\u{ffff}e\tf\ng", "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e f g"),
];

/// Every chart of the kit with one name wherever a name can stand.
fn scenes(name: &str) -> Vec<Scene> {
    let text = || name.to_owned();
    let bar = |open| Bar { label: text(), value: Some(1.0), half_width: None, dot: Some(0.5), open, tip: text() };
    let bars = BarChart { labels: text(), values: text(), bars: vec![bar(false), bar(true)] };
    let look = Look { ink: Ink::Blue, dash: &[], marker: Marker::Circle, strong: true };
    let point = |x| Point { x, y: x, error: 0.5, tip: text() };
    let series = Series { error: ErrorMark::Band, points: vec![point(1.0), point(2.0)], ..Series::new(name, look) };
    let mut scene = Scene::new(WIDE, 600.0);
    let (areas, _) = grid(2, 1, WIDE, 0.0, 280.0);
    let panel = LinePanel {
        title: text(),
        x: rounds_axis(2.0, 200.0),
        y_title: text(),
        y: Scale::Linear { low: 0.0, high: 3.0 },
        series: vec![series],
        dodge: 0.0,
    };
    panel.draw(&mut scene, areas[0]);
    let heat = Heat {
        title: text(),
        row_title: text(),
        column_title: text(),
        rows: vec![text()],
        columns: vec![text()],
        cells: vec![vec![(1.0, text())]],
        range: (0.0, 1.0),
    };
    heat.draw(&mut scene, areas[1].left, areas[1].top, areas[1].width);
    let part = |open| Part { name: text(), ink: Ink::Blue, open };
    let stack = Stack { label: text(), lengths: vec![1.0, 2.0], tip: text() };
    let stacks = StackChart { values: text(), parts: vec![part(false), part(true)], bars: vec![stack] };
    vec![
        bars.vertical(WIDE),
        bars.horizontal(WIDE),
        bars.vertical(NARROW),
        bars.horizontal(NARROW),
        stacks.scene(WIDE),
        stacks.scene(NARROW),
        scene,
    ]
}

/// Nothing but what the kit itself writes, however the name tries.
fn only_our_elements(tree: &roxmltree::Document<'_>) {
    for node in tree.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        let known = ["svg", "title", "desc", "path", "rect", "circle", "text"];
        assert!(known.contains(&name), "an element {name}");
        assert!(node.attributes().all(|attribute| !attribute.name().starts_with("on")), "a handler in {name}");
    }
}

#[test]
fn in_pictures_they_are_text() {
    for (name, seen) in NAMES {
        for scene in scenes(name) {
            let file = standalone(&scene, name, name);
            let tree = roxmltree::Document::parse(&file).unwrap_or_else(|error| panic!("{name:?}: {error}"));
            only_our_elements(&tree);
            let texts: Vec<&str> = tree.descendants().filter_map(|node| node.text()).collect();
            assert!(texts.iter().filter(|text| **text == seen).count() >= 2, "{name:?} in {texts:?}");

            let html = inline(&scene, &scene, name);
            let both = format!("<svg>{html}</svg>");
            let tree = roxmltree::Document::parse(&both).unwrap_or_else(|error| panic!("{name:?}: {error}"));
            only_our_elements(&tree);
            let labels: Vec<&str> = tree.descendants().filter_map(|node| node.attribute("aria-label")).collect();
            assert_eq!(labels, [seen, seen]);
        }
    }
}

#[test]
fn in_pages_and_tables_they_are_text() {
    for (name, seen) in NAMES {
        let cells = || vec![Cell::text(name), Cell::number(name)];
        let table = Table { caption: String::new(), head: cells(), rows: vec![cells()] }.html("plain");
        let tree = roxmltree::Document::parse(&table).unwrap_or_else(|error| panic!("{name:?}: {error}"));
        let texts: Vec<&str> = tree.descendants().filter_map(|node| node.text()).filter(|text| *text == seen).collect();
        // Each text is seen twice, as its node and as its element's.
        assert_eq!(texts.len(), 8, "{name:?} in {table}");

        let html = page(name, "", "");
        let title = html.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).expect("a title");
        let title = format!("<t>{title}</t>");
        let tree = roxmltree::Document::parse(&title).unwrap_or_else(|error| panic!("{name:?}: {error}"));
        assert_eq!(tree.root_element().text(), Some(seen));
        assert_eq!(html.matches("</head>").count(), 1);
    }
}

#[cfg(feature = "png")]
#[test]
fn in_pixels_they_do_no_harm() {
    for (name, _) in NAMES {
        for scene in scenes(name) {
            assert!(armwise_charts::png(&scene).starts_with(b"\x89PNG"), "{name:?}");
        }
    }
}
