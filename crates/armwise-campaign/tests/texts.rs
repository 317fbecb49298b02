//! Text tables as spreadsheets write them, and workbooks: the same customers give the same sends whatever the separator,
//! the decimal mark, the encoding and the case of the header; what could mean two things is refused and says what to
//! give.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error, Source,
    core::{Feedback, LearnOptions, Sent, learn_with, sends},
    round::{ChooseOptions, choose},
    table::{Cell, Decimal, Encoding, Format, Separator, Sheet, Table, TableRules},
};
use common::{Folder, begin, choose_round, customers, open};
use flate2::{Compression, write::GzEncoder};
use std::{fs::File, io::Write, path::Path};

const RULES: &str = "segment = \"region\"\n[limits]\nhold_out = 0.1\n\
    [[promotion]]\nname = \"mail\"\nquota = 40\n[[promotion]]\nname = \"call\"\nquota = { max = 20 }\neligible = \"may_call\"\n\
    [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"income\"\nkind = \"numeric\"\n\
    [[features.column]]\nname = \"region\"\nkind = \"categorical\"\n";

/// The customers with a letter that Latin-1, UTF-8 and UTF-16 write differently.
fn people() -> String {
    customers(300).replace("north", "Süd")
}

fn chosen_by(campaign: &Campaign, path: &Path, rules: TableRules) -> Result<Vec<Sent>, Error> {
    let table = Table::open(path, None)?.with(rules);
    choose(campaign, &table, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
        .map(|choice| choice.sent)
}

fn chosen(campaign: &Campaign, path: &Path) -> Result<Vec<Sent>, Error> {
    chosen_by(campaign, path, TableRules::default())
}

fn german(csv: &str) -> String {
    csv.replace(',', ";").replace('.', ",")
}

fn utf16(text: &str, mark: bool, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = mark.then_some('\u{feff}').into_iter();
    let units: Vec<u16> = mark.collect::<String>().encode_utf16().chain(text.encode_utf16()).collect();
    units.into_iter().flat_map(bytes).collect()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

/// The customers as a workbook: ids as text, numbers and flags as a spreadsheet has them.
fn workbook(csv: &str) -> Sheet {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let mut sheet = Sheet::new(&lines.next().unwrap());
    for row in lines {
        let number = |text: &str| Cell::Number(text.parse().unwrap());
        sheet.push(vec![Cell::from(row[0]), number(row[1]), number(row[2]), Cell::from(row[3]), Cell::from(row[4])]);
    }
    sheet
}

#[test]
fn separator_decimal_mark_encoding_and_case_do_not_change_the_sends() {
    let folder = Folder::new("dialects");
    let csv = people();
    let table = folder.write("customers.csv", &csv);
    let campaign = begin(&folder, &table, RULES).unwrap();
    let expected = chosen(&campaign, &table).unwrap();
    assert!(expected.len() > 50 && csv.contains(".5,") && csv.contains("Süd"), "numbers with fractions, other letters");

    let gz = |bytes: &[u8]| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    };
    let tabs = csv.replace(',', "\t");
    let shouted = csv.replacen("customer,age,income,region,may_call", "CUSTOMER, Age ,INCOME,Region,May_Call", 1);
    let flags = csv.replace("true", "Y").replace("false", "n");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("semicolons.csv", csv.replace(',', ";").into_bytes()),
        ("german.csv", german(&csv).into_bytes()),
        ("stated.csv", format!("sep=;\r\n{}", german(&csv)).into_bytes()),
        ("german.csv.gz", gz(german(&csv).as_bytes())),
        ("tabs.tsv", tabs.clone().into_bytes()),
        ("tabs.txt", tabs.clone().into_bytes()),
        ("german-tabs.tsv", tabs.replace('.', ",").into_bytes()),
        ("mark.csv", [b"\xef\xbb\xbf", csv.as_bytes()].concat()),
        ("utf16.csv", utf16(&csv, true, u16::to_le_bytes)),
        ("utf16be.csv", utf16(&german(&csv), true, u16::to_be_bytes)),
        ("utf16.txt", utf16(&tabs, true, u16::to_le_bytes)),
        ("shouted.csv", shouted.into_bytes()),
        ("flags.csv", flags.into_bytes()),
    ];
    for (name, bytes) in cases {
        let path = folder.write(name, bytes);
        assert_eq!(chosen(&campaign, &path).unwrap_or_else(|error| panic!("{error}")), expected, "{name}");
    }
    // What cannot be seen is said.
    let said = |separator, decimal, encoding| TableRules { separator, decimal, encoding, ..TableRules::default() };
    for (name, bytes, rules) in [
        ("latin1.csv", latin1(&csv), said(None, None, Some(Encoding::Latin1))),
        ("latin1-german.csv", latin1(&german(&csv)), said(None, None, Some(Encoding::Latin1))),
        ("no-mark.csv", utf16(&csv, false, u16::to_le_bytes), said(None, None, Some(Encoding::Utf16Le))),
        ("mark-wins.csv", utf16(&csv, true, u16::to_be_bytes), said(None, None, Some(Encoding::Latin1))),
        (
            "quoted.csv",
            csv.lines()
                .map(|line| {
                    let cells: Vec<String> =
                        line.split(',').map(|cell| format!("\"{}\"", cell.replace('.', ","))).collect();
                    cells.join(",") + "\n"
                })
                .collect::<String>()
                .into_bytes(),
            said(Some(Separator::Comma), Some(Decimal::Comma), None),
        ),
    ] {
        let path = folder.write(name, bytes);
        assert!(name == "mark-wins.csv" || chosen(&campaign, &path).is_err(), "{name} without being told");
        assert_eq!(chosen_by(&campaign, &path, rules).unwrap_or_else(|error| panic!("{error}")), expected, "{name}");
    }
    // A workbook, which the recipe can be fitted on too.
    let path = folder.path("customers.xlsx");
    workbook(&csv).write(&path).unwrap().publish().unwrap();
    assert_eq!(chosen(&campaign, &path).unwrap(), expected, "xlsx");
    let comma = said(None, Some(Decimal::Comma), None);
    assert_eq!(chosen_by(&campaign, &path, comma).unwrap(), expected, "numbers in cells have no decimal mark");
    let again = Folder::new("dialects-again");
    assert_eq!(begin(&again, &path, RULES).unwrap().recipe(), campaign.recipe());
}

#[test]
fn what_could_mean_two_things_is_refused_and_says_what_to_give() {
    let folder = Folder::new("unclear");
    let csv = people();
    let table = folder.write("customers.csv", &csv);
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let head = campaign.head();
    let thousands = "customer;age;income;region;may_call\na;30;1.234;Süd;true\nb;31;2.345;Süd;true\n";
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        (
            "both.csv",
            csv.replacen(",income", ";income", 1).into_bytes(),
            &["commas and semicolons", "separator = \",\""],
        ),
        ("latin1.csv", latin1(&csv), &["not UTF-8", "encoding = \"latin-1\""]),
        ("zeros.csv", utf16(&csv, false, u16::to_le_bytes), &["zero bytes", "utf-16le"]),
        ("cut.csv", utf16(&csv, true, u16::to_le_bytes)[..1001].to_vec(), &["utf-16le", "cut off"]),
        ("thousands.csv", thousands.as_bytes().to_vec(), &["row 1", "\"income\"", "\"1.234\"", "decimal ="]),
        ("comma.csv", csv.replacen("C0003,", "C0003,\"12,5\",", 1).into_bytes(), &["row 4"]),
        (
            "mixed.csv",
            "customer;age;income;region;may_call\na;30,5;1,5;Süd;1\nb;31.5;2,5;Süd;0\n".into(),
            &["decimal = \",\""],
        ),
        ("twice.csv", csv.replacen("age,income", "Age,AGE,age2", 1).into_bytes(), &["two columns", "\"age\""]),
        (
            "flag.csv",
            csv.replacen("true", "maybe", 1).into_bytes(),
            &["\"maybe\" is neither yes nor no", "\"may_call\""],
        ),
    ];
    for (name, bytes, parts) in cases {
        let path = folder.write(name, bytes);
        let message = choose_round(&mut campaign, &path).expect_err(name).to_string();
        for part in parts {
            assert!(message.contains(part), "{name}: {message}");
        }
        assert!(message.contains(name) && message.len() < 400, "{message}");
        assert_eq!(campaign.head(), head);
    }
    // Told to be Latin-1, but the letters are UTF-8.
    let rules = TableRules { encoding: Some(Encoding::Latin1), ..TableRules::default() };
    let message = chosen_by(&campaign, &table, rules).expect_err("UTF-8").to_string();
    assert!(message.contains("encoding = \"utf-8\""), "{message}");
}

#[test]
fn responses_may_have_other_columns_flags_and_decimal_commas() {
    let folder = Folder::new("responses");
    let table = folder.write("customers.csv", customers(60));
    let rules = "[tables]\nreward_column = \"umsatz\"\n[[promotion]]\nname = \"mail\"\nquota = 12\n";
    let mut campaign = begin(&folder, &table, rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let sent = campaign.sent(1).unwrap();
    let (a, b) = (sent[0].customer.clone(), sent[1].customer.clone());
    let mut learn = |name: &str, text: String, options: &LearnOptions| {
        let path = folder.write(name, text);
        learn_with(&mut campaign, &open(&path), Feedback::Rewards, options).map(|(learned, _)| learned)
    };
    let options = LearnOptions { customer_column: Some("KundenNr".to_owned()), ..LearnOptions::default() };
    let learned = learn("a.csv", format!("kundennr;Umsatz\n{a};12,5\n{b};ja\n"), &options).unwrap();
    assert_eq!((learned.applied, learned.rejected), (1, 1));
    // The column of the rules is needed unless another is given.
    let message = learn("b.csv", format!("customer,reward\n{b},1\n"), &LearnOptions::default()).unwrap_err();
    assert!(message.to_string().contains("\"umsatz\" is missing"), "{message}");
    let options = LearnOptions { reward_column: Some("Bought".to_owned()), ..LearnOptions::default() };
    assert_eq!(learn("c.csv", format!("Customer,bought\n{b},TRUE\n"), &options).unwrap().applied, 1);
    // A flag is 1 or 0, so the same answer as a number is known already.
    assert_eq!(learn("d.csv", format!("customer,bought\n{b},1\n{a},12.5\n"), &options).unwrap().repeated, 2);
    for (text, expected) in [("no", 0.0_f64), ("y", 1.0), ("False", 0.0)] {
        let number = campaign.round(1).unwrap().counts.answered as usize;
        let path = folder.write("e.csv", format!("decision,umsatz\nr1-{},{text}\n", number + 1));
        let before = campaign.round(1).unwrap().counts.rewards;
        learn_with(&mut campaign, &open(&path), Feedback::Rewards, &LearnOptions::default()).unwrap();
        assert_eq!((campaign.round(1).unwrap().counts.rewards - before).to_bits(), expected.to_bits(), "{text}");
    }
}

/// The parts of a small workbook; `sheet` is what is in its sheet.
fn parts(sheet: &str) -> Vec<(String, Vec<u8>)> {
    let file = |name: &str, text: String| (name.to_owned(), text.into_bytes());
    let types = "http://schemas.openxmlformats.org/package/2006/content-types";
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relations = "http://schemas.openxmlformats.org/package/2006/relationships";
    let document = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    vec![
        file("[Content_Types].xml", format!("<Types xmlns=\"{types}\"/>")),
        file(
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{relations}\"><Relationship Id=\"rId1\" Type=\"{document}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        file(
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{main}\" xmlns:r=\"{document}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
            ),
        ),
        file(
            "xl/_rels/workbook.xml.rels",
            format!(
                "<Relationships xmlns=\"{relations}\"><Relationship Id=\"rId1\" Type=\"{document}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
            ),
        ),
        file(
            "xl/worksheets/sheet1.xml",
            format!("<worksheet xmlns=\"{main}\"><sheetData>{sheet}</sheetData></worksheet>"),
        ),
    ]
}

fn zipped(path: &Path, parts: &[(String, Vec<u8>)]) {
    let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in parts {
        zip.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

fn row(number: usize, cells: &str) -> String {
    format!("<row r=\"{number}\">{cells}</row>")
}

fn inline(at: &str, text: &str) -> String {
    format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

#[test]
fn cells_of_a_workbook_are_texts_numbers_dates_and_the_values_of_formulas() {
    let folder = Folder::new("cells");
    let path = folder.path("t.xlsx");
    let head = row(
        3,
        &["id", "n", "flag", "sum", "empty"]
            .iter()
            .zip(["B3", "C3", "D3", "E3", "F3"])
            .map(|(name, at)| inline(at, name))
            .collect::<String>(),
    );
    let sheet = head
        + &row(
            4,
            &(inline("B4", "00123")
                + "<c r=\"C4\"><v>12.5</v></c><c r=\"D4\" t=\"b\"><v>1</v></c><c r=\"E4\"><f>C4*2</f><v>25</v></c>"),
        )
        + &row(5, "<c r=\"B5\"/>")
        + &row(
            9,
            "<c r=\"B9\"><v>4567</v></c><c r=\"C9\"><v>0.1</v></c><c r=\"D9\" t=\"b\"><v>0</v></c><c r=\"E9\" t=\"str\"><f>T(1)</f><v>x</v></c>",
        );
    zipped(&path, &parts(&sheet));
    let table = open(&path);
    assert_eq!(
        table.columns().unwrap().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["id", "n", "flag", "sum", "empty"]
    );
    let rows = table.batches(None).unwrap().next().unwrap().unwrap();
    assert_eq!(rows.len(), 2, "an empty row is no row");
    assert_eq!((rows.line(0), rows.line(1)), (4, 9), "the rows of the sheet");
    let texts =
        |column: &str| rows.any_texts(column).unwrap().into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    assert_eq!(texts("id"), ["00123", "4567"]);
    assert_eq!(texts("sum"), ["25", "x"]);
    assert_eq!(texts("empty"), ["", ""]);
    assert_eq!(rows.numbers("n").unwrap(), [12.5, 0.1]);
    assert_eq!(rows.flags("flag").unwrap(), [true, false]);
}

#[test]
fn workbooks_that_cannot_be_read_for_certain_are_refused() {
    let folder = Folder::new("workbooks");
    let head = row(1, &(inline("A1", "customer") + &inline("B1", "n")));
    let good = || head.clone() + &row(2, &(inline("A2", "a") + "<c r=\"B2\"><v>1</v></c>"));
    let read = |name: &str, parts: &[(String, Vec<u8>)]| {
        let path = folder.path(name);
        zipped(&path, parts);
        let table = open(&path);
        let batches = table.batches(Some(&["customer".to_owned(), "n".to_owned()]))?;
        batches.map(|rows| rows?.numbers("n")).collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(read("good.xlsx", &parts(&good())).unwrap(), [[1.0]]);
    let with = |cells: &str| parts(&(head.clone() + &row(2, &(inline("A2", "a") + cells))));
    let strings = |count: &str| {
        let mut all = parts(&good());
        let text = format!("<sst uniqueCount=\"{count}\"><si><t>a</t></si></sst>");
        all.push(("xl/sharedStrings.xml".to_owned(), text.into_bytes()));
        all
    };
    let mut bomb = parts(&good());
    bomb.push(("xl/styles.xml".to_owned(), vec![b' '; (64 << 20) + 1]));
    for (name, parts, expected) in [
        ("formula.xlsx", with("<c r=\"B2\"><f>1+1</f></c>"), &["row 1", "\"n\"", "formula has no value"][..]),
        ("error.xlsx", with("<c r=\"B2\" t=\"e\"><v>#N/A</v></c>"), &["row 1", "\"n\"", "#N/A"]),
        ("digits.xlsx", with("<c r=\"B2\"><v>12345678901234567</v></c>"), &["more than 15 digits", "as text"]),
        ("beyond.xlsx", with("<c r=\"D2\"><v>1</v></c>"), &["row 1", "\"D\"", "names no column"]),
        ("order.xlsx", with("<c r=\"A1\"><v>1</v></c>"), &["not in their order"]),
        ("text.xlsx", with("<c r=\"B2\" t=\"inlineStr\"><is><t>zwei</t></is></c>"), &["\"zwei\" is not a number"]),
        ("empty.xlsx", parts(""), &["no visible sheet"]),
        (
            "unnamed.xlsx",
            parts(&row(1, &(inline("A1", "customer") + &inline("C1", "n")))),
            &["header, column B", "no name"],
        ),
        ("strings.xlsx", strings("99999999999999"), &["damaged", "99999999999999 texts"]),
        ("bomb.xlsx", bomb, &["unpacks to more than 64 MB"]),
    ] {
        let message = read(name, &parts).expect_err(name).to_string();
        expected.iter().for_each(|part| assert!(message.contains(part), "{name}: {message}"));
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(read("few.xlsx", &strings("1")).unwrap(), [[1.0]]);
    for (name, bytes, part) in [
        ("not.xlsx", &b"customer,n\na,1\n"[..], "not an xlsx workbook; if it is text"),
        ("old.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "before 2007, or one with a password"),
        ("book.csv", b"PK\x03\x04\x14\x00", "give the format xlsx"),
    ] {
        let message = open(&folder.write(name, bytes)).columns().unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_sheet_is_found_by_its_name_and_never_guessed_among_several() {
    let folder = Folder::new("sheets");
    let path = folder.path("two.xlsx");
    let mut book = rust_xlsxwriter::Workbook::new();
    for (name, value) in [("Notes", "written in May"), ("Customers", "customer"), ("Empty", "")] {
        let sheet = book.add_worksheet();
        sheet.set_name(name).unwrap();
        if !value.is_empty() {
            sheet.write_string(0, 0, value).unwrap();
        }
    }
    book.save(&path).unwrap();
    let read = |sheet: Option<&str>| {
        let rules = TableRules { sheet: sheet.map(str::to_owned), ..TableRules::default() };
        open(&path).with(rules).columns().map(|columns| columns[0].0.clone())
    };
    assert_eq!(read(Some("customers")).unwrap(), "customer");
    let message = read(None).unwrap_err().to_string();
    assert!(message.contains("several sheets") && message.contains("\"Notes\", \"Customers\""), "{message}");
    let message = read(Some("May")).unwrap_err().to_string();
    assert!(message.contains("no sheet \"May\"") && message.contains("\"Empty\""), "{message}");
}

#[test]
fn what_is_written_as_a_workbook_reads_back_to_the_bit_and_is_the_same_file_each_time() {
    let folder = Folder::new("written-xlsx");
    let table = folder.write("customers.csv", customers(60).replace("C0007", "=1+1").replace("C0008", "00123"));
    let mut campaign = begin(&folder, &table, common::TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let sent = campaign.sent(1).unwrap();
    let sheet = sends(campaign.tag(), &sent);
    let paths = ["a.xlsx", "b.xlsx"].map(|name| folder.path(name));
    for path in &paths {
        sheet.write(path).unwrap().publish().unwrap();
    }
    assert_eq!(std::fs::read(&paths[0]).unwrap(), std::fs::read(&paths[1]).unwrap());
    let rows = open(&paths[0]).batches(None).unwrap().next().unwrap().unwrap();
    let names: Vec<String> = rows.ids("customer").unwrap().into_iter().flatten().collect();
    assert_eq!(names, sent.iter().map(|sent| sent.customer.clone()).collect::<Vec<_>>());
    let bits = |numbers: Vec<f64>| numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(rows.numbers("score").unwrap()), bits(sent.iter().map(|sent| sent.score).collect()));
    assert!(Format::of(Path::new("x.xls")).is_err(), "the old binary format is another one");
}
