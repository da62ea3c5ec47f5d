// SPDX-License-Identifier: MIT OR Apache-2.0
//! What carries bytes from GPU to GPU, in the few numbers that the model of many GPUs needs.

use crate::stencil_file::position;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use thiserror::Error;

/// Nodes of some GPUs each, with what connects the GPUs of a node, and what connects nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Where the numbers come from, and which of them were measured.
    pub source: String,
    /// Bytes in a second that a GPU sends to the others of its node, while it gets as many from them.
    pub link_bytes_per_s: f64,
    /// Seconds of the smallest message within a node.
    pub link_latency_s: f64,
    /// Bytes in a second that a GPU sends to other nodes, while it gets as many from them.
    pub fabric_bytes_per_s: f64,
    /// Seconds of the smallest message between nodes.
    pub fabric_latency_s: f64,
    /// Seconds that the host takes to queue a message.
    pub message_s: f64,
    /// Bytes of messages in a second that a GPU packs and unpacks.
    pub pack_bytes_per_s: f64,
    /// Seconds of an exchange that nothing hides: what is launched, and waited for, around its messages.
    pub exchange_s: f64,
}

/// What a GPU gets from others in an exchange, and sends to them: as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Messages from its own node.
    pub link_messages: usize,
    /// Their bytes.
    pub link_bytes: u64,
    /// Messages from other nodes.
    pub fabric_messages: usize,
    /// Their bytes.
    pub fabric_bytes: u64,
}

impl Traffic {
    /// Messages of both kinds.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.link_messages + self.fabric_messages
    }

    /// Bytes of both kinds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.link_bytes + self.fabric_bytes
    }
}

/// A text that describes no network.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// It is no TOML, or has not just the keys of a network.
    #[error("line {line}, column {column}: {reason}")]
    Toml {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A number that no network has.
    #[error("{key} is {value}; give a number from {least:e} to {most:e}")]
    Number {
        /// Its key.
        key: &'static str,
        /// The number.
        value: f64,
        /// The least.
        least: f64,
        /// The largest.
        most: f64,
    },
}

impl Network {
    /// Nodes of H200s with InfiniBand NDR: what is taken unless another network is described.
    #[must_use]
    pub fn h200_ndr() -> Self {
        static BUILT_IN: LazyLock<Network> = LazyLock::new(|| {
            Network::parse(include_str!("../networks/h200-ndr.toml")).expect("a test reads it")
        });
        BUILT_IN.clone()
    }

    /// Reads a description.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let network: Self = toml::from_str(text).map_err(|refused| {
            let (line, column) = position(text, refused.span().unwrap_or(0..0).start);
            NetworkError::Toml { line, column, reason: refused.message().trim_end().to_owned() }
        })?;
        network.check()?;
        Ok(network)
    }

    /// Checks that every number can be worked with.
    fn check(&self) -> Result<(), NetworkError> {
        let within = |key, value: f64, least: f64, most: f64| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(NetworkError::Number { key, value, least, most }),
        };
        for (key, bytes_per_s) in [
            ("link_bytes_per_s", self.link_bytes_per_s),
            ("fabric_bytes_per_s", self.fabric_bytes_per_s),
            ("pack_bytes_per_s", self.pack_bytes_per_s),
        ] {
            within(key, bytes_per_s, 1.0, 1e30)?;
        }
        for (key, seconds) in [
            ("link_latency_s", self.link_latency_s),
            ("fabric_latency_s", self.fabric_latency_s),
            ("message_s", self.message_s),
            ("exchange_s", self.exchange_s),
        ] {
            within(key, seconds, 0.0, 1e6)?;
        }
        Ok(())
    }

    /// Seconds from when a GPU begins to queue its messages until its neighbours' have come and are unpacked, without
    /// [`Network::exchange_s`].
    ///
    /// **What is assumed.** Messages to GPUs of one node share the GPU's links, those to other nodes its adapter, and both
    /// are busy at the same time, in both directions. Of messages that share something the latencies run side by side,
    /// the bytes one after the other. Nobody else uses the fabric, and no switch is overloaded.
    #[must_use]
    pub fn seconds(&self, traffic: &Traffic) -> f64 {
        let way = |messages: usize, bytes: u64, latency_s: f64, bytes_per_s: f64| match messages {
            0 => 0.0,
            _ => latency_s + bytes as f64 / bytes_per_s,
        };
        let &Traffic { link_messages, link_bytes, fabric_messages, fabric_bytes } = traffic;
        let link = way(link_messages, link_bytes, self.link_latency_s, self.link_bytes_per_s);
        let fabric =
            way(fabric_messages, fabric_bytes, self.fabric_latency_s, self.fabric_bytes_per_s);
        let queued = traffic.messages() as f64 * self.message_s;
        queued + link.max(fabric) + traffic.bytes() as f64 / self.pack_bytes_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are easy to add up.
    const TEXT: &str = "\
name = \"test\"
source = \"made up\"
link_bytes_per_s = 100
link_latency_s = 1
fabric_bytes_per_s = 10
fabric_latency_s = 2
message_s = 0.25
pack_bytes_per_s = 1000
exchange_s = 8
";

    #[test]
    fn both_kinds_of_messages_move_at_the_same_time() {
        let network = Network::parse(TEXT).unwrap();
        let of = |link: (usize, u64), fabric: (usize, u64)| {
            let (link_messages, link_bytes) = link;
            let (fabric_messages, fabric_bytes) = fabric;
            network.seconds(&Traffic { link_messages, link_bytes, fabric_messages, fabric_bytes })
        };
        assert_eq!(of((0, 0), (0, 0)), 0.0);
        assert_eq!(of((2, 1000), (0, 0)), 0.5 + (1.0 + 10.0) + 1.0);
        assert_eq!(of((2, 1000), (1, 50)), 0.75 + (1.0 + 10.0) + 1.05);
        assert_eq!(of((2, 1000), (1, 500)), 0.75 + (2.0 + 50.0) + 1.5);
    }

    #[test]
    fn the_built_in_one_is_near_what_was_measured() {
        let network = Network::h200_ndr();
        let micros = |link_bytes| {
            let traffic = Traffic { link_messages: 1, link_bytes, ..Traffic::default() };
            1e6 * (network.seconds(&traffic) + network.exchange_s)
        };
        // 96 rows of 10240 f16 values, and 16 MB at 285 GB/s.
        let found = micros(96 * 10240 * 2);
        assert!((found - 21.5).abs() < 2.0, "{found} µs");
        let found = micros(16_000_000) / (16e6 / 285e9) / 1e6;
        assert!((0.8..1.4).contains(&found), "{found}");
    }

    #[test]
    fn what_describes_no_network_is_refused() {
        let refused = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            Network::parse(&TEXT.replace(from, to)).unwrap_err().to_string()
        };
        let text = refused("link_latency_s = 1\n", "");
        assert!(text.contains("missing field `link_latency_s`"), "{text}");
        let text = refused("message_s", "message_ms");
        assert!(text.starts_with("line 7, column 1: unknown field `message_ms`"), "{text}");
        let text = refused("link_bytes_per_s = 100", "link_bytes_per_s = 0");
        assert_eq!(text, "link_bytes_per_s is 0; give a number from 1e0 to 1e30");
        let text = refused("exchange_s = 8", "exchange_s = -1");
        assert_eq!(text, "exchange_s is -1; give a number from 0e0 to 1e6");
        let text = refused("exchange_s = 8", "exchange_s = nan");
        assert_eq!(text, "exchange_s is NaN; give a number from 0e0 to 1e6");
    }
}
