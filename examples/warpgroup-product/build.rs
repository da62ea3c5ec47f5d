// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels for Hopper: nothing else has products of warpgroups.

use cuda_builder::{Chip, embed};

fn main() {
    embed(".", &[Chip::Sm90a]);
}
