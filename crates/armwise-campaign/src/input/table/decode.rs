//! Text tables in other encodings, read as UTF-8.
//!
//! A byte order mark is believed. Without one a text is UTF-8, and what is not is an error: which of the many encodings
//! of one byte to a letter was meant cannot be seen from the bytes, so it must be said.

use super::rules::Encoding;
use encoding_rs::{Decoder, DecoderResult, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::io::{self, BufRead, Read};

/// The bytes that code page 1252 gives no letter.
const NO_LETTERS: [u8; 5] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

/// The encoding of a text that begins with these bytes, and how many of them are a mark. The error says why it is not
/// clear.
pub(super) fn encoding(head: &[u8], told: Option<Encoding>) -> Result<(Encoding, usize), String> {
    let marks: [(&[u8], Encoding); 3] =
        [(b"\xef\xbb\xbf", Encoding::Utf8), (b"\xff\xfe", Encoding::Utf16Le), (b"\xfe\xff", Encoding::Utf16Be)];
    if let Some((mark, encoding)) = marks.into_iter().find(|(mark, _)| head.starts_with(mark)) {
        return Ok((encoding, mark.len()));
    }
    match told {
        Some(Encoding::Latin1) if is_utf8_beyond_ascii(head) => {
            Err("encoding = \"latin-1\" was given, but the letters are those of UTF-8; give encoding = \"utf-8\""
                .to_owned())
        }
        Some(told) => Ok((told, 0)),
        None if head.contains(&0) => {
            Err("it holds zero bytes, as UTF-16 without a byte order mark does; give encoding = \"utf-16le\" or \
                 \"utf-16be\", or save it as UTF-8"
                .to_owned())
        }
        None => Ok((Encoding::Utf8, 0)),
    }
}

/// Whether bytes are valid UTF-8, but for a letter that is cut off at the end, and not ASCII alone.
fn is_utf8_beyond_ascii(head: &[u8]) -> bool {
    let whole = match std::str::from_utf8(head) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    !head[..whole].is_ascii()
}

/// Gives the bytes of another reader as UTF-8.
pub(super) struct Decoding {
    input: Box<dyn BufRead + Send>,
    encoding: Encoding,
    decoder: Decoder,
    /// Decoded, and how much of it was given.
    ready: Vec<u8>,
    given: usize,
    ended: bool,
}

impl Decoding {
    pub(super) fn new(input: Box<dyn BufRead + Send>, encoding: Encoding) -> Self {
        let of = match encoding {
            Encoding::Utf16Le => UTF_16LE,
            Encoding::Utf16Be => UTF_16BE,
            Encoding::Utf8 | Encoding::Latin1 => WINDOWS_1252,
        };
        let decoder = of.new_decoder_without_bom_handling();
        Self { input, encoding, decoder, ready: Vec::new(), given: 0, ended: false }
    }

    /// Decodes what the input has at hand.
    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        while self.ready.is_empty() && !self.ended {
            let bytes = self.input.fill_buf()?;
            self.ended = bytes.is_empty();
            let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
            if self.encoding == Encoding::Latin1
                && let Some(byte) = bytes.iter().find(|byte| NO_LETTERS.contains(byte))
            {
                return Err(bad(format!("the byte 0x{byte:02x} is no letter of latin-1; give the right encoding")));
            }
            let room = self.decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(bytes.len() * 3);
            self.ready.resize(room + 16, 0);
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.ready, self.ended);
            self.ready.truncate(written);
            self.input.consume(read);
            if let DecoderResult::Malformed(..) = result {
                return Err(bad(format!("it is not {}: a letter is broken or cut off", self.encoding)));
            }
        }
        Ok(())
    }
}

impl Read for Decoding {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.refill()?;
        }
        let count = (self.ready.len() - self.given).min(out.len());
        out[..count].copy_from_slice(&self.ready[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
