// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads a rank computes with: its share of the machine's cores, and no more than it may use.

use std::fs;
use std::thread::available_parallelism;

/// As many as there are cores for each of the ranks on this machine, unless `RAYON_NUM_THREADS` says otherwise.
pub fn share(ranks: usize) {
    if std::env::var_os("RAYON_NUM_THREADS").is_some() {
        return;
    }
    let own = available_parallelism().map_or(1, usize::from);
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let threads = threads(own, cores(&list).unwrap_or(own), ranks);
    // Nobody has used them before.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}

/// Of a rank that may use so many cores of those of a machine with so many ranks: launchers often leave each rank only some,
/// of its own or shared with others.
fn threads(own: usize, all: usize, ranks: usize) -> usize {
    let bound = own < all;
    (if bound { own.min(all / ranks) } else { own / ranks }).max(1)
}

/// How many numbers a list such as `0-3,8` has.
fn cores(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last] = [first, last].map(|end| end.parse::<usize>().ok());
        Some((last? + 1).saturating_sub(first?))
    };
    list.trim().split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_cores() {
        for (own, all, ranks, expected) in [
            // Not bound, bound to a socket that others share, and to cores of its own.
            (64, 64, 4, 16),
            (32, 64, 8, 8),
            (16, 64, 4, 16),
            (1, 64, 2, 1),
            (2, 2, 8, 1),
        ] {
            assert_eq!(threads(own, all, ranks), expected);
        }
    }

    #[test]
    fn lists_of_cores_are_counted() {
        assert_eq!(cores("0-3,8\n"), Some(5));
        assert_eq!(cores("0"), Some(1));
        assert_eq!(cores(""), None);
    }
}
