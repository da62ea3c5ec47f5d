// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modules of a crate, and what each uses.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, Item, UseTree};

/// The names on the way from the root of the crate to a module or an item.
type Names = Vec<String>;

/// Text of a file, if there is one.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The modules of a crate.
#[derive(Default)]
pub struct Tree {
    modules: BTreeMap<Names, Module>,
}

#[derive(Default)]
struct Module {
    /// What it names of its crate.
    named: Vec<Names>,
    /// Names that it has from elsewhere in the crate.
    imported: BTreeMap<String, Names>,
}

impl Tree {
    /// Reads a crate.
    ///
    /// # Panics
    /// Where a file is missing or no Rust, or all that a module has is imported (`*`): then nothing says what
    /// is used.
    pub fn read(root: &Path, read: Read<'_>) -> Self {
        let mut tree = Self::default();
        let folder = root.parent().expect("a file in a folder");
        tree.add_file(Names::new(), root, folder, read);
        tree
    }

    /// The paths of all modules; that of the crate itself is empty.
    pub fn modules(&self) -> Vec<&Names> {
        self.modules.keys().collect()
    }

    /// Each module, and one that it uses.
    pub fn uses(&self) -> impl Iterator<Item = (&[String], &[String])> {
        self.modules.iter().flat_map(|(path, module)| {
            module.named.iter().map(|named| (&**path, self.module_of(named, 0)))
        })
    }

    /// The module that defines what a path names.
    fn module_of(&self, path: &[String], followed: usize) -> &[String] {
        let mut end = 0;
        while end < path.len() && self.modules.contains_key(&path[..=end]) {
            end += 1;
        }
        let (found, module) = self.modules.get_key_value(&path[..end]).expect("the root is one");
        let imported = path.get(end).and_then(|name| module.imported.get(name));
        match imported {
            // Names of each other's names end somewhere, or the compiler would refuse them.
            Some(from) if followed < 100 => {
                self.module_of(&[from, &path[end + 1..]].concat(), followed + 1)
            }
            _ => found,
        }
    }

    fn add_file(&mut self, path: Names, file: &Path, folder: &Path, read: Read<'_>) {
        let text = read(file).unwrap_or_else(|| panic!("{}: cannot be read", file.display()));
        let parsed = syn::parse_file(&text);
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(path, parsed.items, folder, read);
    }

    /// Adds a module with these items, whose own modules lie in a folder.
    fn add(&mut self, path: Names, items: Vec<Item>, folder: &Path, read: Read<'_>) {
        let mut module = Module::default();
        let items: Vec<Item> = items.into_iter().filter(|item| !is_test(item)).collect();
        let children: Vec<String> = items.iter().filter_map(child).collect();
        for item in items {
            match item {
                Item::Mod(below) => {
                    let name = below.ident.to_string();
                    let (path, folder) =
                        ([&*path, std::slice::from_ref(&name)].concat(), folder.join(&name));
                    match below.content {
                        Some((_, items)) => self.add(path, items, &folder, read),
                        None => {
                            let beside = folder.with_extension("rs");
                            let inside = folder.join("mod.rs");
                            let file = if read(&beside).is_some() { beside } else { inside };
                            self.add_file(path, &file, &folder, read);
                        }
                    }
                }
                Item::Use(item) => {
                    for (names, name) in flat(&item.tree) {
                        let Some(names) = from_root(&path, &children, &names) else { continue };
                        assert_ne!(
                            name, "*",
                            "{path:?} imports all of {names:?}: name what it uses"
                        );
                        module.named.push(names.clone());
                        module.imported.insert(name, names);
                    }
                }
                item => {
                    let mut written = Vec::new();
                    paths(item.to_token_stream(), &mut written);
                    let names = written.iter().filter_map(|names| from_root(&path, &[], names));
                    module.named.extend(names);
                }
            }
        }
        self.modules.insert(path, module);
    }
}

fn child(item: &Item) -> Option<String> {
    let Item::Mod(item) = item else { return None };
    Some(item.ident.to_string())
}

fn is_test(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        _ => &[],
    };
    attributes.iter().any(|attribute| attribute.to_token_stream().to_string() == "# [cfg (test)]")
}

/// The path from the root of what a module writes as `names`; `None` of another crate, and of the root itself.
fn from_root(module: &[String], children: &[String], names: &[String]) -> Option<Names> {
    let (mut base, mut at) = (module, 0);
    match &*names[0] {
        "crate" => (base, at) = (&[], 1),
        "self" => at = 1,
        "super" => {}
        name if children.iter().any(|child| child == name) => {}
        _ => return None,
    }
    while names.get(at).is_some_and(|name| name == "super") {
        (base, at) = (&base[..base.len() - 1], at + 1);
    }
    Some([base, &names[at..]].concat())
}

/// The paths of an import, with the names that they get.
fn flat(tree: &UseTree) -> Vec<(Names, String)> {
    let one = |name: &str, renamed: String| vec![(vec![name.to_owned()], renamed)];
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let mut rest = flat(&path.tree);
            for (names, name) in &mut rest {
                if names.last().is_some_and(|last| last == "self" || last == "*") {
                    names.pop();
                }
                if name == "self" {
                    name.clone_from(&first);
                }
                names.insert(0, first.clone());
            }
            rest
        }
        UseTree::Name(name) => one(&name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => one(&name.ident.to_string(), name.rename.to_string()),
        UseTree::Glob(_) => one("*", "*".into()),
        UseTree::Group(group) => group.items.iter().flat_map(flat).collect(),
    }
}

/// The paths of the crate that are written in code; also in what macros are given.
fn paths(code: TokenStream, found: &mut Vec<Names>) {
    let mut tokens = code.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => paths(group.stream(), found),
            TokenTree::Ident(first) if first == "crate" || first == "super" || first == "self" => {
                let mut names = vec![first.to_string()];
                while tokens.next_if(is_colon).is_some() && tokens.next_if(is_colon).is_some() {
                    match tokens.next_if(|token| matches!(token, TokenTree::Ident(_))) {
                        Some(name) => names.push(name.to_string()),
                        None => break,
                    }
                }
                if names.len() > 1 {
                    found.push(names);
                }
            }
            _ => {}
        }
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':')
}
