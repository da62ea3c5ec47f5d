// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weighted sums on the cores of a CPU: tiles in parallel, several time steps of each while it is in the caches, vector
//! registers within a tile. Its loops are compiled here, once for each type that values are stored as.

pub mod caches;
mod cut;
pub mod filter;
pub mod halo;
pub mod levels;
mod machine;
pub mod padded;
mod pass;
mod runs;
mod speed;
mod steps;
mod storage;
mod sweep;
pub mod tiling;
mod window;

pub use pass::{Pass, Passes};
pub use speed::{Counted, counted};
pub use steps::TileBuffers;
pub use storage::Storage;
pub use sweep::Sweep;
