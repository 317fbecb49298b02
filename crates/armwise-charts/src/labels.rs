//! Labels that keep out of each other's way.
//!
//! Labels in a column keep the order of what they name and are moved as little as possible in
//! the sum of squares, which is isotonic regression and is solved exactly by pooling neighbours.

/// New positions for labels that want to stand at `wanted`, at least `gap` apart, between `low` and `high`. Where there
/// is not room enough for all, the gap shrinks.
pub(crate) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let count = wanted.len();
    if count == 0 {
        return Vec::new();
    }
    let gap = if count > 1 { gap.min((high - low) / (count - 1) as f64) } else { gap };
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]).then(a.cmp(&b)));

    // With the gaps taken out, what is left is to be monotone: pools of (sum, size) with growing averages.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (place, &label) in order.iter().enumerate() {
        pools.push((wanted[label] - place as f64 * gap, 1));
        while let [.., (before, before_size), (last, last_size)] = pools[..] {
            if before / before_size as f64 <= last / last_size as f64 {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push((before + last, before_size + last_size));
        }
    }

    let room = high - (count - 1) as f64 * gap;
    let mut at = vec![0.0; count];
    let mut place = 0;
    for (sum, size) in pools {
        let base = (sum / size as f64).min(room).max(low);
        for &label in &order[place..place + size] {
            at[label] = base + place as f64 * gap;
            place += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_with_room_stay() {
        assert_eq!(spread(&[10.0, 50.0, 30.0], 12.0, 0.0, 100.0), [10.0, 50.0, 30.0]);
        assert!(spread(&[], 12.0, 0.0, 100.0).is_empty());
    }

    #[test]
    fn two_that_collide_part_evenly() {
        assert_eq!(spread(&[50.0, 50.0], 10.0, 0.0, 100.0), [45.0, 55.0]);
    }

    proptest! {
        #[test]
        fn labels_keep_order_gap_and_bounds(wanted in prop::collection::vec(0.0..100.0f64, 1..9)) {
            let at = spread(&wanted, 11.0, 0.0, 100.0);
            let mut order: Vec<usize> = (0..wanted.len()).collect();
            order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]).then(a.cmp(&b)));
            for pair in order.windows(2) {
                prop_assert!(at[pair[1]] - at[pair[0]] >= 11.0 - 1e-9);
            }
            prop_assert!(at.iter().all(|&y| (-1e-9..=100.0 + 1e-9).contains(&y)));
        }
    }
}
