// SPDX-License-Identifier: MIT OR Apache-2.0
//! The target `npy_weights` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::npy_weights(data));
