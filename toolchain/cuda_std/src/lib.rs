// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device-side interface of rust-cuda on rustc's own NVPTX back end.
