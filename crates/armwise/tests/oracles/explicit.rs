//! The explicit list, and an oracle of the user's own.

use crate::common::{Instance, Rng, instance, order_does_not_matter, parts_suffice};
use armwise::oracle::Member;
use armwise::{Constraint, Error, Explicit, Infeasible, Oracle, Pick, Scores, Selection};

fn random(rng: &mut Rng) -> (Instance, Explicit) {
    let blocks = 1 + rng.below(3);
    let rows = 1 + rng.below(8);
    let instance = instance(rng, rows, blocks);
    let member = |rng: &mut Rng| match rng.below(12) {
        0 => Member::Id(1_000),
        n if n < 6 => Member::Id(instance.ids[rng.below(rows)]),
        _ => Member::IdInBlock { id: instance.ids[rng.below(rows)], block: rng.below(blocks) },
    };
    let super_arm = |rng: &mut Rng| {
        let mut arms: Vec<Member> = (0..rng.below(5)).map(|_| member(rng)).collect();
        let key = |member: &Member| match member {
            Member::Id(id) => (*id, 0),
            Member::IdInBlock { id, block } => (*id, *block),
            _ => unreachable!(),
        };
        arms.sort_by_key(key);
        arms.dedup_by_key(|member| key(member));
        rng.shuffle(&mut arms);
        arms
    };
    let super_arms = (0..rng.below(6)).map(|_| super_arm(rng)).collect();
    (instance, Explicit { super_arms })
}

/// The arms of a listed super arm, or whether it is unknown.
fn find(instance: &Instance, members: &[Member]) -> Result<Vec<Pick>, bool> {
    let mut arms = Vec::new();
    for member in members {
        let (id, block) = match member {
            Member::Id(id) => (*id, 0),
            Member::IdInBlock { id, block } => (*id, *block),
            _ => unreachable!(),
        };
        let row = instance.ids.iter().position(|&own| own == id).ok_or(true)?;
        arms.push(Pick { row, block });
    }
    if arms.iter().all(|&arm| instance.score(arm) > f64::NEG_INFINITY) { Ok(arms) } else { Err(false) }
}

#[test]
fn explicit_is_exact_on_random_lists() {
    let mut rng = Rng(21);
    let (mut solved, mut none) = (0, 0);
    for _ in 0..3_000 {
        let (instance, explicit) = random(&mut rng);
        let found: Vec<_> = explicit.super_arms.iter().map(|members| find(&instance, members)).collect();
        let best = found.iter().flatten().map(|arms| instance.sum(arms)).max_by(f64::total_cmp);
        match instance.with(|scores| explicit.argmax(scores)) {
            Ok(selection) => {
                solved += 1;
                assert_eq!(Some(selection.objective), best);
                // Among the best ones, the first by tie order, compared arm by arm, is the one.
                let tied = found.iter().flatten().filter(|arms| Some(instance.sum(arms)) == best);
                let sorted = tied.map(|arms| {
                    let mut arms = arms.clone();
                    instance.with(|scores| arms.sort_by(|&a, &b| scores.tie_order(a, b)));
                    arms
                });
                let rank = |arm: &Pick| {
                    let all = instance.eligible();
                    instance.with(|scores| all.iter().filter(|&&other| scores.tie_order(other, *arm).is_lt()).count())
                };
                let mut first = sorted.min_by_key(|arms| arms.iter().map(rank).collect::<Vec<_>>()).unwrap();
                let mut chosen = selection.arms.clone();
                first.sort_unstable();
                chosen.sort_unstable();
                assert_eq!(first, chosen, "{instance:?} {explicit:?}");
            }
            Err(Error::Infeasible(Infeasible::NoSuperArm { listed, unknown, forbidden })) => {
                none += 1;
                assert_eq!(best, None);
                assert_eq!(listed, found.len());
                assert_eq!(unknown, found.iter().filter(|found| **found == Err(true)).count());
                assert_eq!(forbidden, found.iter().filter(|found| **found == Err(false)).count());
            }
            Err(error) => panic!("{error}"),
        }
        order_does_not_matter(&explicit, &instance, &mut rng);
        parts_suffice(&explicit, &instance, &mut rng);
    }
    assert!(solved > 1_000 && none > 100, "{solved} {none}");
}

#[test]
fn an_arm_listed_twice_is_an_error_and_names_are_understood() {
    let x = [0.0; 2];
    let names = armwise::Names::new(vec!["ann".to_owned(), "bob".to_owned()]).unwrap();
    let arms = armwise::Arms::new(&x[..], 1).unwrap().with_names(&names).unwrap();
    let scores = Scores::new(&[1.0, 2.0], 1, arms, armwise::Ties::ById, armwise::Round::new(1, 1)).unwrap();
    let ask = |json: &str| serde_json::from_str::<Constraint>(json).unwrap().argmax(&scores);
    let best = ask(r#"{"kind": "explicit", "super_arms": [["ann"], [{"name": "bob", "block": 0}]]}"#).unwrap();
    assert_eq!(best.arms, [Pick { row: 1, block: 0 }]);
    let twice = ask(r#"{"kind": "explicit", "super_arms": [["ann", {"name": "ann", "block": 0}]]}"#);
    assert!(matches!(twice, Err(Error::Constraint(_))));
}

/// Exactly one arm of each block: an oracle written outside the library.
struct OneOfEach;

impl Oracle for OneOfEach {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let best = |block| (0..scores.len()).map(|row| Pick { row, block }).min_by(|&a, &b| scores.rank(a, b));
        Ok(Selection::optimal((0..scores.blocks()).filter_map(best).collect(), scores))
    }
}

#[test]
fn a_user_can_write_an_oracle() {
    let mut rng = Rng(22);
    for _ in 0..300 {
        let mut instance = instance(&mut rng, 4, 2);
        instance.values.iter_mut().for_each(|value| *value = value.max(-1.0));
        let best = instance.best(|set| (0..2).all(|block| set.iter().filter(|arm| arm.block == block).count() == 1));
        let found = instance.with(|scores| OneOfEach.argmax(scores)).unwrap();
        assert_eq!(Some(found.objective), best);
        parts_suffice(&OneOfEach, &instance, &mut rng);
    }
}
