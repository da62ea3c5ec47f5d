// SPDX-License-Identifier: MIT OR Apache-2.0
//! The target `bench_results` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::bench_results(data));
