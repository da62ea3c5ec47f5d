// SPDX-License-Identifier: MIT OR Apache-2.0
//! What atomic accesses and fences have released, and for whom.

use crate::clock::Knowledge;
use std::collections::BTreeMap;

/// What was released by who wrote a word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// What everybody may acquire.
    pub to_all: Knowledge,
    /// What threads of a block may acquire from each other.
    pub within: BTreeMap<u32, Knowledge>,
}

/// What a thread's relaxed accesses hand on, or a fence of it acquires, by the fence's scope.
#[derive(Clone, Default)]
pub(crate) struct Handed {
    /// By fences of the GPU's scope.
    pub wide: Knowledge,
    /// By fences of the block's scope.
    pub narrow: Knowledge,
}
