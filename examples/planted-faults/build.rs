// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels for the GPU, and with lines for the emulator.

use cuda_builder::{Chip, embed, embed_lines};

fn main() {
    embed(".", &[Chip::Sm90]);
    embed_lines(".", Chip::Sm90);
}
