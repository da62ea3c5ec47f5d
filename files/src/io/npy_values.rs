// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of a `.npy` array, of whatever type they are stored as.

use std::io::{self, Read};

use rayon::prelude::*;

use problem::Dtype;
use problem::values::Element;

/// How a file stores its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageType {
    kind: Kind,
    bytes: usize,
    /// In the other order of bytes than this machine's.
    swapped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    /// A byte that is 0 or not.
    Truth,
}

impl StorageType {
    /// By numpy's name, such as `<f4` or `|u1`.
    pub fn parse(descr: &str) -> Option<Self> {
        let (order, kind) = descr.split_at_checked(1)?;
        let (kind, bytes) = match kind {
            "f2" | "f4" | "f8" => (Kind::Float, kind[1..].parse().ok()?),
            "i1" | "i2" | "i4" | "i8" => (Kind::Signed, kind[1..].parse().ok()?),
            "u1" | "u2" | "u4" | "u8" => (Kind::Unsigned, kind[1..].parse().ok()?),
            "b1" => (Kind::Truth, 1),
            _ => return None,
        };
        let known = matches!(order, "<" | ">" | "=") || (order == "|" && bytes == 1);
        let other = if cfg!(target_endian = "little") { ">" } else { "<" };
        known.then_some(Self { kind, bytes, swapped: order == other })
    }

    /// Floats of so many bytes, the least first.
    pub fn of_floats(bytes: usize) -> Self {
        Self { kind: Kind::Float, bytes, swapped: cfg!(target_endian = "big") }
    }

    /// Bytes of a value in the file.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// The type of values that they become.
    pub fn becomes(self) -> Dtype {
        match (self.kind, self.bytes) {
            (Kind::Float, 2) => Dtype::F16,
            (Kind::Float, 4) | (_, 1 | 2) => Dtype::F32,
            _ => Dtype::F64,
        }
    }

    /// An integer or a truth value from its bytes, as they follow each other on this machine.
    fn number(self, bytes: &[u8]) -> f64 {
        let mut all = [0; 8];
        let (low, sign) = if cfg!(target_endian = "little") {
            (0, bytes.len() - 1)
        } else {
            (8 - bytes.len(), 0)
        };
        if self.kind == Kind::Signed && bytes[sign] >= 128 {
            all = [255; 8];
        }
        all[low..low + bytes.len()].copy_from_slice(bytes);
        match self.kind {
            Kind::Truth => f64::from(u8::from(bytes[0] != 0)),
            Kind::Signed => i64::from_ne_bytes(all) as f64,
            _ => u64::from_ne_bytes(all) as f64,
        }
    }
}

/// Reads so many values as the type that they become.
pub fn read<T: Element>(
    mut from: impl Read,
    stored: StorageType,
    count: usize,
) -> io::Result<Vec<T>> {
    /// Values that are converted at a time.
    const PART: usize = 1 << 18;
    let mut values = vec![T::default(); count];
    if stored.kind == Kind::Float {
        from.read_exact(bytemuck::cast_slice_mut(&mut values))?;
        if stored.swapped {
            values.par_iter_mut().for_each(|value| bytemuck::bytes_of_mut(value).reverse());
        }
        return Ok(values);
    }
    let mut bytes = vec![0; PART.min(count) * stored.bytes];
    for part in values.chunks_mut(PART) {
        let bytes = &mut bytes[..part.len() * stored.bytes];
        from.read_exact(bytes)?;
        part.par_iter_mut().zip(bytes.par_chunks_mut(stored.bytes)).for_each(|(value, bytes)| {
            if stored.swapped {
                bytes.reverse();
            }
            *value = T::from_f64(stored.number(bytes));
        });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(descr: &str, bytes: &[u8]) -> Vec<f64> {
        let stored = StorageType::parse(descr).unwrap();
        read::<f64>(bytes, stored, bytes.len() / stored.bytes()).unwrap()
    }

    #[test]
    fn integers_of_every_size_sign_and_order_are_read() {
        assert_eq!(numbers("|u1", &[0, 1, 255]), [0.0, 1.0, 255.0]);
        assert_eq!(numbers("|i1", &[0, 127, 255, 128]), [0.0, 127.0, -1.0, -128.0]);
        assert_eq!(numbers("|b1", &[0, 1, 2]), [0.0, 1.0, 1.0]);
        assert_eq!(numbers("<u2", &[1, 2]), [513.0]);
        assert_eq!(numbers(">u2", &[1, 2]), [258.0]);
        assert_eq!(numbers(">i2", &[255, 254]), [-2.0]);
        assert_eq!(numbers("<i4", &(-70_000i32).to_le_bytes()), [-70_000.0]);
        assert_eq!(numbers("<u8", &u64::MAX.to_le_bytes()), [u64::MAX as f64]);
        assert_eq!(numbers(">i8", &i64::MIN.to_be_bytes()), [i64::MIN as f64]);
    }

    #[test]
    fn only_numbers_are_known() {
        for (descr, dtype) in
            [("<f2", Dtype::F16), ("|u1", Dtype::F32), ("<i2", Dtype::F32), ("<i4", Dtype::F64)]
        {
            assert_eq!(StorageType::parse(descr).unwrap().becomes(), dtype, "{descr}");
        }
        for other in ["<c8", "<U3", "|O", "<f16", "f4", "", "|u2", "<b2"] {
            assert_eq!(StorageType::parse(other), None, "{other}");
        }
    }
}
