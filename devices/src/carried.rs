// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PTX of single kernels out of what this program carries for a chip.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_chip::Chip;
use cuda_driver::Code;

/// Kernels that were asked for, by chip and name, for as long as the process lives. Each session asks for a few. To unpack all of
/// a chip, some 30 MB, took most of the 360 ms in which a session began (in a build for tests).
static ASKED: Mutex<BTreeMap<(Chip, String), Arc<str>>> = Mutex::new(BTreeMap::new());

/// The kernels that this program carries for a chip.
pub struct Carried {
    code: Code,
    /// All of them, once one is asked for that nobody asked for before.
    unpacked: OnceCell<String>,
}

impl Carried {
    /// None of them unpacked yet.
    #[must_use]
    pub fn new(code: Code) -> Self {
        Self { code, unpacked: OnceCell::new() }
    }

    /// The PTX of a kernel, if there is one of this name.
    pub fn kernel(&self, name: &str) -> Option<Arc<str>> {
        let key = (self.code.chip, name.to_owned());
        let asked = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = asked().get(&key) {
            return Some(Arc::clone(text));
        }
        let text: Arc<str> = entry(self.unpacked.get_or_init(|| self.code.ptx()), name)?.into();
        asked().insert(key, Arc::clone(&text));
        Some(text)
    }
}

/// A PTX with only this kernel: what comes before all kernels, and the kernel. Ours call no functions.
pub(crate) fn entry(ptx: &str, name: &str) -> Option<String> {
    const ENTRY: &str = ".visible .entry ";
    let header = &ptx[..ptx.find(ENTRY)?];
    let start = ptx.find(&format!("{ENTRY}{name}("))?;
    let body = &ptx[start..];
    let end = body[ENTRY.len()..].find(ENTRY).map_or(body.len(), |next| ENTRY.len() + next);
    Some(format!("{header}{}", &body[..end]))
}

#[cfg(test)]
mod tests {
    use super::{Carried, entry};
    use crate::code::embedded;

    const PTX: &str = "\
.version 8.6
.extern .shared .align 128 .b8 dynamic_shared[];
.visible .entry sweep_r1(
) { ret; }
.visible .entry sweep_r10(
) { trap; }
";

    #[test]
    fn a_kernel_is_taken_with_what_all_need_and_nothing_else() {
        let header = ".version 8.6\n.extern .shared .align 128 .b8 dynamic_shared[];\n";
        let first = format!("{header}.visible .entry sweep_r1(\n) {{ ret; }}\n");
        assert_eq!(entry(PTX, "sweep_r1"), Some(first));
        let last = format!("{header}.visible .entry sweep_r10(\n) {{ trap; }}\n");
        assert_eq!(entry(PTX, "sweep_r10"), Some(last));
        assert_eq!(entry(PTX, "sweep"), None);
        assert_eq!(entry("", "sweep"), None);
    }

    #[test]
    fn a_kernel_that_was_asked_for_is_not_unpacked_again() {
        // A program without a device compiler carries none.
        for code in embedded() {
            let all = code.ptx();
            let first = Carried::new(code);
            assert_eq!(
                first.kernel("sweep2d_f16_r3").as_deref(),
                entry(&all, "sweep2d_f16_r3").as_deref()
            );
            assert_eq!(first.kernel("sweep2d_f16_r999"), None);
            let second = Carried::new(code);
            assert!(second.kernel("sweep2d_f16_r3").is_some());
            assert!(second.unpacked.get().is_none());
        }
    }
}
