//! Every path against one arm at a time, to the bit; and one arm at a time against plain sums.

use super::*;
use crate::{Round, Stream};

/// Numbers of both signs and of several magnitudes.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let draws = Round::new(seed, 1).draws(0, Stream(300));
    (0..count as u64).map(|id| draws.normal(id) * [1e-3, 1.0, 30.0][id as usize % 3]).collect()
}

/// Under Miri, which is slow, only a few shapes are tested.
fn shapes() -> (Vec<usize>, Vec<usize>) {
    if cfg!(miri) {
        (vec![1, 2, 3, 4, 5, 9, 13, 33], vec![0, 1, 8, 9, 17])
    } else {
        ((1..=130).collect(), vec![0, 1, 2, 7, 8, 9, 23, 24, 25, 47, 48, 49, 95, 97, 200])
    }
}

#[test]
fn every_path_gives_the_bits_of_one_arm_at_a_time() {
    let (dims, counts) = shapes();
    for d in dims {
        let w = [numbers(1, triangle(d)), numbers(2, triangle(d))];
        let directions = [numbers(3, d), numbers(4, d), numbers(5, d)];
        let most = counts.iter().copied().max().unwrap_or(0);
        let narrow: Vec<f32> = numbers(6, most * d).iter().map(|&x| x as f32).collect();
        let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
        let expected: Vec<[u64; 5]> = wide
            .chunks(d)
            .map(|x| {
                let dots = [0, 1, 2].map(|block| dot(&directions[block], x).to_bits());
                let widths = [0, 1].map(|block| square(&w[block], x).sqrt().to_bits());
                [dots[0], dots[1], dots[2], widths[0], widths[1]]
            })
            .collect();
        for kernel in Kernel::all() {
            let packed = [
                kernel.pack(&directions[0], Some(&w[0])),
                kernel.pack(&directions[1], Some(&w[1])),
                kernel.pack(&directions[2], None),
            ];
            let mut products = Products::default();
            for &n in &counts {
                // How rows become tiles depends on the amount of arithmetic per row.
                for (single, blocks) in [false, true].into_iter().flat_map(|single| [(single, 1), (single, 3)]) {
                    if single {
                        kernel.products(&narrow[..n * d], &packed[..blocks], &mut products);
                    } else {
                        kernel.products(&wide[..n * d], &packed[..blocks], &mut products);
                    }
                    for (row, expected) in expected[..n].iter().enumerate() {
                        for block in 0..blocks {
                            let dot = products.dots(block)[row].to_bits();
                            assert_eq!(dot, expected[block], "{}: d = {d}, n = {n}, row {row}", kernel.name());
                            let width = packed[block].has_width.then(|| products.widths(block)[row].to_bits());
                            let expected = packed[block].has_width.then(|| expected[3 + block]);
                            assert_eq!(width, expected, "{}: d = {d}, n = {n}, row {row}", kernel.name());
                        }
                    }
                }
            }
        }
    }
}

/// The reference itself: fused or not, a sum of d products is within d roundings of the sum of magnitudes.
#[test]
fn one_arm_at_a_time_is_the_plain_sum_up_to_rounding() {
    for d in [1, 2, 7, 50, 130] {
        let (w, x) = (numbers(1, triangle(d)), numbers(2, d));
        let plain = |row: &[f64]| row.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>();
        let size = |row: &[f64]| row.iter().zip(&x).map(|(w, x)| (w * x).abs()).sum::<f64>();
        let unit = d as f64 * f64::EPSILON;
        assert!((dot(&w[..d], &x) - plain(&w[..d])).abs() <= unit * size(&w[..d]));
        let rows = (0..d).map(|i| &w[triangle(i)..triangle(i + 1)]);
        let (sum, sizes) =
            rows.fold((0.0, 0.0), |(sum, sizes), row| (sum + plain(row).powi(2), sizes + size(row).powi(2)));
        assert!((square(&w, &x) - sum).abs() <= 4.0 * unit * sizes);
    }
}

/// Products in f32 are compared up to rounding, for rows in either precision and for panels.
#[test]
fn products_in_f32_are_the_plain_sums_up_to_rounding() {
    let (dims, counts) = shapes();
    for d in dims {
        let (w, direction) = (numbers(1, triangle(d)), numbers(3, d));
        let most = counts.iter().copied().max().unwrap_or(0);
        let narrow: Vec<f32> = numbers(6, most * d).iter().map(|&x| x as f32).collect();
        let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (of_w, of_direction) = (length(&w), length(&direction));
        for kernel in Kernel::all() {
            let packed = [kernel.pack_single(&direction, Some(&w))];
            let panel = 2 * kernel.width();
            let mut panels = vec![0.0; most.next_multiple_of(panel) * d];
            for (row, x) in narrow.chunks(d).enumerate() {
                let from = row / panel * panel * d + row % panel;
                x.iter().enumerate().for_each(|(column, &x)| panels[from + column * panel] = x);
            }
            let mut products = Products::default();
            for (&n, source) in counts.iter().flat_map(|n| [(n, 0), (n, 1), (n, 2)]) {
                match source {
                    0 => kernel.approximate(&narrow[..n * d], &packed, &mut products),
                    1 => kernel.approximate(&wide[..n * d], &packed, &mut products),
                    _ => kernel.approximate_panels(&panels, n, &packed, &mut products),
                }
                let unit = (2 * d + 4) as f64 * f64::from(f32::EPSILON);
                for (row, x) in wide.chunks(d).take(n).enumerate() {
                    let size = length(x);
                    let off = |found: f32, expected: f64| (f64::from(found) - expected).abs();
                    let name = || format!("{}: d = {d}, n = {n}, row {row}, source {source}", kernel.name());
                    assert!(off(products.norms()[row], size) <= unit * size, "{}", name());
                    assert!(off(products.dots(0)[row], dot(&direction, x)) <= unit * size * of_direction, "{}", name());
                    assert!(off(products.widths(0)[row], square(&w, x).sqrt()) <= unit * size * of_w, "{}", name());
                }
            }
        }
    }
}

/// The means are summed in another order, so they are compared up to the rounding of f32, their precision.
#[test]
fn means_and_norms_are_the_plain_sums_up_to_rounding() {
    let (dims, counts) = shapes();
    let dims: Vec<usize> = if cfg!(miri) { vec![15, 16, 17, 24, 33] } else { dims };
    for d in dims {
        let directions = [numbers(3, d), numbers(4, d), numbers(5, d)];
        let most = counts.iter().copied().max().unwrap_or(0);
        let narrow: Vec<f32> = numbers(6, most * d).iter().map(|&x| x as f32).collect();
        let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        for kernel in Kernel::all() {
            // With and without fetching ahead.
            let rows = if d % 2 == 0 { most } else { usize::MAX / d };
            let Some(ready) = kernel.directions(&[&directions[0], &directions[1], &directions[2]], rows) else {
                assert!(d < 16, "d = {d}");
                continue;
            };
            let mut products = Products::default();
            for (&n, single) in counts.iter().flat_map(|n| [(n, false), (n, true)]) {
                if single {
                    kernel.means(&narrow[..n * d], &ready, &mut products);
                } else {
                    kernel.means(&wide[..n * d], &ready, &mut products);
                }
                let unit = (d + 3) as f64 * f64::from(f32::EPSILON);
                for (row, x) in wide.chunks(d).take(n).enumerate() {
                    let size = length(x);
                    assert!((f64::from(products.norms()[row]) - size).abs() <= unit * size, "d = {d}, n = {n}");
                    for (block, direction) in directions.iter().enumerate() {
                        let off = f64::from(products.dots(block)[row]) - dot(direction, x);
                        assert!(off.abs() <= unit * size * length(direction), "{}: d = {d}, n = {n}", kernel.name());
                    }
                }
            }
        }
    }
}

/// G and b of rows learned one after the other by the formula, and of the same rows in slices of any size: the same bits.
#[test]
fn sums_of_rows_are_the_bits_of_one_row_at_a_time() {
    let dims: Vec<usize> = if cfg!(miri) { vec![1, 5, 9, 33] } else { (1..=70).chain([200]).collect() };
    for (place, d) in dims.into_iter().enumerate() {
        let n = [1, 2, 37, 300, 700][place % if cfg!(miri) { 2 } else { 5 }];
        let (x, factors) = (numbers(1, n * d), numbers(2, n * (d + 1)));
        let mut expected: Vec<Vec<f64>> = (0..=d).map(|i| numbers(3 + i as u64, d.min(i + 1))).collect();
        let start = expected.clone();
        for (x, factors) in x.chunks(d).zip(factors.chunks(d + 1)) {
            for (line, factor) in expected.iter_mut().zip(factors) {
                line.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
            }
        }
        for (kernel, cut) in Kernel::all().into_iter().flat_map(|kernel| [(kernel, 0), (kernel, n / 3)]) {
            let mut sums = start.clone();
            for (from, to) in [(0, cut), (cut, n)] {
                let mut lines: Vec<&mut [f64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                // Bands of lines, as threads take them.
                let (upper, lower) = lines.split_at_mut(d / 2);
                for (first, lines) in [(0, upper), (d / 2, lower)] {
                    kernel.add_rows(lines, to - from, |row, to, of| {
                        to.copy_from_slice(&x[(from + row) * d..][..to.len()]);
                        of.copy_from_slice(&factors[(from + row) * (d + 1) + first..][..of.len()]);
                    });
                }
            }
            let bits = |sums: &[Vec<f64>]| -> Vec<u64> { sums.iter().flatten().map(|sum| sum.to_bits()).collect() };
            assert_eq!(bits(&sums), bits(&expected), "{}: d = {d}, n = {n}, cut at {cut}", kernel.name());
        }
    }
}

/// Columns times a row, and the update of a root: every path against plain loops in the order that is written out.
#[test]
fn columns_are_walked_along_in_one_order() {
    let dims: Vec<usize> = if cfg!(miri) { vec![1, 5, 9] } else { (1..=70).chain([129]).collect() };
    for d in dims {
        let height = d.div_ceil(8);
        let lines = |seed: u64, count: usize| -> Vec<Line> {
            numbers(seed, 8 * count).as_chunks::<8>().0.iter().map(|line| Line(*line)).collect()
        };
        let (columns, x, y) = (lines(1, height * d), numbers(2, d), lines(3, height));
        let first = height / 3;
        let along = |line: usize, lane: usize| {
            let mut sums = [0.0; 4];
            for (column, x) in x.iter().enumerate() {
                let sum = &mut sums[column % 4];
                *sum = columns[column * height + line].0[lane].mul_add(*x, *sum);
            }
            (sums[0] + sums[1]) + (sums[2] + sums[3])
        };
        let (mut turned, mut z) = (columns.clone(), vec![0.0; d]);
        for (column, z) in turned.chunks_mut(height).zip(&mut z) {
            let mut sums = [0.0; 8];
            for (w, y) in column.iter().zip(&y) {
                (0..8).for_each(|lane| sums[lane] = w.0[lane].mul_add(y.0[lane], sums[lane]));
            }
            *z = sum_of(sums);
            for (w, y) in column.iter_mut().zip(&y) {
                (0..8).for_each(|lane| w.0[lane] = y.0[lane].mul_add(-0.3 * *z, w.0[lane]));
            }
        }
        let bits = |lines: &[Line]| -> Vec<u64> { lines.iter().flat_map(|line| line.0.map(f64::to_bits)).collect() };
        for kernel in Kernel::all() {
            let mut to = vec![Line::default(); height - first];
            kernel.times(&columns, height, first, &x, &mut to);
            let expected: Vec<Line> =
                (first..height).map(|line| Line(std::array::from_fn(|lane| along(line, lane)))).collect();
            assert_eq!(bits(&to), bits(&expected), "{}: d = {d}", kernel.name());
            let (mut found, mut own) = (columns.clone(), vec![0.0; d]);
            kernel.turn(&mut found, &y, -0.3, &mut own);
            assert_eq!(bits(&found), bits(&turned), "{}: d = {d}", kernel.name());
            assert!(own.iter().zip(&z).all(|(own, z)| own.to_bits() == z.to_bits()), "{}: d = {d}", kernel.name());
        }
    }
}
