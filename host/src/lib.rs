// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil computations on sparse tensor cores and CPUs: library and command line.
