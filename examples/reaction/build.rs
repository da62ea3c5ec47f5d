// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels for the GPU: the function with the sweep around it.

use cuda_builder::{Chip, embed};

fn main() {
    embed(".", &[Chip::Sm90a]);
}
