//! SHA-256 as a value: 32 bytes that people, JSON and SQL see as 64 hexadecimal digits.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha(pub(super) [u8; 32]);

impl Sha {
    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self::finish(Sha256::new().chain_update(bytes))
    }

    pub(crate) fn finish(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every entry has several, so they are not written digit by digit.
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        // One way to write it, so that a text that was read is the text that was hashed.
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(()),
        };
        let text: &[u8; 64] = text.as_bytes().try_into().map_err(|_| ())?;
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(text.as_chunks().0) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Sha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::custom("a SHA-256 has 64 hexadecimal digits"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
mod tests {
    use super::Sha;

    #[test]
    fn the_text_is_that_of_sha256sum_and_reads_back() {
        // printf abc | sha256sum
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Sha::of("abc").to_string(), text);
        assert_eq!(text.parse::<Sha>().unwrap(), Sha::of("abc"));
        assert!(text.to_uppercase().parse::<Sha>().is_err() && text[1..].parse::<Sha>().is_err());
    }
}
