// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of an NCCL call.

/// Something that NCCL did not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("NCCL cannot {action}: {reason} (error {code}){}", more(.reason))]
pub struct Error {
    /// What it was to do.
    pub action: String,
    /// NCCL's status (`ncclResult_t`).
    pub code: i32,
    /// NCCL's description of the status, and of its last error where it has one.
    pub reason: String,
}

/// Where to learn more, unless NCCL itself says so.
fn more(reason: &str) -> &'static str {
    if reason.contains("NCCL_DEBUG") {
        ""
    } else {
        "; run with NCCL_DEBUG=WARN in the environment to learn more"
    }
}
