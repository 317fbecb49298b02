//! The eigenvalues of a symmetric matrix, and a vector in the coordinates of its eigenvectors.
//!
//! Written by hand, since evidence needs neither the eigenvectors nor another answer on another processor: plain loops
//! over f64 without fused operations give the same bits everywhere, and turning one vector along costs O(d^2) where
//! eigenvectors would cost O(d^3). Householder reflections make the matrix tridiagonal, implicit QL steps make it
//! diagonal; both turn the vector with it.

use crate::kernel::triangle;

/// QL steps for one eigenvalue; three are enough as a rule.
const STEPS: usize = 60;

/// (g, c) with A = Q diag(g) Q' and c = Q' b, from the lower triangle of A row by row.
pub(super) fn spectrum(a: &[f64], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let d = b.len();
    let mut full: Vec<Vec<f64>> = (0..d).map(|i| a[triangle(i)..triangle(i + 1)].to_vec()).collect();
    let mut c = b.to_vec();
    let (mut diagonal, mut beside) = (vec![0.0; d], vec![0.0; d]);
    // From the last row up, so that only rows of the lower triangle are read.
    for last in (1..d).rev() {
        let mut v = full[last][..last].to_vec();
        diagonal[last] = full[last][last];
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm <= 0.0 {
            continue;
        }
        let end = v[last - 1];
        let reflected = if end > 0.0 { -norm } else { norm };
        beside[last - 1] = reflected;
        v[last - 1] = end - reflected;
        // I - beta v v' turns the row into (0, ..., 0, reflected).
        let beta = 1.0 / (norm * (norm + end.abs()));
        let mut w = symmetric(&full[..last], &v);
        w.iter_mut().for_each(|w| *w *= beta);
        let half = 0.5 * beta * dot(&w, &v);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= half * v);
        for (i, row) in full[..last].iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x -= v[i] * w[j] + w[i] * v[j];
            }
        }
        let along = beta * dot(&c[..last], &v);
        c[..last].iter_mut().zip(&v).for_each(|(c, v)| *c -= along * v);
    }
    if d > 0 {
        diagonal[0] = full[0][0];
    }
    diagonalise(&mut diagonal, &mut beside, &mut c);
    (diagonal, c)
}

/// Implicit QL: `beside[i]` couples i and i + 1 and becomes 0.
fn diagonalise(diagonal: &mut [f64], beside: &mut [f64], c: &mut [f64]) {
    let d = diagonal.len();
    for first in 0..d {
        for _ in 0..STEPS {
            let small =
                |at: &usize| beside[*at].abs() <= f64::EPSILON * (diagonal[*at].abs() + diagonal[*at + 1].abs());
            let last = (first..d - 1).find(small).unwrap_or(d - 1);
            if last == first {
                break;
            }
            let mut g = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
            let root = (g * g + 1.0).sqrt();
            g = diagonal[last] - diagonal[first] + beside[first] / (g + if g < 0.0 { -root } else { root });
            let (mut sine, mut cosine, mut less, mut whole) = (1.0, 1.0, 0.0, true);
            for at in (first..last).rev() {
                let (f, b) = (sine * beside[at], cosine * beside[at]);
                let r = (f * f + g * g).sqrt();
                beside[at + 1] = r;
                if r <= 0.0 {
                    diagonal[at + 1] -= less;
                    beside[last] = 0.0;
                    whole = false;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = diagonal[at + 1] - less;
                let r = (diagonal[at] - g) * sine + 2.0 * cosine * b;
                less = sine * r;
                diagonal[at + 1] = g + less;
                g = cosine * r - b;
                let above = c[at + 1];
                c[at + 1] = sine * c[at] + cosine * above;
                c[at] = cosine * c[at] - sine * above;
            }
            if whole {
                diagonal[first] -= less;
                beside[first] = g;
                beside[last] = 0.0;
            }
        }
    }
}

/// A v for a symmetric A, given as its lower triangle.
fn symmetric(rows: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for (i, row) in rows.iter().enumerate() {
        out[i] += dot(row, &v[..=i]);
        let (before, _) = row.split_at(i);
        out.iter_mut().zip(before).for_each(|(out, a)| *out += a * v[i]);
    }
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Round, Stream};

    /// Against sums that do not change under a rotation: traces of powers, and b' A^p b for p up to 3.
    #[test]
    fn the_spectrum_has_the_moments_of_the_matrix() {
        for (d, rank) in [(1, 1_u64), (2, 2), (3, 1), (7, 7), (20, 5), (51, 200), (64, 64)] {
            let draws = Round::new(d as u64, 1).draws(0, Stream(300));
            let mut a = vec![0.0; triangle(d)];
            for row in 0..rank {
                let x: Vec<f64> = (0..d as u64).map(|column| draws.normal(row * 1000 + column)).collect();
                for i in 0..d {
                    for j in 0..=i {
                        a[triangle(i) + j] += x[i] * x[j];
                    }
                }
            }
            let b: Vec<f64> = (0..d as u64).map(|id| draws.normal(1 << 40 | id)).collect();
            let (g, c) = spectrum(&a, &b);
            let rows: Vec<Vec<f64>> = (0..d).map(|i| a[triangle(i)..triangle(i + 1)].to_vec()).collect();
            let largest = g.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
            assert!(g.iter().all(|&g| g > -1e-12 * largest), "G is positive semi-definite: {g:?}");
            let mut powers = b.clone();
            for power in 0..4 {
                let (expected, scale) = (dot(&b, &powers), dot(&b, &b) * largest.powi(power));
                let found: f64 = g.iter().zip(&c).map(|(g, c)| c * c * g.powi(power)).sum();
                assert!((found - expected).abs() <= 1e-12 * scale, "d = {d}, power {power}: {found}, not {expected}");
                powers = symmetric(&rows, &powers);
            }
            let trace: f64 = (0..d).map(|i| a[triangle(i) + i]).sum();
            let squares: f64 = (0..d).map(|i| 2.0 * dot(&rows[i], &rows[i]) - rows[i][i] * rows[i][i]).sum();
            assert!((g.iter().sum::<f64>() - trace).abs() <= 1e-12 * trace);
            assert!((dot(&g, &g) - squares).abs() <= 1e-12 * squares);
        }
    }

    #[test]
    fn zeros_and_diagonal_matrices_stay_what_they_are() {
        assert_eq!(spectrum(&[0.0; 6], &[1.0, 2.0, 3.0]), (vec![0.0; 3], vec![1.0, 2.0, 3.0]));
        assert_eq!(spectrum(&[2.0, 0.0, 5.0], &[1.0, -1.0]), (vec![2.0, 5.0], vec![1.0, -1.0]));
    }
}
