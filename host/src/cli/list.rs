// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host list`: the named stencils.

use transform::catalogue;

/// One line for each stencil: name, what it is, other names.
pub fn render() -> String {
    let entries = catalogue::entries();
    let width = |texts: &mut dyn Iterator<Item = &str>| texts.map(str::len).max().unwrap_or(0);
    let names = width(&mut entries.iter().map(|entry| entry.name));
    let abouts = width(&mut entries.iter().map(|entry| entry.about));
    let line = |entry: &catalogue::Entry| {
        let aliases = entry.aliases.join(", ");
        let line = format!("{:<names$}  {:<abouts$}  {aliases}", entry.name, entry.about);
        format!("{}\n", line.trim_end())
    };
    entries.iter().map(line).collect()
}
