// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that look like one that is none.

/// Up to three names that look like this one, best first; each candidate is a name and how it may
/// be written.
pub fn near<'a>(wanted: &str, candidates: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    const ALIKE: f64 = 0.8;
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let wanted = plain(wanted);
    let mut scored: Vec<(f64, &str)> = candidates
        .map(|(name, written)| (strsim::jaro_winkler(&wanted, &plain(written)), name))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut near: Vec<String> = Vec::new();
    for (_, name) in scored {
        if near.len() < 3 && !near.iter().any(|known| known == name) {
            near.push(name.to_owned());
        }
    }
    near
}
