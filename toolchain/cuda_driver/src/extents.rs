// SPDX-License-Identifier: MIT OR Apache-2.0
//! How large a launch is.

/// The extents of a one-dimensional launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// The extents of a launch in up to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents3d {
    /// Blocks of the grid.
    pub grid: GridSize,
    /// Threads of a block.
    pub block: BlockSize,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl From<Extents> for Extents3d {
    fn from(Extents { blocks, threads, shared_bytes }: Extents) -> Self {
        Self { grid: blocks.into(), block: threads.into(), shared_bytes }
    }
}

macro_rules! sizes {
    ($($(#[$attribute:meta])* $name:ident)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            /// Along x.
            pub x: u32,
            /// Along y.
            pub y: u32,
            /// Along z.
            pub z: u32,
        }

        impl From<u32> for $name {
            fn from(x: u32) -> Self {
                Self { x, y: 1, z: 1 }
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> Self {
                Self { x, y, z: 1 }
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> Self {
                Self { x, y, z }
            }
        }
    )*};
}
sizes! {
    /// Blocks of a grid along each dimension, from one to three numbers: `(8, 4).into()`.
    GridSize
    /// Threads of a block along each dimension, from one to three numbers: `(32, 8).into()`.
    BlockSize
}
