// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of what connects GPUs, as `--network` takes them.

use crate::{file, promise};
use stencil::io;
use transform::network::Traffic;

/// Reads a network's description, writes it, and reads it again; exchanges by it take a finite time.
///
/// # Panics
/// A promise is broken.
pub fn network(data: &[u8]) {
    let read = |data: &[u8]| io::network::read(file::holding(data, ".toml").path());
    let network = match read(data) {
        Ok(network) => network,
        Err(error) => return promise::of_an_error(error),
    };
    let written = toml::to_string(&network).expect("plain data");
    assert_eq!(read(written.as_bytes()).ok().as_ref(), Some(&network));
    for bytes in [0, 1, 1 << 40] {
        let traffic = Traffic {
            link_messages: 2,
            link_bytes: bytes,
            fabric_messages: 24,
            fabric_bytes: bytes,
        };
        let seconds = network.seconds(&traffic) + network.exchange_s;
        assert!(seconds.is_finite() && seconds >= 0.0, "{seconds} s");
    }
}
