// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads the CUDA driver lazily under cust.
