// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list. A new chip is one row.

use crate::resources::Resources;

macro_rules! chips {
    ($($(#[$doc:meta])* $chip:ident: $name:literal, $ptx:literal, $resources:expr;)*) => {
        /// A chip family, as `rustc` and `ptxas` name it. A name that ends with `a` unlocks what only
        /// this family has (`wgmma`, …), and its code runs on no other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Chip {
            $($(#[$doc])* $chip,)*
        }

        impl Chip {
            /// Every chip, oldest first.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$chip),*];

            /// The name for `rustc -C target-cpu` and `ptxas -arch`, such as `sm_90a`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$chip => $name,)* }
            }

            /// The PTX version to compile for, as a target feature of rustc, such as `ptx86`. The driver
            /// must be as new (8.6: R565).
            #[must_use]
            pub const fn ptx_feature(self) -> &'static str {
                match self { $(Self::$chip => $ptx,)* }
            }

            /// What one of the family's GPUs has; others have more or less (data sheets).
            #[must_use]
            pub const fn resources(self) -> Resources {
                match self { $(Self::$chip => $resources,)* }
            }
        }
    };
}

// Oldest first. PTX 8.6 has `mma.sp::ordered_metadata` and the first Blackwell; `sm_120a` came with 8.7.
chips! {
    /// Ampere (A100) and everything later.
    Sm80: "sm_80", "ptx86", Resources::A100;
    /// Hopper (H100, H200) and everything later.
    Sm90: "sm_90", "ptx86", Resources::H200;
    /// Hopper only.
    Sm90a: "sm_90a", "ptx86", Resources::H200;
    /// Blackwell of data centres (B200) only.
    Sm100a: "sm_100a", "ptx86", Resources::B200;
    /// Blackwell of workstations and PCs (RTX 50) only.
    Sm120a: "sm_120a", "ptx87", Resources::RTX_5090;
}
