//! Candidates of parts: their union gives the selection of the whole.

use crate::{Problem, Rng, groups::with_groups, random, shuffled};
use armwise::oracle::OnInfeasible;
use armwise::{Error, Oracle};

fn union_of_candidates(problem: &Problem, parts: usize, rng: &mut Rng) -> Vec<usize> {
    let order = shuffled(problem.rows(), rng);
    let mut pieces = vec![Vec::new(); parts];
    for row in order {
        pieces[rng.below(parts)].push(row);
    }
    let mut union = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let part = problem.on(piece);
        let rows = part.with(|scores| part.constraint.candidates(scores)).unwrap();
        assert!(rows.is_sorted());
        union.extend(rows.into_iter().map(|row| piece[row]));
    }
    union
}

#[test]
fn five_hundred_splits_give_the_selection_of_the_whole() {
    let mut rng = Rng::new(21);
    let mut smaller = 0;
    for case in 0..500 {
        let (rows, blocks) = (2 + rng.below(80), 1 + rng.below(4));
        let per_row = 1 + rng.below(blocks);
        let quota = 1 + rng.below(8);
        let mut problem = random(&mut rng, rows, blocks, per_row, quota);
        let parts = 1 + rng.below(5);
        let union = union_of_candidates(&problem, parts, &mut rng);
        smaller += usize::from(union.len() < rows);
        let part = problem.on(&union);
        match (problem.solve(), if union.is_empty() { problem.solve() } else { part.solve() }) {
            (Ok(whole), Ok(found)) if !union.is_empty() => {
                assert_eq!(part.named(&found.arms), problem.named(&whole.arms), "case {case}: {problem:?}");
                assert_eq!(found.objective, whole.objective);
            }
            (Ok(whole), Ok(_)) => assert_eq!(whole.arms, []),
            (whole, found) => assert_eq!(whole.unwrap_err(), found.unwrap_err(), "case {case}"),
        }
        problem.constraint.on_infeasible = OnInfeasible::Fill;
        if !union.is_empty() {
            let part = problem.on(&union);
            let (whole, found) = (problem.solve().unwrap(), part.solve().unwrap());
            assert_eq!(part.named(&found.arms), problem.named(&whole.arms), "filling case {case}: {problem:?}");
        }
    }
    assert!(smaller > 250, "{smaller}");
}

/// Rows of different groups may need each other, so a part must keep more than its own best filling.
#[test]
fn parts_of_problems_with_groups_give_the_selection_of_the_whole() {
    let mut rng = Rng::new(22);
    let (mut smaller, mut solved) = (0, 0);
    for case in 0..1_500 {
        let (rows, blocks) = (2 + rng.below(40), 1 + rng.below(3));
        let per_row = 1 + rng.below(blocks);
        let quota = 1 + rng.below(4);
        let problem = random(&mut rng, rows, blocks, per_row, quota);
        let mut problem = with_groups(&mut rng, problem);
        let parts = 1 + rng.below(3);
        let union = union_of_candidates(&problem, parts, &mut rng);
        smaller += usize::from(union.len() < rows);
        for on_infeasible in [OnInfeasible::Error, OnInfeasible::Fill] {
            problem.constraint.on_infeasible = on_infeasible;
            let whole = problem.solve();
            if union.is_empty() {
                assert!(whole.map_or(true, |whole| whole.arms.is_empty()), "case {case}: {problem:?}");
                continue;
            }
            let part = problem.on(&union);
            match (whole, part.solve()) {
                (Ok(whole), Ok(found)) => {
                    assert_eq!(part.named(&found.arms), problem.named(&whole.arms), "case {case}: {problem:?}");
                    solved += 1;
                }
                (Err(Error::Infeasible(_)), Err(Error::Infeasible(_))) => {}
                (whole, found) => panic!("case {case}: {whole:?} but {found:?}: {problem:?}"),
            }
        }
    }
    assert!(smaller > 500 && solved > 1_000, "{smaller} {solved}");
}
