// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test for every fault that was found in what had landed, so that none comes back: a file for each
//! theme. Each test says what happened before.

#[allow(dead_code, reason = "it is made for the tests of the command line, too")]
#[path = "../cli/support.rs"]
mod support;

mod bench;
mod boundary;
mod families;
mod files;
#[cfg(unix)]
mod kept;
mod memory;
mod overflow;
mod reports;
mod rims;
mod timing;
mod verification;
mod warnings;
