// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header of a `.npy` array: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
//!
//! Only what numpy writes for plain arrays is taken. The crate `npyz` reads
//! any Python expression instead; nested lists cost it exponential time, and it multiplies extents
//! without a look at overflow. Both are fatal in a file from elsewhere.

use std::io::{self, Read};

use thiserror::Error;

/// The longest header that is read; numpy draws the line here, too.
const LONGEST: u64 = 10_000;

/// What is wrong with extents whose product does not fit.
pub(super) const TOO_LARGE: &str = "more points than this machine can address";

/// The contents of the header of a `.npy` file.
#[derive(Debug, PartialEq)]
pub struct Header {
    /// The element type, such as `<f4`.
    pub descr: String,
    /// Whether the first axis is the fastest.
    pub fortran_order: bool,
    /// Extents, slowest axis first unless `fortran_order`.
    pub shape: Vec<usize>,
    /// Bytes before the first value.
    pub bytes: u64,
}

/// Why there is no header.
#[derive(Debug, Error)]
pub enum HeaderError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(io::Error),
    /// No array, or none of plain values.
    #[error("{0}")]
    Bad(String),
}

impl From<io::Error> for HeaderError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => no_array("the file ends within the header"),
            _ => Self::Read(error),
        }
    }
}

fn no_array(reason: &str) -> HeaderError {
    HeaderError::Bad(format!("no .npy array: {reason}"))
}

impl Header {
    /// Reads a header, and nothing behind it.
    pub fn read(mut from: impl Read) -> Result<Self, HeaderError> {
        let mut start = [0; 8];
        from.read_exact(&mut start)?;
        let [magic @ .., major, minor] = start;
        if &magic != b"\x93NUMPY" {
            return Err(no_array("it does not start as one"));
        }
        let mut length = [0; 4];
        let digits = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(no_array(&format!("its version is {major}.{minor}, not 1.0 to 3.0"))),
        };
        from.read_exact(&mut length[..digits])?;
        let length = u64::from(u32::from_le_bytes(length));
        if length > LONGEST {
            let reason = format!("the header has {length} bytes; at most {LONGEST} are supported");
            return Err(HeaderError::Bad(reason));
        }
        let mut text = vec![0; length as usize];
        from.read_exact(&mut text)?;
        let bytes = (start.len() + digits) as u64 + length;
        Self::parse(&String::from_utf8_lossy(&text), bytes)
    }

    fn parse(text: &str, bytes: u64) -> Result<Self, HeaderError> {
        let mut rest = HeaderText(text);
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" => descr = Some(rest.descr()?.to_owned()),
                "fortran_order" => fortran_order = Some(rest.truth()?),
                "shape" => shape = Some(rest.extents()?),
                _ => return Err(no_array(&format!("its header has a key '{key}'"))),
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        let missing = |key: &str| no_array(&format!("its header lacks '{key}'"));
        Ok(Self {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
            bytes,
        })
    }
}

/// The part of the text that is still to be read.
struct HeaderText<'a>(&'a str);

impl<'a> HeaderText<'a> {
    /// Skips a character, if it comes next.
    fn take(&mut self, wanted: char) -> bool {
        let next = self.0.trim_ascii_start();
        let stripped = next.strip_prefix(wanted);
        self.0 = stripped.unwrap_or(next);
        stripped.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), HeaderError> {
        if self.take(wanted) {
            return Ok(());
        }
        Err(self.unexpected(&format!("'{wanted}'")))
    }

    fn unexpected(&self, wanted: &str) -> HeaderError {
        let found = match self.0.chars().next() {
            Some(found) => format!("'{}'", found.escape_debug()),
            None => "its end".to_owned(),
        };
        no_array(&format!("its header has {found} in place of {wanted}"))
    }

    /// A string without escapes.
    fn string(&mut self) -> Result<&'a str, HeaderError> {
        let quote = ['\'', '"'].into_iter().find(|quote| self.take(*quote));
        let quote = quote.ok_or_else(|| self.unexpected("a string"))?;
        let (text, rest) = self.0.split_once(quote).ok_or_else(|| no_array("an endless string"))?;
        self.0 = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a str, HeaderError> {
        if self.take('[') {
            let reason = "the array has fields; plain floating-point values are supported";
            return Err(HeaderError::Bad(reason.into()));
        }
        self.string()
    }

    fn truth(&mut self) -> Result<bool, HeaderError> {
        let next = self.0.trim_ascii_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = next.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        self.0 = next;
        Err(self.unexpected("True or False"))
    }

    fn extents(&mut self) -> Result<Vec<usize>, HeaderError> {
        let mut extents = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            extents.push(self.extent()?);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(extents)
    }

    fn extent(&mut self) -> Result<usize, HeaderError> {
        let next = self.0.trim_ascii_start();
        let end = next.find(|c: char| !c.is_ascii_digit()).unwrap_or(next.len());
        let (digits, rest) = next.split_at(end);
        self.0 = next;
        if digits.is_empty() {
            return Err(self.unexpected("an extent"));
        }
        // Python 2 marked long integers.
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().map_err(|_| HeaderError::Bad(TOO_LARGE.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header, String> {
        Header::parse(text, 0).map_err(|error| error.to_string())
    }

    #[test]
    fn headers_are_read_however_they_are_spaced() {
        let plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n";
        let header =
            Header { descr: "<f4".into(), fortran_order: false, shape: vec![3, 4], bytes: 0 };
        assert_eq!(parse(plain).unwrap(), header);
        let other = r#" {"shape":(3L,4,),"fortran_order" : False,"descr":"<f4"}"#;
        assert_eq!(parse(other).unwrap(), header);
        let point = parse("{'descr': '<f4', 'fortran_order': True, 'shape': ()}").unwrap();
        assert_eq!((point.fortran_order, point.shape), (true, vec![]));
    }

    const TEXT: &str = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }";

    /// A file by hand: magic, version, the header's length in so many bytes, the header, two values.
    fn file(version: u8, digits: usize, text: &str) -> Vec<u8> {
        let length = (text.len() as u32).to_le_bytes();
        [b"\x93NUMPY", &[version, 0][..], &length[..digits], text.as_bytes(), &[7; 16]].concat()
    }

    /// Version 1.0 has 2 bytes for the length of the header, the others have 4.
    #[test]
    fn every_version_is_read_up_to_its_first_value() {
        for (version, digits) in [(1, 2), (2, 4), (3, 4)] {
            // Lengths of one and of two bytes.
            for blanks in [0, 300] {
                let text = TEXT.to_owned() + &" ".repeat(blanks) + "\n";
                let bytes = file(version, digits, &text);
                let mut rest = bytes.as_slice();
                let header = Header::read(&mut rest).unwrap();
                let start = 8 + digits + text.len();
                let shape = vec![2, 3];
                let descr = "<f8".to_owned();
                let bytes = start as u64;
                assert_eq!(header, Header { descr, fortran_order: true, shape, bytes });
                assert_eq!(rest, [7; 16], "version {version}, {blanks} blanks");
            }
        }
    }

    #[test]
    fn what_is_no_version_or_too_long_is_refused() {
        let refused = |bytes: &[u8]| Header::read(bytes).unwrap_err().to_string();
        let text = "no .npy array: its version is 4.0, not 1.0 to 3.0";
        assert_eq!(refused(&file(4, 4, TEXT)), text);
        let mut minor = file(1, 2, TEXT);
        minor[7] = 1;
        assert_eq!(refused(&minor), "no .npy array: its version is 1.1, not 1.0 to 3.0");
        // The upper bytes of the length count.
        let mut long = file(2, 4, TEXT);
        long[10] = 1;
        let length = TEXT.len() + 65536;
        let text = format!("the header has {length} bytes; at most 10000 are supported");
        assert_eq!(refused(&long), text);
        let short = file(3, 4, TEXT);
        let text = "no .npy array: the file ends within the header";
        assert_eq!(refused(&short[..11]), text);
        assert_eq!(refused(&short[..30]), text);
    }

    #[test]
    fn what_numpy_does_not_write_is_refused_with_the_place() {
        let refused = |text: &str, reason: &str| {
            assert_eq!(parse(text).unwrap_err(), format!("no .npy array: {reason}"));
        };
        refused("", "its header has its end in place of '{'");
        refused("[[[[", "its header has '[' in place of '{'");
        refused("{'shape': (-1,)}", "its header has '-' in place of an extent");
        refused("{'shape': (1 + 1,)}", "its header has '+' in place of ')'");
        refused("{'shape': [1]}", "its header has '[' in place of '('");
        refused("{'fortran_order': 0}", "its header has '0' in place of True or False");
        refused("{'order': 0}", "its header has a key 'order'");
        refused("{'descr': '<f4', 'shape': (1,)}", "its header lacks 'fortran_order'");
    }
}
