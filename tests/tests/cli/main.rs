// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program `host` as its users meet it: arguments, files, texts, exit codes.

mod ablation;
mod bad_input;
mod bench;
mod engines;
mod files;
mod interrupt;
mod library;
mod list;
mod options;
mod pictures;
mod plan;
mod readers;
mod recordings;
mod run;
mod run_file;
mod scale;
mod shared;
mod snapshots;
mod stencil_file;
mod support;
mod survive;
mod system;
