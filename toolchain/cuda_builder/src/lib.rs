// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles a kernel crate to PTX from a build script.
