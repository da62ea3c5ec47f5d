// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which program measured, when, and with which driver.

use std::fs;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// What Linux says of the NVIDIA driver that is loaded, in containers too.
const DRIVER: &str = "/sys/module/nvidia/version";

/// Where results come from, as far as it is known: files of older versions say nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The commit that the program was built from; `-dirty` at its end says that sources differed.
    pub commit: Option<String>,
    /// Year, month and day (UTC) of the start, such as `2026-11-22`.
    pub date: Option<String>,
    /// Version of the NVIDIA driver, such as `580.159.04`.
    pub driver: Option<String>,
}

impl Origin {
    /// Of measurements that start now, by a program that was built from that commit.
    #[must_use]
    pub fn now(commit: Option<&str>) -> Self {
        let driver = fs::read_to_string(DRIVER).ok().map(|version| version.trim().to_owned());
        Self {
            commit: commit.map(str::to_owned),
            date: Some(today()),
            driver: driver.filter(|version| !version.is_empty()),
        }
    }
}

/// Year, month and day (UTC).
fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or_default().to_owned()
}
