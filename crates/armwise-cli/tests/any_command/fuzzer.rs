//! Makes commands, tables and rules from good ones, as a function of a seed.
//!
//! The one thing to know: every name lies in the folder of the test, and there are no devices among them, since a command
//! that replaces what it should not is what is looked for.

use crate::random::customers;

/// Good commands, from which the others are made. T is a table of answers, R are rules, N is a name for a new file.
const GOOD: [&str; 36] = [
    "choose c.armwise customers.csv --out N.csv",
    "choose c.armwise customers.csv --json",
    "choose c.armwise customers.csv --dry-run --out N.csv",
    "choose c.armwise customers.csv --round 7 --seed 3 --threads 2",
    "choose c.armwise customers.csv --key monday --out N.parquet",
    "learn c.armwise T",
    "learn c.armwise T --rejects N.csv",
    "learn c.armwise T --round 1 --key tuesday",
    "learn c.armwise T --only-responders --round 2",
    "learn c.armwise T --only-responders=2.5",
    "correct c.armwise T",
    "undelivered c.armwise T --rejects N.csv",
    "close c.armwise --round 1",
    "close c.armwise --round 2 --json",
    "revoke c.armwise --round 2",
    "amend c.armwise --config R",
    "refit c.armwise customers.csv --config R",
    "learn c.armwise T --round 1 --rejects N.csv",
    "learn c.armwise T --logged",
    "export c.armwise logged --out N.csv",
    "correct c.armwise T --round 1",
    "status c.armwise --json",
    "why c.armwise C003 --round 1 --table customers.csv",
    "report c.armwise --html N.html",
    "report c.armwise --json",
    "export c.armwise sends --round 1 --out N.csv",
    "export c.armwise results --out N.parquet",
    "export c.armwise learner --out N.json",
    "export c.armwise log",
    "evaluate c.armwise --tables customers.csv --policy greedy --html N.html",
    "verify c.armwise",
    "replay c.armwise --until 2",
    "backup c.armwise N.armwise",
    "init N.armwise --from customers.csv --config R",
    "init N.armwise --from T --promotion mail=3 --customer customer --seed 9",
    "init N.armwise --from customers.csv --config R --learner learner.json",
];

const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "-0",
    "0.5",
    "1073741823",
    "1073741824",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "1e101",
    "1e308",
    "1e999",
    "-1e308",
    "5e-324",
    "nan",
    "inf",
];
const NAMES: [&str; 22] = [
    "c.armwise",
    "c.armwise.lock",
    "c.armwise-wal",
    "c.armwise-shm",
    "customers.csv",
    "responses.csv",
    "campaign.toml",
    "learner.json",
    "nothing.csv",
    "no/such/folder.csv",
    "folder",
    "folder/x.csv",
    "link.armwise",
    "other.armwise",
    ".",
    "",
    "-",
    "x.csv.gz",
    "x.parquet",
    "x.arrow",
    "x.unknown",
    "a name\u{1b}[31m with\nescapes.csv",
];
/// Files that no command may overwrite.
const PRECIOUS: [&str; 4] = ["c.armwise", "link.armwise", "c.armwise.lock", "folder"];
const WORDS: [&str; 22] = [
    "--round",
    "--json",
    "--out",
    "--rejects",
    "--key",
    "--format",
    "--only-responders",
    "--dry-run",
    "--seed",
    "--config",
    "--learner",
    "--promotion",
    "--customer",
    "--from",
    "--html",
    "--table",
    "--until",
    "--help",
    "mail=18446744073709551615",
    "=cmd()",
    "\u{202e}",
    "--",
];
const CELLS: [&str; 20] = [
    "",
    "C001",
    "C999",
    "mail",
    "call",
    "round",
    "1",
    "0",
    "-1",
    "nan",
    "1e101",
    "1e-320",
    "many",
    "\"",
    "\"a\nb\"",
    "=1+1",
    "\u{0}",
    "99999999999999999999",
    "r1-1",
    " r1-1 ",
];

pub(crate) struct Fuzzer<D> {
    pub(crate) draw: D,
}

impl<D: FnMut() -> u64> Fuzzer<D> {
    fn below(&mut self, limit: usize) -> usize {
        (self.draw)() as usize % limit
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// A command, as its words, and what to put into the tables that it reads.
    pub(crate) fn command(&mut self, number: usize) -> Vec<String> {
        let name = format!("new{number}");
        let good = self.of(&GOOD);
        let fill = |word: &str| match word {
            "T" => "responses.csv".to_owned(),
            "R" => "rules.toml".to_owned(),
            _ => word.replace("N.", &format!("{name}.")),
        };
        let mut words: Vec<String> = good.split(' ').map(fill).collect();
        for _ in 0..[0, 1, 1, 1, 2, 3][self.below(6)] {
            let at = 1 + self.below(words.len());
            match self.below(10) {
                0 if at < words.len() => drop(words.remove(at)),
                1 => words.insert(at, self.of(&WORDS).to_owned()),
                2..=5 => self.change_name(&mut words),
                6..=7 => self.change_number(&mut words),
                8 if at < words.len() => {
                    let twin = words[at].clone();
                    words.insert(at, twin);
                }
                _ => words.extend([self.of(&WORDS).to_owned(), self.of(&NUMBERS).to_owned()]),
            }
        }
        // As many threads as asked for are made, so this one is kept small.
        if let Some(at) = words.iter().position(|word| word == "--threads") {
            words.truncate(at + 1);
            words.push(self.of(&["0", "1", "2", "-1", "65536", "x"]).to_owned());
        }
        words
    }

    /// Puts another file in the place of one, most often one that matters.
    fn change_name(&mut self, words: &mut [String]) {
        let names: Vec<usize> = (1..words.len()).filter(|&at| words[at].contains('.')).collect();
        if !names.is_empty() {
            let at = names[self.below(names.len())];
            words[at] = String::from(if self.one_in(2) { self.of(&NAMES) } else { self.of(&PRECIOUS) });
        }
    }

    /// Puts another number in the place of one, which may stand behind a flag.
    fn change_number(&mut self, words: &mut [String]) {
        let value = |word: &str| word.rsplit('=').next().unwrap_or_default().parse::<f64>().is_ok();
        let numbers: Vec<usize> = (0..words.len()).filter(|&at| value(&words[at])).collect();
        if !numbers.is_empty() {
            let at = numbers[self.below(numbers.len())];
            let kept = words[at].rfind('=').map_or(0, |equals| equals + 1);
            words[at].truncate(kept);
            words[at] += self.of(&NUMBERS);
        }
    }

    /// A table of answers to these decisions, good or not.
    pub(crate) fn answers(&mut self, decisions: &[String]) -> String {
        let heads =
            ["decision,reward", "decision,reward", "decision", "customer", "customer,promotion,round,reward", "reward"];
        let head = self.of(&heads);
        let mut text = head.to_owned();
        for _ in 0..self.below(8) {
            text += "\n";
            for (place, column) in head.split(',').enumerate() {
                let cell = match column {
                    _ if self.one_in(6) => self.of(&CELLS).to_owned(),
                    "decision" => decisions[self.below(decisions.len())].clone(),
                    "customer" => format!("C{:03}", self.below(40)),
                    "promotion" => self.of(&["mail", "call"]).to_owned(),
                    "reward" if self.one_in(4) => self.of(&NUMBERS).to_owned(),
                    _ => self.of(&["1", "0.5", "0", "2"]).to_owned(),
                };
                text += if place > 0 { "," } else { "" };
                text += &cell;
            }
        }
        if self.one_in(8) {
            text += self.of(&["\n\"open", "\n,,,,,,", "\r\n", "\u{feff}", "\u{0}"]);
        }
        text
    }

    /// The rules with some of their lines, names and numbers changed.
    pub(crate) fn rules(&mut self, good: &str) -> String {
        let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
        for _ in 0..self.below(3) {
            let at = self.below(lines.len());
            match self.below(4) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                _ => {
                    let Some((key, _)) = lines[at].split_once('=') else { continue };
                    let value = if self.one_in(3) {
                        self.of(&["\"\"", "[]", "true", "\"age\"", "{}"])
                    } else {
                        self.of(&NUMBERS)
                    };
                    lines[at] = format!("{key}= {value}");
                }
            }
        }
        lines.join("\n") + "\n"
    }

    /// A table of customers with some cells changed.
    pub(crate) fn customers(&mut self) -> String {
        let mut lines: Vec<String> = customers(40).lines().map(str::to_owned).collect();
        for _ in 0..self.below(3) {
            let at = self.below(lines.len());
            let mut cells: Vec<&str> = lines[at].split(',').collect();
            let cell = self.below(cells.len());
            cells[cell] = if cell == 1 && at > 0 { self.of(&NUMBERS) } else { self.of(&CELLS) };
            lines[at] = cells.join(",");
        }
        lines.join("\n") + "\n"
    }
}
