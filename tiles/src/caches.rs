// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the caches of this machine keep.

use std::fs;
use std::sync::LazyLock;
use std::thread::available_parallelism;

/// Where Linux describes the caches of the first processor.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";
/// Bytes where nothing is said of them.
const USUAL: usize = 32 << 20;

/// Bytes of all last-level caches together.
#[must_use]
pub fn last_level() -> usize {
    static BYTES: LazyLock<usize> = LazyLock::new(|| found().unwrap_or(USUAL));
    *BYTES
}

fn found() -> Option<usize> {
    let read =
        |level: usize, what: &str| fs::read_to_string(format!("{CACHES}/index{level}/{what}")).ok();
    let last = (0..8).rfind(|level| read(*level, "size").is_some())?;
    let bytes = bytes(read(last, "size")?.trim())?;
    let sharing = processors(read(last, "shared_cpu_list")?.trim())?;
    let all = available_parallelism().map_or(1, usize::from);
    Some(bytes * all.div_ceil(sharing.max(1)))
}

/// Of a size such as `32768K`.
fn bytes(text: &str) -> Option<usize> {
    let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let number: usize = text.strip_suffix(unit)?.parse().ok()?;
    match unit {
        "" => Some(number),
        "K" => Some(number << 10),
        "M" => Some(number << 20),
        _ => None,
    }
}

/// How many a list such as `0-3,8-11` has.
fn processors(list: &str) -> Option<usize> {
    let count = |range: &str| match range.split_once('-') {
        Some((first, last)) => {
            let [first, last]: [usize; 2] = [first.parse().ok()?, last.parse().ok()?];
            (last + 1).checked_sub(first)
        }
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    list.split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_caches_are_read() {
        assert_eq!(
            ["32768K", "2M", "512", "1X", ""].map(bytes),
            [Some(32 << 20), Some(2 << 20), Some(512), None, None]
        );
        assert_eq!(
            ["0-3,8-11", "5", "0-1", "x"].map(processors),
            [Some(8), Some(1), Some(2), None]
        );
        assert!(last_level() >= 1 << 16);
    }
}
