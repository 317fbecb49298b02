//! A generated MovieLens-like set of ratings, for machines without the real file.
//!
//! What a user watches is a mixture of topics, P(movie | user) = sum over topics of the user's
//! interest in the topic times the topic's share of the movie. So watching and liking are both of low rank, and a set
//! of 20 million ratings costs seconds, since nothing is computed for movies that a user does not rate.

use armwise::Round;
use rayon::prelude::*;

use super::{
    ratings::{Ratings, Source, renumber},
    sparse::Sparse,
};
use crate::{Error, streams};

/// Topics: the rank of the tastes.
const TOPICS: usize = 32;
/// Spread of the logarithm of a movie's popularity; ml-20m's counts have a tail like this.
const POPULARITY: f64 = 1.7;
/// Spread of the logarithm of a movie's weight in a topic.
const TOPICALITY: f64 = 1.5;
/// Spread of the logarithm of a user's interest in a topic.
const INTEREST: f64 = 1.6;
/// The n-th topic is of interest in proportion to n^-0.7, so singular values fall gradually, as those of MovieLens do.
const FASHION: f64 = -0.7;
/// Spread of the logarithm of a user's activity.
const ACTIVITY: f64 = 1.2;
/// MovieLens keeps users with at least this many ratings.
const LEAST_ACTIVITY: f64 = 20.0;
/// No user rates more than this share of the movies.
const MOST_ACTIVITY: f64 = 0.25;

/// The sizes of a generated set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generated {
    /// Users.
    pub users: usize,
    /// Movies that can be rated; the least popular may end without a rating.
    pub movies: usize,
    /// The intended number of ratings; the set has about this many.
    pub ratings: usize,
}

/// 30,000 users, enough for the N = 20,000 of k = 200, who give about 100 ratings each.
impl Default for Generated {
    fn default() -> Self {
        Self { users: 30_000, movies: 8_000, ratings: 3_000_000 }
    }
}

impl Generated {
    pub(crate) fn ratings(&self, seed: u64) -> Result<Ratings, Error> {
        self.check()?;
        let round = Round::new(seed, 0);
        let activity = self.activity(round);
        let catalogue = Catalogue::new(round, self.movies);
        let rows: Vec<Vec<(u32, u8)>> = activity
            .par_iter()
            .enumerate()
            .map_init(|| vec![false; self.movies], |seen, (user, &count)| catalogue.rate(round, user, count, seen))
            .collect();
        let users: Vec<u32> = (0u32..).zip(&rows).flat_map(|(user, row)| row.iter().map(move |_| user)).collect();
        let mut movies: Vec<u32> = rows.iter().flatten().map(|(movie, _)| movie + 1).collect();
        let halves: Vec<u8> = rows.iter().flatten().map(|(_, half)| *half).collect();
        drop(rows);
        let movie_ids = renumber(&mut movies);
        let matrix = Sparse::from_entries(self.users, movie_ids.len(), &users, &movies, &halves);
        Ok(Ratings::new(Source::Generated, (1..=self.users as u32).collect(), movie_ids, matrix))
    }

    fn check(&self) -> Result<(), Error> {
        let limit = |name, value: usize, ok: bool, must: &str| {
            if ok { Ok(()) } else { Err(Error::Parameter { name, value: value.to_string(), must: must.to_owned() }) }
        };
        limit("users", self.users, (1..1 << 31).contains(&self.users), "from 1 to 2^31 - 1")?;
        limit("movies", self.movies, (8..1 << 31).contains(&self.movies), "from 8 to 2^31 - 1")?;
        let most = self.users * self.movies / 8;
        let must = "at least one for each user and at most an eighth of users x movies";
        limit("ratings", self.ratings, (self.users..=most).contains(&self.ratings), must)
    }

    /// How many movies each user rates: a minimum and a lognormal part, scaled so that the sum is the intended one.
    fn activity(&self, round: Round) -> Vec<usize> {
        let draws = round.draws(0, streams::ACTIVITY);
        let weights: Vec<f64> = (0..self.users as u64).map(|user| libm::exp(ACTIVITY * draws.normal(user))).collect();
        let mean = self.ratings as f64 / self.users as f64;
        let floor = LEAST_ACTIVITY.min(mean / 2.0).max(1.0);
        let most = (MOST_ACTIVITY * self.movies as f64).max(floor);
        let count = |scale: f64, weight: &f64| (floor + scale * weight).min(most).round();
        let (mut low, mut high) = (0.0, 1e3 * mean);
        for _ in 0..60 {
            let scale = f64::midpoint(low, high);
            let sum: f64 = weights.iter().map(|weight| count(scale, weight)).sum();
            if sum < self.ratings as f64 { low = scale } else { high = scale }
        }
        #[expect(clippy::cast_sign_loss, reason = "a count is at least 1")]
        weights.iter().map(|weight| count(high, weight) as usize).collect()
    }
}

/// The movies: how good each is, and how each topic spreads over them.
struct Catalogue {
    /// Per topic, the running sums of the movies' shares, up to 1.
    running: Vec<Vec<f64>>,
    /// Per movie and topic, the topic's share of the movie over the movie's share of all: above 1 if it fits the topic.
    lift: Vec<[f64; TOPICS]>,
    quality: Vec<f64>,
}

impl Catalogue {
    fn new(round: Round, movies: usize) -> Self {
        let weight = |topic: usize, spread: f64| {
            let draws = round.draws(topic as u32, streams::TOPICS);
            (0..movies as u64).map(move |movie| libm::exp(spread * draws.normal(movie)))
        };
        let popularity: Vec<f64> = weight(TOPICS, POPULARITY).collect();
        let total: f64 = popularity.iter().sum();
        let mut lift = vec![[0.0; TOPICS]; movies];
        let running = (0..TOPICS)
            .map(|topic| {
                let weights: Vec<f64> = weight(topic, TOPICALITY).collect();
                let sum: f64 = popularity.iter().zip(&weights).map(|(p, w)| p * w).sum();
                let mut share = 0.0;
                let mut running = Vec::with_capacity(movies);
                for ((p, w), lift) in popularity.iter().zip(&weights).zip(&mut lift) {
                    lift[topic] = w * total / sum;
                    share += p * w / sum;
                    running.push(share);
                }
                running
            })
            .collect();
        let offsets = round.draws(0, streams::OFFSETS);
        let quality = (0..movies as u64).map(|movie| 0.4 * offsets.normal(movie)).collect();
        Self { running, lift, quality }
    }

    /// The movies and half stars of a user; `seen` is all false before and after.
    fn rate(&self, round: Round, user: usize, count: usize, seen: &mut [bool]) -> Vec<(u32, u8)> {
        let interest = interests(round, user);
        let kindness = 0.4 * round.draws(1, streams::OFFSETS).normal(user as u64);
        let watched = round.draws(0, streams::WATCHED);
        let noise = round.draws(0, streams::NOISE);
        let id = |n: usize| (user as u64) << 32 | n as u64;
        let mut row = Vec::with_capacity(count);
        // A user of narrow tastes may run out of movies, so the number of draws is limited.
        for n in 0..10 * count {
            if row.len() == count {
                break;
            }
            let topic = pick(&interest, watched.uniform(id(2 * n)));
            let movie = pick(&self.running[topic], watched.uniform(id(2 * n + 1)));
            if std::mem::replace(&mut seen[movie], true) {
                continue;
            }
            let liking = libm::log(interest_in(&interest, &self.lift[movie]));
            let stars = 3.3 + self.quality[movie] + kindness + 0.3 * liking + 0.7 * noise.normal(id(movie));
            row.push((movie as u32, half_stars(stars)));
        }
        for (movie, _) in &row {
            seen[*movie as usize] = false;
        }
        row
    }
}

/// The running sums of a user's interest in the topics, up to 1.
fn interests(round: Round, user: usize) -> [f64; TOPICS] {
    let draws = round.draws(0, streams::INTERESTS);
    let mut running = [0.0; TOPICS];
    let mut sum = 0.0;
    for (n, running) in running.iter_mut().enumerate() {
        let usual = libm::pow((n + 1) as f64, FASHION);
        sum += usual * libm::exp(INTEREST * draws.normal((user * TOPICS + n) as u64));
        *running = sum;
    }
    running.map(|part| part / sum)
}

/// The sum over topics of interest times lift.
fn interest_in(running: &[f64; TOPICS], lift: &[f64; TOPICS]) -> f64 {
    let mut before = 0.0;
    running.iter().zip(lift).fold(0.0, |sum, (&upto, lift)| sum + (upto - std::mem::replace(&mut before, upto)) * lift)
}

/// The first place whose running sum is above `u`.
fn pick(running: &[f64], u: f64) -> usize {
    running.partition_point(|sum| *sum <= u).min(running.len() - 1)
}

#[expect(clippy::cast_sign_loss, reason = "clamped to 1 and up")]
fn half_stars(stars: f64) -> u8 {
    (2.0 * stars).round().clamp(1.0, 10.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Generated = Generated { users: 3_000, movies: 1_500, ratings: 150_000 };

    #[test]
    fn the_set_is_a_function_of_the_seed() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let a = one.install(|| SMALL.ratings(7)).unwrap();
        let b = SMALL.ratings(7).unwrap();
        assert_eq!((a.fingerprint(), a.matrix()), (b.fingerprint(), b.matrix()));
        assert_ne!(a.fingerprint(), SMALL.ratings(8).unwrap().fingerprint());
        assert_eq!(a.source().to_string(), "generated");
    }

    #[test]
    fn sizes_are_about_as_asked() {
        let ratings = SMALL.ratings(1).unwrap();
        assert_eq!(ratings.users(), 3_000);
        assert!((1_400..=1_500).contains(&ratings.movies()), "{}", ratings.movies());
        assert!((145_000..=150_500).contains(&ratings.len()), "{}", ratings.len());
        assert!((0..3_000).all(|user| !ratings.matrix().row(user).0.is_empty()));
    }

    /// Half of the ratings come from far fewer than half of the users, and go to far fewer than half of the movies.
    #[test]
    fn activity_and_popularity_have_heavy_tails() {
        let ratings = SMALL.ratings(1).unwrap();
        let holders = |mut counts: Vec<usize>| {
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let running = counts.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            });
            running.take_while(|sum| *sum < ratings.len() / 2).count()
        };
        let activity = (0..3_000).map(|user| ratings.matrix().row(user).0.len()).collect();
        let popularity = ratings.raters().iter().map(|count| *count as usize).collect();
        assert!(holders(activity) < 750);
        assert!(holders(popularity) < 225);
    }

    #[test]
    fn stars_use_the_whole_scale_around_three_and_a_half() {
        let ratings = SMALL.ratings(1).unwrap();
        let mut counts = [0usize; 11];
        (0..3_000).flat_map(|user| ratings.matrix().row(user).1).for_each(|half| counts[usize::from(*half)] += 1);
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|count| *count > 0), "{counts:?}");
        let mean =
            counts.iter().enumerate().map(|(half, count)| half * count).sum::<usize>() as f64 / ratings.len() as f64;
        assert!((6.6..7.6).contains(&mean), "{mean}");
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (users, movies, ratings) in [(0, 100, 10), (10, 0, 10), (10, 100, 9), (10, 100, 126)] {
            let error = Generated { users, movies, ratings }.ratings(1).unwrap_err();
            assert!(matches!(error, Error::Parameter { .. }), "{error}");
        }
    }
}
