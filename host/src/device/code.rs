// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device code that the build script compiled into this program.

/// What the build script leaves: the PTX (empty without a device compiler) and a line about it.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels_gpu.ptx"));

/// The PTX that was compiled into this program, if there was a device compiler.
#[must_use]
pub fn embedded_ptx() -> Option<&'static str> {
    (!PTX.is_empty()).then_some(PTX)
}

/// The device compiler that was found when this program was built, or how to get one.
#[must_use]
pub fn device_compiler() -> &'static str {
    env!("DEVICE_COMPILER")
}
