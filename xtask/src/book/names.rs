// SPDX-License-Identifier: MIT OR Apache-2.0
//! One name for one thing: few public types have a name that types of three other modules have, too.

use super::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use syn::{Item, Visibility};

/// A name in this many modules is counted.
const MODULES: usize = 4;
/// Names that may be in so many modules: each has one meaning, and the module says whose it is
/// (docs/decisions/0089-names.md).
const MOST: usize = 5;

/// The public types of some items, each with its module: structures, enums, unions, traits and aliases, also those that
/// are public within their crate only. Types inside of functions and of macros have no module.
fn public_types(module: &str, items: &[Item], found: &mut BTreeMap<String, BTreeSet<String>>) {
    for item in items {
        let (visibility, name) = match item {
            Item::Struct(item) => (&item.vis, &item.ident),
            Item::Enum(item) => (&item.vis, &item.ident),
            Item::Union(item) => (&item.vis, &item.ident),
            Item::Trait(item) => (&item.vis, &item.ident),
            Item::Type(item) => (&item.vis, &item.ident),
            Item::Mod(item) => {
                if let Some((_, items)) = &item.content {
                    public_types(&format!("{module}::{}", item.ident), items, found);
                }
                continue;
            }
            _ => continue,
        };
        if !matches!(visibility, Visibility::Inherited) {
            found.entry(name.to_string()).or_default().insert(module.to_owned());
        }
    }
}

/// The names that so many modules have, each with its modules.
fn frequent(
    types: BTreeMap<String, BTreeSet<String>>,
    modules: usize,
) -> Vec<(String, BTreeSet<String>)> {
    types.into_iter().filter(|(_, of)| of.len() >= modules).collect()
}

#[test]
fn public_types_are_found() {
    let source = "pub struct A; struct B; pub(super) enum A1 {} mod m { pub(crate) type A = u8; pub trait C {} }
        impl A { fn f() { pub struct D; } }";
    let mut found = BTreeMap::new();
    public_types("a.rs", &syn::parse_file(source).unwrap().items, &mut found);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["A", "A1", "C"]);
    let frequent = frequent(found, 2);
    assert_eq!(frequent.len(), 1);
    assert_eq!(frequent[0].1.iter().collect::<Vec<_>>(), ["a.rs", "a.rs::m"]);
}

#[test]
fn few_names_are_of_many_modules() {
    let mut sources = Vec::new();
    files(&root(), "rs", &mut sources);
    let mut found = BTreeMap::new();
    for source in sources {
        let text = std::fs::read_to_string(&source).unwrap();
        let parsed = syn::parse_file(&text);
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let module = source.strip_prefix(root()).expect("a source of the project");
        public_types(&module.to_string_lossy(), &parsed.items, &mut found);
    }
    let frequent = frequent(found, MODULES);
    let listed: Vec<_> =
        frequent.iter().map(|(name, of)| format!("{} modules: {name}: {of:?}", of.len())).collect();
    assert!(
        frequent.len() <= MOST,
        "{} names of public types are in {MODULES} modules or more, where {MOST} may be; give those with several meanings \
         names that say what they are:\n{}",
        frequent.len(),
        listed.join("\n")
    );
}
