// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files in and out.

pub mod checkpoint;
pub mod colours;
pub mod columns;
mod content;
pub mod format;
mod grey;
mod leftovers;
pub mod machine;
pub mod network;
pub mod npy;
mod npy_header;
mod npy_values;
mod output;
pub mod part_file;
mod positioned;
pub mod read;
pub mod rgb;
pub mod rows;
pub mod space;
pub mod start_source;
pub mod stencil_file;

pub use content::{Content, ContentInfo, VisitValues};
pub use output::{Output, Staged, absolute, is_stream};
pub use output::{folder, follow};
pub use start_source::StartSource;
