// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernel for the GPU.

use cuda_builder::{Chip, embed};

fn main() {
    embed(".", &[Chip::Sm80]);
}
