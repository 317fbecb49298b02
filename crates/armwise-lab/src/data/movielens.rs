//! Reading a MovieLens file: `ratings.csv`, `ratings.dat`, or the zip as downloaded.
//!
//! The file is streamed, so ml-20m needs about 400 MB while it is read and 100 MB after.

use std::{
    borrow::Cow,
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
    path::Path,
};

use zip::ZipArchive;

use super::{
    lines::{Fault, Format},
    ratings::{Ratings, Source, renumber},
    sparse::Sparse,
};
use crate::Error;

/// The longest first line that is accepted, so that a large file of another kind is refused at once.
const LONGEST_FIRST_LINE: u64 = 4096;

/// Ratings in the order of the lines.
#[derive(Default)]
struct Lines {
    users: Vec<u32>,
    movies: Vec<u32>,
    halves: Vec<u8>,
    /// Lines before the first rating.
    header: u64,
}

pub(crate) fn read(path: &Path) -> Result<Ratings, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
    let zipped = file.fill_buf().map_err(io)?.starts_with(b"PK\x03\x04");
    let place = path.display().to_string();
    let (lines, place) = if zipped { read_archive(file, path)? } else { (read_lines(&mut file, path, &place)?, place) };
    let name = path.file_name().map_or_else(|| place.clone(), |name| name.to_string_lossy().into_owned());
    number(lines, Source::File(name), &place)
}

fn read_archive(file: impl Read + Seek, path: &Path) -> Result<(Lines, String), Error> {
    let broken = |what: String| Error::Archive { path: path.to_owned(), what };
    let mut archive = ZipArchive::new(file).map_err(|error| broken(error.to_string()))?;
    let is_ratings = |name: &str| matches!(name.rsplit('/').next(), Some("ratings.csv" | "ratings.dat"));
    let name = archive.file_names().flatten().filter(|name| is_ratings(name)).min().map(Cow::into_owned);
    let name = name.ok_or_else(|| broken("there are no ratings in the archive".to_owned()))?;
    let place = format!("{}/{name}", path.display());
    let entry = archive.by_name(&name).map_err(|error| broken(format!("{name}: {error}")))?;
    let lines = read_lines(&mut BufReader::with_capacity(1 << 20, entry), path, &place)?;
    Ok((lines, place))
}

fn read_lines(reader: &mut impl BufRead, path: &Path, place: &str) -> Result<Lines, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut line = Vec::new();
    reader.by_ref().take(LONGEST_FIRST_LINE).read_until(b'\n', &mut line).map_err(io)?;
    let first = trimmed(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)).to_owned();
    if first.is_empty() && line.is_empty() {
        return Err(Error::NoRatings { place: place.to_owned() });
    }
    let format =
        Format::of(&first).ok_or_else(|| Error::Columns { place: place.to_owned(), found: excerpt(&first) })?;
    let mut lines = Lines { header: u64::from(format.header), ..Lines::default() };
    if !format.header {
        lines.add(&format, &first, place)?;
    }
    let mut blank = false;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io)? == 0 {
            return Ok(lines);
        }
        let content = trimmed(&line);
        if blank {
            // Blank lines are accepted at the end of the file only.
            if !content.is_empty() {
                return Err(lines.fault(Fault::Malformed("the line is empty"), b"", place));
            }
        } else if content.is_empty() {
            blank = true;
        } else {
            lines.add(&format, content, place)?;
        }
    }
}

impl Lines {
    fn add(&mut self, format: &Format, line: &[u8], place: &str) -> Result<(), Error> {
        let (user, movie, half) = format.parse(line).map_err(|fault| self.fault(fault, line, place))?;
        self.users.push(user);
        self.movies.push(movie);
        self.halves.push(half);
        Ok(())
    }

    /// The line number, from 1, of the rating at this position.
    fn line(&self, position: usize) -> u64 {
        position as u64 + 1 + self.header
    }

    /// The error for a fault in the line after those taken so far.
    #[cold]
    fn fault(&self, fault: Fault<'_>, line: &[u8], place: &str) -> Error {
        let (place, number) = (place.to_owned(), self.line(self.users.len()));
        match fault {
            Fault::Malformed(what) => Error::Malformed { place, line: number, found: excerpt(line), what },
            Fault::Range(rating) => Error::RatingRange { place, line: number, rating: excerpt(rating) },
        }
    }
}

/// A line without its end.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The start of a line, for a message.
fn excerpt(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(60).collect()
}

/// Numbers users and movies in the order of their ids and sorts the ratings.
fn number(mut lines: Lines, source: Source, place: &str) -> Result<Ratings, Error> {
    if lines.users.is_empty() {
        return Err(Error::NoRatings { place: place.to_owned() });
    }
    let user_ids = renumber(&mut lines.users);
    let movie_ids = renumber(&mut lines.movies);
    let matrix = Sparse::from_entries(user_ids.len(), movie_ids.len(), &lines.users, &lines.movies, &lines.halves);
    for (user, &user_id) in user_ids.iter().enumerate() {
        if let Some(pair) = matrix.row(user).0.windows(2).find(|pair| pair[0] == pair[1]) {
            let movie = pair[0];
            let same = |at: &usize| lines.users[*at] as usize == user && lines.movies[*at] == movie;
            let mut twice = (0..lines.users.len()).filter(same).map(|at| lines.line(at));
            let (first, second) = (twice.next().unwrap_or(0), twice.next().unwrap_or(0));
            let (user, movie) = (user_id, movie_ids[movie as usize]);
            return Err(Error::RatedTwice { place: place.to_owned(), first, second, user, movie });
        }
    }
    Ok(Ratings::new(source, user_ids, movie_ids, matrix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Ratings, Error> {
        let lines = read_lines(&mut text.as_bytes(), Path::new("f"), "f")?;
        number(lines, Source::File("f".to_owned()), "f")
    }

    fn message(text: &str) -> String {
        parsed(text).expect_err("a refusal").to_string()
    }

    const HEADER: &str = "userId,movieId,rating,timestamp";

    #[test]
    fn numbers_follow_the_ids_and_not_the_lines() {
        let a = parsed(&format!("{HEADER}\r\n7,30,4.5,1\r\n7,20,1.0,1\r\n3,30,0.5,1\r\n")).unwrap();
        let b = parsed("3::30::0.5::9\n7::20::1::9\n7::30::4.5::9\n\n").unwrap();
        assert_eq!((a.users(), a.movies(), a.len()), (2, 2, 3));
        assert_eq!((a.user_ids(), a.movie_ids()), (&[3, 7][..], &[20, 30][..]));
        assert_eq!([(0, 0), (0, 1), (1, 0), (1, 1)].map(|(user, movie)| a.matrix().get(user, movie)), [0, 1, 2, 9]);
        assert!((a.rating(1, 1) - 4.5).abs() < f64::EPSILON);
        assert_eq!(a.raters(), [1, 2]);
        assert_eq!(a.fingerprint(), b.fingerprint());
        let other = parsed("3::30::1.0::9\n7::20::1::9\n7::30::4.5::9").unwrap();
        assert_ne!(a.fingerprint(), other.fingerprint());
    }

    /// The bytes are written out here by hand.
    #[test]
    fn the_fingerprint_is_xxh64_of_the_canonical_bytes() {
        let ratings = parsed("258::3::2.5::9\n1::2::5::9").unwrap();
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 10, 2, 1, 0, 0, 3, 0, 0, 0, 5];
        assert_eq!(ratings.fingerprint(), twox_hash::XxHash64::oneshot(0, &bytes));
    }

    #[test]
    fn messages_name_the_place() {
        assert_eq!(message(""), "f: there are no ratings in it");
        assert_eq!(message(HEADER), "f: there are no ratings in it");
        assert!(message("movieId,title\n").starts_with("f:1: the first line is \"movieId,title\"; expected"));
        assert_eq!(
            message(&format!("{HEADER}\n1,2,3.0,4\n1,3,5.5,4\n")),
            "f:3: rating 5.5 is out of range; ratings go from 0.5 to 5 in steps of 0.5"
        );
        assert_eq!(message("1::2::3::4\n1::3::4\n"), "f:2: \"1::3::4\" is not a rating: a column is missing");
        assert_eq!(message("1::2::3::4\n\n1::3::4::4\n"), "f:2: \"\" is not a rating: the line is empty");
        assert_eq!(
            message(&format!("{HEADER}\n1,2,3.0,4\n2,2,3.0,4\n1,2,4.0,4\n")),
            "f:4: user 1 rates movie 2 again, after line 2"
        );
    }
}
