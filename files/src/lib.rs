// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies in files: grids and pictures in their formats (`io`), checkpoints and snapshots of a run (`record`).

pub mod io;
pub mod record;
