// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static shared memory. `#[address_space(shared)]` of `cuda_std` leaves a static in global memory, with a name by which it
//! is known here, and code that takes its address as that of shared memory; a declaration makes it so.

use std::fmt::Write;

/// What the names of such statics begin with.
const SYMBOL: &str = "__cuda_shared_";
/// What the name of the static ends with whose type leads there; it is not the memory.
const NAME: &str = "_name";

/// The PTX with these statics in shared memory, or the names of those whose own address is taken.
pub fn moved(ptx: &str) -> Result<String, Vec<String>> {
    if !ptx.contains(SYMBOL) {
        return Ok(ptx.to_owned());
    }
    let (mut text, mut names, mut declared) =
        (String::with_capacity(ptx.len()), Vec::new(), Vec::new());
    for line in ptx.lines() {
        match declaration(line) {
            Some((_, symbol)) if symbol.ends_with(NAME) => names.push(symbol),
            // Groups of kernels may have it each.
            Some((_, symbol)) if declared.contains(&symbol) => {}
            Some((rest, symbol)) => {
                declared.push(symbol);
                let _ = writeln!(text, ".shared {rest}");
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    let is_used = |name: &&str| text.contains(*name);
    let mut used: Vec<String> = names.into_iter().filter(is_used).map(plain).collect();
    used.sort();
    used.dedup();
    if used.is_empty() { Ok(text) } else { Err(used) }
}

/// The declaration of such a static without its memory, and its symbol.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let rest = line.split_once(".global ").filter(|(before, _)| is_linkage(before))?.1;
    let at = rest.find(SYMBOL)?;
    let end = rest[at..].find(['[', ';', ' ', '=']).map_or(rest.len(), |end| at + end);
    Some((rest, &rest[at..end]))
}

fn is_linkage(text: &str) -> bool {
    text.split_whitespace().all(|word| [".visible", ".weak", ".common"].contains(&word))
}

/// The static's name in the source.
fn plain(symbol: &str) -> String {
    let name = symbol.trim_start_matches(SYMBOL).trim_end_matches(NAME);
    name.rsplit_once('_').map_or(name, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.visible .global .align 1 .b8 __cuda_shared_TILE_A_0123_name[1];
.visible .global .align 4 .b8 __cuda_shared_TILE_A_0123[1024];
.visible .global .align 4 .b8 OTHER[16];
.visible .entry k() {
\tcvta.shared.u64 %rd1, __cuda_shared_TILE_A_0123;
}
";

    #[test]
    fn the_statics_are_declared_in_shared_memory() {
        let text = moved(PTX).unwrap();
        assert!(
            text.starts_with(".shared .align 4 .b8 __cuda_shared_TILE_A_0123[1024];\n"),
            "{text}"
        );
        assert!(
            text.contains(".visible .global .align 4 .b8 OTHER[16];") && !text.contains("_name")
        );
        assert_eq!(moved(".visible .entry k() { ret; }").unwrap(), ".visible .entry k() { ret; }");
    }

    #[test]
    fn who_takes_the_address_of_the_static_itself_is_refused() {
        let taken = PTX.replace("}\n", "\tmov.b64 %rd2, __cuda_shared_TILE_A_0123_name;\n}\n");
        assert_eq!(moved(&taken).unwrap_err(), ["TILE_A"]);
    }
}
