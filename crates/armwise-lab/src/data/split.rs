//! Test movies, which become promotions, and the training ratings that are left.
//!
//! A movie's place in the draw is a hash of its id, so the choice depends on the seed and on the
//! movies that qualify, not on how they are stored. The splits of a seed are cut from one shuffle and share no movie
//! while the band lasts; beyond that they are drawn independently.

use armwise::Round;

use super::{ratings::Ratings, sparse::Sparse};
use crate::{Error, streams};

/// Users of ml-20m, the set that the paper's band of 1,400 to 2,800 raters is for.
const PAPER_USERS: usize = 138_493;
const PAPER_BAND: [usize; 2] = [1_400, 2_800];

/// How many raters a test movie may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Band {
    /// The fewest.
    pub least: usize,
    /// The most.
    pub most: usize,
}

impl Band {
    /// The paper's band for a set of this many users: 1,400 to 2,800 on ml-20m, otherwise the same share of the users.
    #[must_use]
    pub fn of(users: usize) -> Self {
        let [least, most] = PAPER_BAND.map(|bound| bound * users);
        Self { least: least.div_ceil(PAPER_USERS).max(1), most: most / PAPER_USERS }
    }

    /// The movies (by number) of a set that are in its band.
    #[must_use]
    pub fn movies(self, ratings: &Ratings) -> Vec<u32> {
        let band = self.least as u64..=self.most as u64;
        (0u32..)
            .zip(ratings.raters())
            .filter(|(_, raters)| band.contains(&u64::from(*raters)))
            .map(|(m, _)| m)
            .collect()
    }
}

/// A set of ratings, divided.
#[derive(Debug, Clone)]
pub struct Split {
    /// The test movies by number, ascending: promotion j is the j-th.
    pub movies: Vec<u32>,
    /// Row-major users x promotions: the rating of the promotion's movie by the user, or 0.
    pub rewards: Vec<f32>,
    training: Sparse,
}

impl Split {
    /// Draws `promotions` test movies from the band; `number` tells the splits of one seed apart.
    ///
    /// With M = `promotions`, split j has the places jM to (j + 1)M of the seed's shuffle. If the band is too small for
    /// that, it has the first M of a separate shuffle.
    ///
    /// # Errors
    /// [`Error::TooFewMovies`] if the band has fewer movies than promotions; [`Error::Parameter`] for no promotion at
    /// all.
    pub fn draw(ratings: &Ratings, promotions: usize, seed: u64, number: u64) -> Result<Self, Error> {
        if promotions == 0 {
            let must = "at least 1".to_owned();
            return Err(Error::Parameter { name: "promotions", value: "0".to_owned(), must });
        }
        let band = Band::of(ratings.users());
        let mut movies = band.movies(ratings);
        if movies.len() < promotions {
            return Err(Error::TooFewMovies {
                label: ratings.source().to_string(),
                found: movies.len(),
                wanted: promotions,
                movies: ratings.movies(),
                users: ratings.users(),
                least: band.least,
                most: band.most,
            });
        }
        let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(promotions));
        let cut = start.filter(|start| start.saturating_add(promotions) <= movies.len());
        let draws = Round::new(seed, if cut.is_some() { 0 } else { number }).draws(0, streams::SPLIT);
        movies.sort_by_key(|movie| {
            let id = ratings.movie_ids()[*movie as usize];
            (draws.bits(u64::from(id)), id)
        });
        let start = cut.unwrap_or(0);
        let mut movies = movies[start..start + promotions].to_vec();
        movies.sort_unstable();
        let matrix = ratings.matrix();
        let rewards = (0..ratings.users())
            .flat_map(|user| movies.iter().map(move |movie| 0.5 * f32::from(matrix.get(user, *movie))))
            .collect();
        Ok(Self { training: matrix.without_columns(&movies), movies, rewards })
    }

    /// How many training ratings are left.
    #[must_use]
    pub fn training_ratings(&self) -> usize {
        self.training.len()
    }

    pub(crate) fn training(&self) -> &Sparse {
        &self.training
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Generated;

    fn ratings() -> Ratings {
        Generated { users: 3_000, movies: 1_500, ratings: 150_000 }.ratings(3).unwrap()
    }

    #[test]
    fn the_band_is_the_papers_on_ml_20m_and_the_same_share_elsewhere() {
        assert_eq!(Band::of(138_493), Band { least: 1_400, most: 2_800 });
        assert_eq!(Band::of(6_040), Band { least: 62, most: 122 });
        assert_eq!(Band::of(2 * 138_493), Band { least: 2_800, most: 5_600 });
    }

    #[test]
    fn test_movies_leave_training_and_become_rewards() {
        let ratings = ratings();
        let split = Split::draw(&ratings, 10, 5, 0).unwrap();
        let band = Band::of(ratings.users());
        let raters = ratings.raters();
        assert_eq!(split.movies.len(), 10);
        assert!(split.movies.is_sorted_by(|a, b| a < b));
        let mut taken = 0;
        for (promotion, &movie) in split.movies.iter().enumerate() {
            let count = raters[movie as usize] as usize;
            assert!((band.least..=band.most).contains(&count));
            taken += count;
            let mut rewarded = 0;
            for user in 0..ratings.users() {
                let reward = f64::from(split.rewards[10 * user + promotion]);
                assert!((reward - ratings.rating(user, movie as usize)).abs() < f64::EPSILON);
                assert_eq!(split.training().get(user, movie), 0);
                rewarded += usize::from(reward > 0.0);
            }
            assert_eq!(rewarded, count);
        }
        assert_eq!(split.training_ratings() + taken, ratings.len());
    }

    #[test]
    fn the_draw_follows_seed_and_number_and_reaches_every_movie_of_the_band() {
        let ratings = ratings();
        let movies = |seed, number| Split::draw(&ratings, 10, seed, number).unwrap().movies;
        assert_eq!(movies(5, 0), movies(5, 0));
        assert_ne!(movies(5, 0), movies(5, 1));
        assert_ne!(movies(5, 0), movies(6, 0));
        let band = Band::of(ratings.users()).movies(&ratings);
        let all = Split::draw(&ratings, band.len(), 5, 0).unwrap();
        assert_eq!(all.movies, band);
    }

    #[test]
    fn splits_share_no_movie_while_the_band_lasts() {
        let ratings = ratings();
        let band = Band::of(ratings.users()).movies(&ratings);
        let whole = (band.len() / 10) as u64;
        let movies = |number| Split::draw(&ratings, 10, 5, number).unwrap().movies;
        let mut all: Vec<u32> = (0..whole).flat_map(movies).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 10 * whole as usize);
        // Later splits are drawn independently.
        let (next, after) = (movies(whole), movies(whole + 1));
        assert!(next != after && next.len() == 10 && next.iter().all(|movie| band.contains(movie)));
    }

    #[test]
    fn too_few_movies_are_counted() {
        let ratings = ratings();
        let error = Split::draw(&ratings, 1_400, 5, 0).unwrap_err();
        let Error::TooFewMovies { found, wanted: 1_400, users: 3_000, least: 31, most: 60, .. } = error else {
            panic!("{error}");
        };
        assert!((10..1_400).contains(&found), "{found}");
        assert!(matches!(Split::draw(&ratings, 0, 5, 0), Err(Error::Parameter { name: "promotions", .. })));
    }
}
