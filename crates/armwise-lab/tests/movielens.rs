//! Ratings files from disk: what is refused, and the real ml-1m where it is at hand.
//!
//! `ARMWISE_ML1M` names the folder of the real ml-1m (`ratings.dat` and `ml-1m.zip`), whose terms
//! forbid redistribution. Where it is not set, the tests that need it say so and pass.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use armwise_lab::{
    Error,
    data::{Band, Customers, Features, Ratings, Split, Svd, Variant},
};
use faer::{Mat, Scale};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the folder for temporary files is writable");
    path
}

fn archive(name: &str, entry: &str, content: &[u8]) -> PathBuf {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(entry, options).expect("memory takes any file");
    zip.write_all(content).expect("memory takes any content");
    file(name, zip.finish().expect("memory takes the directory").get_ref())
}

fn ml_1m() -> Option<PathBuf> {
    let folder = std::env::var_os("ARMWISE_ML1M").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: ARMWISE_ML1M does not name a folder with ml-1m");
    }
    folder
}

const CSV: &[u8] = b"userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n1,29,3.5,1112484676\n9,2,0.5,1112484819\n";

#[test]
fn the_same_ratings_have_one_fingerprint_in_every_format() {
    let dat = b"9::2::0.5::7\n1::29::3.5::8\n1::2::3.5::9\n";
    let plain = Ratings::read(&file("ratings.csv", CSV)).unwrap();
    assert_eq!(plain.source().to_string(), "ratings.csv");
    assert_eq!((plain.users(), plain.movies(), plain.len()), (2, 2, 3));
    for other in [
        file("anything", dat),
        archive("ml-20m.zip", "ml-20m/ratings.csv", CSV),
        archive("ml-10m.zip", "ml-10M100K/ratings.dat", dat),
    ] {
        let ratings = Ratings::read(&other).unwrap();
        assert_eq!(ratings.fingerprint(), plain.fingerprint(), "{}", other.display());
        assert_eq!(ratings.source().to_string(), other.file_name().unwrap().to_string_lossy());
    }
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let missing = Ratings::read(Path::new("no/such/ratings.csv")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }));
    assert!(missing.to_string().starts_with("no/such/ratings.csv: "), "{missing}");
    let folder = Ratings::read(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap_err();
    assert!(matches!(folder, Error::Io { .. }), "{folder}");
    let none = Ratings::read(&archive("none.zip", "ml-20m/movies.csv", CSV)).unwrap_err();
    assert!(matches!(none, Error::Archive { .. }), "{none}");
    let mut cut = fs::read(archive("cut.zip", "ml-20m/ratings.csv", CSV)).unwrap();
    cut.truncate(cut.len() / 2);
    let cut = Ratings::read(&file("cut.zip", &cut)).unwrap_err();
    assert!(matches!(cut, Error::Archive { .. }), "{cut}");
    let inside = Ratings::read(&archive("bad.zip", "ml-1m/ratings.dat", b"1::2::3::4\n1::3::6::4\n")).unwrap_err();
    assert!(matches!(inside, Error::RatingRange { line: 2, .. }), "{inside}");
    assert!(inside.to_string().contains("bad.zip/ml-1m/ratings.dat:2: rating 6 is out of range"), "{inside}");
    let columns = Ratings::read(&file("tags.csv", b"userId,movieId,tag,timestamp\n1,2,good,3\n")).unwrap_err();
    assert!(matches!(columns, Error::Columns { .. }), "{columns}");
}

/// A flipped byte in the compressed data is found by the archive's own checksum, or by the parser before it.
#[test]
fn a_damaged_archive_is_refused() {
    let line = |n: u32| format!("{n}::{}::{}::978300760", n * 7 % 91 + 1, n % 5 + 1);
    let lines = (1..2_000).map(line).collect::<Vec<_>>().join("\n");
    let path = archive("damaged.zip", "ml-1m/ratings.dat", lines.as_bytes());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    assert!(Ratings::read(&file("damaged.zip", &bytes)).is_err());
}

/// The counts are those of the data's own README, and of counting lines.
#[test]
fn ml_1m_is_read_whole() {
    let Some(folder) = ml_1m() else { return };
    let ratings = Ratings::read(&folder.join("ratings.dat")).unwrap();
    assert_eq!((ratings.users(), ratings.movies(), ratings.len()), (6_040, 3_706, 1_000_209));
    assert_eq!(Band::of(6_040).movies(&ratings).len(), 510);
    let movie = ratings.movie_ids().binary_search(&1193).unwrap();
    assert!((ratings.rating(0, movie) - 5.0).abs() < f64::EPSILON, "the first line is 1::1193::5::978300760");
    let zipped = Ratings::read(&folder.join("ml-1m.zip")).unwrap();
    assert_eq!(zipped.fingerprint(), ratings.fingerprint());
    assert_eq!(zipped.source().to_string(), "ml-1m.zip");
}

/// |A v - sigma u| and |A'u - sigma v| by plain sums over the dense matrix.
#[test]
fn the_triplets_of_ml_1m_are_singular() {
    const CHECKED: [usize; 3] = [0, 24, 49];
    let Some(folder) = ml_1m() else { return };
    let ratings = Ratings::read(&folder.join("ratings.dat")).unwrap();
    let split = Split::draw(&ratings, 10, 1, 0).unwrap();
    let svd = Svd::new(&split, 50, 1).unwrap();
    let mut left = Mat::<f64>::zeros(ratings.users(), 3);
    let mut right = Mat::<f64>::zeros(ratings.movies(), 3);
    for user in 0..ratings.users() {
        for movie in (0..ratings.movies()).filter(|movie| !split.movies.contains(&(*movie as u32))) {
            let rating = ratings.rating(user, movie);
            for (at, n) in CHECKED.into_iter().enumerate() {
                left[(user, at)] += rating * svd.v[(movie, n)];
                right[(movie, at)] += rating * svd.u[(user, n)];
            }
        }
    }
    for (at, n) in CHECKED.into_iter().enumerate() {
        let sigma = Scale(svd.sigma[n]);
        let to_left = (left.col(at) - sigma * svd.u.col(n)).norm_l2();
        let to_right = (right.col(at) - sigma * svd.v.col(n)).norm_l2();
        assert!(to_left < 1e-7 * svd.sigma[0] && to_right < 1e-7 * svd.sigma[0], "{n}: {to_left} {to_right}");
        assert!((svd.u.col(n).norm_l2() - 1.0).abs() < 1e-9 && (svd.v.col(n).norm_l2() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn ml_1m_becomes_customers() {
    let Some(folder) = ml_1m() else { return };
    let ratings = Ratings::read(&folder.join("ratings.dat")).unwrap();
    for variant in [Variant::Svd, Variant::AlsNormalised] {
        let customers = Customers::new(&ratings, variant, 10, 1, 0).unwrap();
        assert_eq!(customers.label(), format!("{variant}, ratings.dat"));
        assert_eq!(customers.rewards().len(), 6_040 * 10);
        assert_eq!(customers.features().values().len(), 6_040 * Features::DIMENSION);
        for x in customers.features().values().chunks_exact(Features::DIMENSION) {
            assert!(x.iter().map(|x| x * x).sum::<f64>() <= 1.0);
        }
        let paid = customers.rewards().iter().filter(|reward| **reward > 0.0).count();
        assert!((620..=1_220).contains(&paid), "ten movies of 62 to 122 raters: {paid}");
    }
}
