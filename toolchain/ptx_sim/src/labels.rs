// SPDX-License-Identifier: MIT OR Apache-2.0
//! Labels of a function. A scope, `{ … }`, has its own, and sees those around it.

use crate::variables::{ParseError, misread};
use std::collections::HashMap;

/// What labels stand for, by scope: a place in the code, or a list of targets.
pub struct Labels<T> {
    /// The scope around each, and what it has; the first is the function's own.
    scopes: Vec<(usize, HashMap<String, T>)>,
    /// The one that is being read.
    pub inner: usize,
}

impl<T> Labels<T> {
    pub fn new() -> Self {
        Self { scopes: vec![(0, HashMap::new())], inner: 0 }
    }

    /// A scope begins.
    pub fn open(&mut self) {
        self.scopes.push((self.inner, HashMap::new()));
        self.inner = self.scopes.len() - 1;
    }

    /// It ends.
    pub fn close(&mut self) {
        self.inner = self.scopes[self.inner].0;
    }

    /// Adds one to the innermost scope.
    pub fn insert(&mut self, label: &str, value: T) -> Result<(), ParseError> {
        match self.scopes[self.inner].1.insert(label.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(misread(&format!("{label}: (a second label of this name)"))),
        }
    }

    /// All, whatever their scopes.
    pub fn all(&self) -> impl Iterator<Item = (&String, &T)> {
        self.scopes.iter().flat_map(|(_, own)| own)
    }

    /// What a label is that is named in a scope.
    pub fn find(&self, mut scope: usize, label: &str) -> Result<&T, ParseError> {
        loop {
            let (around, own) = &self.scopes[scope];
            match own.get(label) {
                Some(found) => return Ok(found),
                None if scope == 0 => return Err(misread(label)),
                None => scope = *around,
            }
        }
    }
}
