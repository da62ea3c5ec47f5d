// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels that a program carries, for one chip after another.

use cuda_chip::Chip;
use flate2::read::ZlibDecoder;
use std::io::Read;

/// What `cuda_builder::embed` compiled into a program, as PTX; [`crate::kernels!`] finds it.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    compiler: &'static str,
    code: &'static [(&'static str, &'static [u8])],
}

/// The kernels for one chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The chip.
    pub chip: Chip,
    packed: &'static [u8],
}

impl Code {
    /// The PTX, unpacked.
    #[must_use]
    pub fn ptx(self) -> String {
        let mut text = String::new();
        let read = ZlibDecoder::new(self.packed).read_to_string(&mut text);
        read.expect("`cuda_builder` packed it");
        text
    }
}

/// The kernels that `cuda_builder::embed` left in this crate's build script: a [`crate::Kernels`].
#[macro_export]
macro_rules! kernels {
    () => {
        $crate::Kernels::new(::core::include!(::core::concat!(
            ::core::env!("OUT_DIR"),
            "/kernels.rs"
        )))
    };
}

impl Kernels {
    /// From the compiler's version line, or the reason why there is none, and each chip's name and PTX, which zlib
    /// has compressed.
    #[must_use]
    pub const fn new(
        (compiler, code): (&'static str, &'static [(&'static str, &'static [u8])]),
    ) -> Self {
        Self { compiler, code }
    }

    /// The version line of the compiler that made them; if there are none, how to get one.
    #[must_use]
    pub const fn compiler(self) -> &'static str {
        self.compiler
    }

    /// Those for each chip, the oldest first.
    pub fn codes(self) -> impl DoubleEndedIterator<Item = Code> {
        let code = |&(name, packed): &(&str, &'static [u8])| {
            Some(Code { chip: Chip::from_name(name)?, packed })
        };
        self.code.iter().filter_map(code)
    }

    /// Those that a GPU of this compute capability takes: for the newest chip that run on it.
    #[must_use]
    pub fn for_gpu(self, compute_capability: (u32, u32)) -> Option<Code> {
        self.codes().rfind(|code| code.chip.runs_on(compute_capability))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_takes_the_newest_that_run_on_it() {
        let kernels = Kernels::new(("rustc 1.96.0", &[("sm_80", b"old"), ("sm_90", b"new")]));
        let taken = |capability| kernels.for_gpu(capability).map(|code| code.packed);
        assert_eq!(
            [(7, 5), (8, 9), (9, 0), (12, 0)].map(taken),
            [None, Some(&b"old"[..]), Some(b"new"), Some(b"new")]
        );
        assert_eq!(Kernels::new(("no compiler", &[])).for_gpu((9, 0)), None);
    }
}
