// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that a program writes.

use crate::module::Module;
use std::sync::Arc;

/// A kernel that was read.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) module: Arc<Module>,
}

impl Program {
    /// Reads a text with one entry, with parameters of 64 bits each; shared memory of whatever name begins at 0, and one
    /// table of constants may stand before it.
    ///
    /// # Panics
    /// The text is not of this form.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let module = Module::read(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(module.kernels().count(), 1, "one entry");
        Self { module: Arc::new(module) }
    }

    /// Bytes of the constants before the kernel.
    #[must_use]
    pub fn constants(&self) -> usize {
        self.constant_bytes().len()
    }

    pub(crate) fn constant_bytes(&self) -> &[u8] {
        self.module.globals.first().map_or(&[], |it| &it.bytes)
    }
}
