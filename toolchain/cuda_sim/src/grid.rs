// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbouring launches. Here each launch runs by itself, so there is nothing to wait for.

/// `griddepcontrol.wait`.
pub fn wait_for_previous() {}

/// `griddepcontrol.launch_dependents`.
pub fn start_next() {}
