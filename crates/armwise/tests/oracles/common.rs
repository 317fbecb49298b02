//! Random instances, all their super arms, and the laws that every oracle obeys.

use armwise::{Arms, Column, Error, Oracle, Pick, Round, Scores, Selection, Ties};

/// A small deterministic generator (SplitMix64), independent of the library's own.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Rows with ids, scores and columns, owned.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) blocks: usize,
    pub(crate) ids: Vec<u64>,
    pub(crate) values: Vec<f64>,
    /// (name, values, values per row).
    pub(crate) columns: Vec<(&'static str, Vec<f64>, usize)>,
    pub(crate) ties: Ties,
}

impl Instance {
    /// Calls `use_it` with the scores of the instance.
    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&Scores<'_>) -> T) -> T {
        let features = vec![0.0; self.ids.len()];
        let columns: Vec<Column<'_>> = self.columns.iter().map(|(name, values, _)| Column { name, values }).collect();
        let arms = Arms::new(&features, 1).unwrap().with_ids(&self.ids).unwrap().with_columns(&columns).unwrap();
        use_it(&Scores::new(&self.values, self.blocks, arms, self.ties, Round::new(11, 3)).unwrap())
    }

    /// The rows at these places.
    pub(crate) fn rows(&self, rows: &[usize]) -> Self {
        let cut = |values: &[f64], per_row: usize| {
            rows.iter().flat_map(|&row| values[row * per_row..(row + 1) * per_row].to_vec()).collect::<Vec<f64>>()
        };
        Self {
            blocks: self.blocks,
            ids: rows.iter().map(|&row| self.ids[row]).collect(),
            values: cut(&self.values, self.blocks),
            columns: self.columns.iter().map(|(name, values, n)| (*name, cut(values, *n), *n)).collect(),
            ties: self.ties,
        }
    }

    pub(crate) fn eligible(&self) -> Vec<Pick> {
        let all = (0..self.values.len()).filter(|&place| self.values[place] > f64::NEG_INFINITY);
        all.map(|place| Pick { row: place / self.blocks, block: place % self.blocks }).collect()
    }

    pub(crate) fn score(&self, arm: Pick) -> f64 {
        self.values[arm.row * self.blocks + arm.block]
    }

    pub(crate) fn column(&self, name: &str, arm: Pick) -> f64 {
        if name == "block" {
            return arm.block as f64;
        }
        let (_, values, per_row) = self.columns.iter().find(|column| column.0 == name).unwrap();
        if *per_row == 1 { values[arm.row] } else { values[arm.row * self.blocks + arm.block] }
    }

    /// The chosen arms as (id, block), sorted.
    pub(crate) fn named(&self, selection: &Selection) -> Vec<(u64, usize)> {
        let mut named: Vec<(u64, usize)> = selection.arms.iter().map(|arm| (self.ids[arm.row], arm.block)).collect();
        named.sort_unstable();
        named
    }

    /// Every set of eligible arms.
    pub(crate) fn subsets(&self) -> impl Iterator<Item = Vec<Pick>> {
        let arms = self.eligible();
        (0..1usize << arms.len())
            .map(move |bits| (0..arms.len()).filter(|i| bits >> i & 1 == 1).map(|i| arms[i]).collect())
    }

    /// The largest sum of scores among the sets that `fits` accepts.
    pub(crate) fn best(&self, fits: impl Fn(&[Pick]) -> bool) -> Option<f64> {
        self.subsets().filter(|set| fits(set)).map(|set| self.sum(&set)).max_by(f64::total_cmp)
    }

    pub(crate) fn sum(&self, set: &[Pick]) -> f64 {
        set.iter().map(|&arm| self.score(arm)).sum::<f64>() + 0.0
    }
}

/// Scores in eighths from -1 to 3, some forbidden; ids are scattered.
pub(crate) fn instance(rng: &mut Rng, rows: usize, blocks: usize) -> Instance {
    let mut ids: Vec<u64> = (0..rows as u64).map(|row| row * 7 % 31 + 1).collect();
    rng.shuffle(&mut ids);
    let spread = [3, 9, 33][rng.below(3)];
    let values = (0..rows * blocks).map(|_| match rng.below(8) {
        0 => f64::NEG_INFINITY,
        _ => (rng.below(spread) as f64 - (spread / 4) as f64) / 8.0,
    });
    let values = values.collect();
    let ties = if rng.below(2) == 0 { Ties::ById } else { Ties::Random };
    Instance { blocks, ids, values, columns: Vec::new(), ties }
}

/// The answer is the same for rows in another order.
pub(crate) fn order_does_not_matter(oracle: &dyn Oracle, instance: &Instance, rng: &mut Rng) {
    let mut rows: Vec<usize> = (0..instance.ids.len()).collect();
    rng.shuffle(&mut rows);
    let shuffled = instance.rows(&rows);
    let here = instance.with(|scores| oracle.argmax(scores));
    let there = shuffled.with(|scores| oracle.argmax(scores));
    match (here, there) {
        (Ok(here), Ok(there)) => {
            assert_eq!(instance.named(&here), shuffled.named(&there), "{instance:?}");
            assert!((here.objective - there.objective).abs() <= 1e-12 * here.objective.abs());
            assert_eq!((here.quality, here.missing), (there.quality, there.missing));
            assert_eq!(here.prices, there.prices, "{instance:?}");
        }
        (Err(here), Err(there)) => assert_eq!(here, there),
        (here, there) => panic!("{here:?} but {there:?} for {instance:?}"),
    }
}

/// The union of the candidates of parts gives the selection of the whole, or as much of an error.
pub(crate) fn parts_suffice(oracle: &dyn Oracle, instance: &Instance, rng: &mut Rng) {
    let parts = 1 + rng.below(4);
    let part_of: Vec<usize> = instance.ids.iter().map(|_| rng.below(parts)).collect();
    let mut kept = Vec::new();
    for part in 0..parts {
        let rows: Vec<usize> = (0..part_of.len()).filter(|&row| part_of[row] == part).collect();
        if rows.is_empty() {
            continue;
        }
        let candidates = instance.rows(&rows).with(|scores| oracle.candidates(scores)).unwrap();
        assert!(candidates.is_sorted());
        kept.extend(candidates.into_iter().map(|row| rows[row]));
    }
    let whole = instance.with(|scores| oracle.argmax(scores));
    if kept.is_empty() {
        assert!(whole.map_or(true, |whole| whole.arms.is_empty()));
        return;
    }
    kept.sort_unstable();
    let union = instance.rows(&kept);
    match (whole, union.with(|scores| oracle.argmax(scores))) {
        (Ok(whole), Ok(part)) => {
            assert_eq!(instance.named(&whole), union.named(&part), "{instance:?} by {kept:?}");
            assert_eq!((whole.quality, whole.missing), (part.quality, part.missing));
        }
        (Err(Error::Infeasible(_)), Err(Error::Infeasible(_))) => {}
        (whole, part) => panic!("{whole:?} but {part:?} for {instance:?}"),
    }
}

/// What `Selection::floors` promises: of some rows, only the chosen arms can be chosen once others come to them, and of
/// the others only those that reach the floors.
pub(crate) fn floors_hold(oracle: &dyn Oracle, instance: &Instance, rng: &mut Rng) {
    let (here, there): (Vec<usize>, Vec<usize>) = (0..instance.ids.len()).partition(|_| rng.below(2) == 0);
    if here.is_empty() {
        return;
    }
    let some = instance.rows(&here);
    let Ok(known) = some.with(|scores| oracle.argmax(scores)) else { return };
    let (Some(floors), Ok(whole)) = (known.floors.clone(), instance.with(|scores| oracle.argmax(scores))) else {
        return;
    };
    let known = some.named(&known);
    for arm in &whole.arms {
        if there.contains(&arm.row) {
            assert!(instance.score(*arm) >= floors[arm.block], "{arm:?} is below {floors:?}: {instance:?}");
        } else {
            assert!(known.contains(&(instance.ids[arm.row], arm.block)), "{arm:?} was no candidate: {instance:?}");
        }
    }
}
