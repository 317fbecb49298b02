//! Everything that can go wrong in the lab, as one enum: facts in fields, a message that says what, where and what to
//! do.
//!
//! `Display` is the whole message for a user, the cause included, on one line. A caller prints
//! it and nothing else.

use std::path::PathBuf;

/// What went wrong, where, and with which value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An archive is damaged or has no ratings in it.
    #[error("{}: {what}; expected a MovieLens archive with a ratings.csv or ratings.dat in it", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The first line is of no known rating format.
    #[error(
        "{place}:1: the first line is {found:?}; expected the header userId,movieId,rating,timestamp, or user::movie::rating::timestamp"
    )]
    Columns {
        /// The file.
        place: String,
        /// The start of its first line.
        found: String,
    },
    /// A line that is not a rating.
    #[error("{place}:{line}: {found:?} is not a rating: {what}")]
    Malformed {
        /// The file.
        place: String,
        /// The line, from 1.
        line: u64,
        /// The start of the line.
        found: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A rating that is not one of the ten of the 5-star scale.
    #[error("{place}:{line}: rating {rating} is out of range; ratings go from 0.5 to 5 in steps of 0.5")]
    RatingRange {
        /// The file.
        place: String,
        /// The line, from 1.
        line: u64,
        /// The rating as written.
        rating: String,
    },
    /// The same user rates the same movie twice.
    #[error("{place}:{second}: user {user} rates movie {movie} again, after line {first}")]
    RatedTwice {
        /// The file.
        place: String,
        /// The line of the first rating, from 1.
        first: u64,
        /// The line of the second rating, from 1.
        second: u64,
        /// The user's id in the file.
        user: u32,
        /// The movie's id in the file.
        movie: u32,
    },
    /// A file without a single rating.
    #[error("{place}: there are no ratings in it")]
    NoRatings {
        /// The file.
        place: String,
    },
    /// Too few movies have a number of ratings in the band from which test movies are drawn.
    #[error(
        "{label}: {found} of {movies} movies are rated by {least} to {most} of the {users} users, but {wanted} test movies are needed; give more ratings or fewer promotions"
    )]
    TooFewMovies {
        /// Where the ratings come from.
        label: String,
        /// Movies in the band.
        found: usize,
        /// Movies needed.
        wanted: usize,
        /// All movies.
        movies: usize,
        /// All users.
        users: usize,
        /// The fewest ratings a test movie may have.
        least: usize,
        /// The most ratings a test movie may have.
        most: usize,
    },
    /// A parameter is outside its range.
    #[error("{name} = {value}: must be {must}")]
    Parameter {
        /// The parameter's name, as in TOML and on the command line.
        name: &'static str,
        /// The value given.
        value: String,
        /// The range it must be in.
        must: String,
    },
    /// An unknown name.
    #[error("{what} {name:?} is unknown; it must be one of {}", known.join(", "))]
    UnknownName {
        /// What was to be named, for example `features`.
        what: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        known: &'static [&'static str],
    },
    /// A numerical method did not converge.
    #[error("{method}: {what}")]
    Numerical {
        /// The method.
        method: &'static str,
        /// What happened.
        what: String,
    },
    /// A study that cannot be read or makes no sense.
    #[error("{place}: {what}")]
    Study {
        /// The file, and where there is one the line and column: `experiment.toml:3:1`.
        place: String,
        /// What is wrong and what is expected.
        what: String,
    },
    /// The library refused.
    #[error(transparent)]
    Armwise(#[from] armwise::Error),
}
