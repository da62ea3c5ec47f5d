// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels in the emulator, one family or one question a file. In one program, so that both cores of a small machine
//! are busy until the last of them is done.

mod chain3d;
mod conformance;
mod direct;
mod far;
mod faults;
mod gather;
mod overlap;
mod published;
mod rim;
mod rows;
mod split;
mod sweep2d;
mod sweep3d;
mod temporal;
mod ties;
