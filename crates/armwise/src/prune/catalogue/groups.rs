//! Groups of arms that lie close together, so that one bound passes over all arms of a group.
//!
//! For |x - c| <= r, direction . x <= direction . c + |direction| r, and since a width is a norm,
//! width(x) <= width(c) + width(x - c) <= width(c) + most r. Centres are found in f32 from a sample, and nothing depends
//! on how good they are: the radius of a group is that of its farthest arm, in f64.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]

use crate::{Arms, kernel::Kernel, tasks};

/// Fewer arms are not grouped.
const LEAST: usize = 2_048;
/// Arms from which centres are chosen.
const SAMPLE: usize = 8_192;
/// There are at most this many centres, and on average at least this many arms to one.
const MOST: usize = 2_048;
const ARMS: usize = 8;
/// Arms are close if they are within this share of the distance of an average arm from the middle of all.
const CLOSE: f32 = 0.5;
/// If more than one arm in this many is not close to any centre, the arms do not lie in groups.
const ALONE: usize = 20;
/// Arms that are compared with a centre at a time, and in one task.
const PANEL: usize = 64;
const TASK: usize = 64 * PANEL;

/// The arms of a catalogue in groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// Row-major.
    pub(super) centres: Vec<f64>,
    /// An upper bound of |x - c| for the arms of each group; infinite for those that are close to nothing.
    pub(super) radii: Vec<f64>,
    rows: Vec<u32>,
    /// Where the rows of each group begin, and where the last end.
    starts: Vec<usize>,
}

impl Groups {
    /// None if the arms do not lie in groups.
    pub(super) fn new(arms: &Arms<'_>) -> Option<Self> {
        let (n, d) = (arms.len(), arms.dim());
        if n < LEAST || u32::try_from(n).is_err() {
            return None;
        }
        let sampled: Vec<usize> = (0..n.min(SAMPLE)).map(|place| place * n / n.min(SAMPLE)).collect();
        let scale = scale_of(arms, &sampled)?;
        let sample: Vec<f32> = sampled.iter().flat_map(|&row| arms.row(row)).map(|x| (x * scale) as f32).collect();
        if !has_neighbours(&sample, d) {
            return None;
        }
        let leaders = leaders(&sample, d, MOST.min(n / ARMS))?;
        let nearest = nearest(arms, scale, &leaders);
        let count = leaders.len() / d;
        if nearest.iter().filter(|&&group| group as usize == count).count() > n / ALONE {
            return None;
        }
        Some(Self::of(arms, &nearest, count))
    }

    /// Groups by their numbers, the last of which is that of arms close to nothing.
    fn of(arms: &Arms<'_>, groups: &[u32], count: usize) -> Self {
        let d = arms.dim();
        let mut starts = vec![0; count + 2];
        groups.iter().for_each(|&group| starts[group as usize + 1] += 1);
        (0..=count).for_each(|group| starts[group + 1] += starts[group]);
        let (mut next, mut rows) = (starts.clone(), vec![0; groups.len()]);
        for (row, &group) in (0..).zip(groups) {
            rows[next[group as usize]] = row;
            next[group as usize] += 1;
        }
        let made = tasks::map(count + 1, Vec::new, |x: &mut Vec<f64>, group| {
            let members = &rows[starts[group]..starts[group + 1]];
            let mut centre = vec![0.0; d];
            if group == count || members.is_empty() {
                return (centre, if members.is_empty() { 0.0 } else { f64::INFINITY });
            }
            x.clear();
            members.iter().for_each(|&row| arms.row_onto(row as usize, x));
            x.chunks_exact(d).for_each(|x| centre.iter_mut().zip(x).for_each(|(sum, x)| *sum += x));
            centre.iter_mut().for_each(|sum| *sum /= members.len() as f64);
            let square = |x: &[f64]| x.iter().zip(&centre).map(|(x, c)| (x - c) * (x - c)).sum::<f64>();
            let farthest = x.chunks_exact(d).map(square).fold(0.0, f64::max);
            // For what squares lose, below the range of f64 too.
            (centre, farthest.sqrt() * (1.0 + 1e-9) + 1e-150)
        });
        let radii = made.iter().map(|(_, radius)| *radius).collect();
        let centres = made.into_iter().flat_map(|(centre, _)| centre).collect();
        Self { centres, radii, rows, starts }
    }

    /// The centre of a group; zero for arms that are close to nothing.
    pub(super) fn centre(&self, group: usize) -> &[f64] {
        let d = self.centres.len() / self.radii.len();
        &self.centres[group * d..(group + 1) * d]
    }

    /// The group of each of the `n` rows.
    pub(super) fn of_rows(&self, n: usize) -> Vec<u32> {
        let mut groups = vec![0; n];
        for group in 0..self.radii.len() {
            self.rows(group).iter().for_each(|&row| groups[row as usize] = group as u32);
        }
        groups
    }

    /// The rows of a group, ascending.
    pub(super) fn rows(&self, group: usize) -> &[u32] {
        &self.rows[self.starts[group]..self.starts[group + 1]]
    }
}

/// One over the root of the mean square distance from the middle; none if that is no ordinary number.
fn scale_of(arms: &Arms<'_>, sample: &[usize]) -> Option<f64> {
    let mut middle = vec![0.0; arms.dim()];
    let add = |row: &usize| arms.row(*row).iter().zip(&mut middle).for_each(|(x, sum)| *sum += x);
    sample.iter().for_each(add);
    middle.iter_mut().for_each(|sum| *sum /= sample.len() as f64);
    let square = |row: &usize| arms.row(*row).iter().zip(&middle).map(|(x, c)| (x - c) * (x - c)).sum::<f64>();
    let spread = sample.iter().map(square).sum::<f64>() / sample.len() as f64;
    let scale = 1.0 / spread.sqrt();
    scale.is_normal().then_some(scale)
}

/// Whether most arms have another one close by: a look at a few of them, since looking for leaders in vain takes long.
fn has_neighbours(sample: &[f32], d: usize) -> bool {
    const FEW: usize = 64;
    let all = sample.len() / d;
    let mut close = 0;
    for own in (0..FEW).map(|place| place * all / FEW) {
        let x = &sample[own * d..(own + 1) * d];
        let least = Kernel::get().dispatch(
            #[inline(always)]
            || {
                let others = sample.chunks_exact(d).enumerate().filter(|(place, _)| *place != own);
                others.map(|(_, other)| distance(x, other)).fold(f32::INFINITY, f32::min)
            },
        );
        close += usize::from(least <= CLOSE * CLOSE);
    }
    4 * close >= 3 * FEW
}

/// Arms of the sample such that all others are close to one of them, each the farthest from those before; none if that
/// takes too many.
fn leaders(sample: &[f32], d: usize, most: usize) -> Option<Vec<f32>> {
    let mut squares = vec![f32::INFINITY; sample.len() / d];
    let (mut leaders, mut next) = (Vec::new(), 0);
    for _ in 0..most {
        let leader = &sample[next * d..(next + 1) * d];
        leaders.extend_from_slice(leader);
        Kernel::get().dispatch(
            #[inline(always)]
            || {
                for (x, square) in sample.chunks_exact(d).zip(&mut squares) {
                    *square = square.min(distance(x, leader));
                }
            },
        );
        let mut farthest = -1.0;
        for (place, &square) in squares.iter().enumerate() {
            if square > farthest {
                (next, farthest) = (place, square);
            }
        }
        if farthest <= CLOSE * CLOSE {
            return Some(leaders);
        }
    }
    None
}

/// The square of a distance, summed in no particular order.
#[inline(always)]
fn distance(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
}

/// The number of each arm's nearest leader, or one past the last where none is close.
fn nearest(arms: &Arms<'_>, scale: f64, leaders: &[f32]) -> Vec<u32> {
    let (n, d) = (arms.len(), arms.dim());
    let squares: Vec<f32> = leaders.chunks_exact(d).map(|leader| leader.iter().map(|x| x * x).sum()).collect();
    let parts = tasks::map(n.div_ceil(TASK), Vec::new, |panel: &mut Vec<f32>, part| {
        let mut found = Vec::with_capacity(TASK);
        for first in (part * TASK..n.min((part + 1) * TASK)).step_by(PANEL) {
            let here = PANEL.min(n - first);
            panel.clear();
            panel.resize(d * PANEL, 0.0);
            let mut own = [0.0; PANEL];
            for row in 0..here {
                for (column, x) in arms.row(first + row).into_iter().enumerate() {
                    let x = (x * scale) as f32;
                    panel[column * PANEL + row] = x;
                    own[row] += x * x;
                }
            }
            let (least, which) = Kernel::get().dispatch(
                #[inline(always)]
                || closest(panel, leaders, &squares),
            );
            let none = squares.len() as u32;
            // Twice as far as the sample is: the sample has not seen everything.
            let group = |row: usize| if least[row] + own[row] <= 4.0 * CLOSE * CLOSE { which[row] } else { none };
            found.extend((0..here).map(group));
        }
        found
    });
    parts.concat()
}

/// For each arm of a panel the least of |c|^2 - 2 c . x, and whose it is.
#[inline(always)]
fn closest(panel: &[f32], leaders: &[f32], squares: &[f32]) -> ([f32; PANEL], [u32; PANEL]) {
    let (mut least, mut which) = ([f32::INFINITY; PANEL], [0; PANEL]);
    let columns = panel.as_chunks::<PANEL>().0;
    for ((number, leader), &square) in (0..).zip(leaders.chunks_exact(columns.len())).zip(squares) {
        let mut dots = [0.0; PANEL];
        for (x, &factor) in columns.iter().zip(leader) {
            for lane in 0..PANEL {
                dots[lane] += x[lane] * factor;
            }
        }
        for lane in 0..PANEL {
            let found = square - 2.0 * dots[lane];
            which[lane] = if found < least[lane] { number } else { which[lane] };
            least[lane] = if found < least[lane] { found } else { least[lane] };
        }
    }
    (least, which)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Round, Stream};

    /// 50 balls, and a few arms that belong to none.
    #[test]
    fn arms_in_balls_are_found_in_groups_and_others_are_not() {
        const N: usize = 4_000;
        const D: usize = 20;
        let draws = Round::new(1, 1).draws(0, Stream(300));
        let noise: Vec<f64> = (0..(N * D) as u64).map(|id| draws.normal(id)).collect();
        assert!(Groups::new(&Arms::new(&noise, D).expect("rows")).is_none());
        let ball = |place: usize| noise[place / D % 50 * D + place % D] + 0.05 * noise[(place + 50 * D) % (N * D)];
        let mut x: Vec<f64> = (0..N * D).map(ball).collect();
        (0..7 * D).for_each(|place| x[(N / 2) * D + place] = -noise[place] * 3.0);
        let arms = Arms::new(&x, D).expect("rows");
        let groups = Groups::new(&arms).expect("balls");
        let count = groups.radii.len();
        assert!((50..90).contains(&count), "{count} groups");
        let mut seen = vec![0; N];
        for group in 0..count {
            let centre = &groups.centres[group * D..(group + 1) * D];
            for &row in groups.rows(group) {
                seen[row as usize] += 1;
                let square: f64 = arms.row(row as usize).iter().zip(centre).map(|(x, c)| (x - c).powi(2)).sum();
                assert!(square.sqrt() <= groups.radii[group], "row {row}");
            }
        }
        assert!(seen.iter().all(|&times| times == 1), "every arm is in one group");
        let near = groups.radii.iter().filter(|radius| **radius < 1.0).count();
        assert!(near >= 50, "{near} tight groups");
    }
}
