// SPDX-License-Identifier: MIT OR Apache-2.0
//! End-to-end, conformance and error-text tests.
