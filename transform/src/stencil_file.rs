// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils from a TOML text, as many as wanted, each a table under its name:
//!
//! ```toml
//! [drift]                                   # neighbours (y, x) and their weights, in any order
//! offsets = [[0, -1], [0, 0], [-2, 0]]
//! weights = [0.25, 0.5, 0.25]
//!
//! [smooth]                                  # or all weights of an odd-sized block
//! dense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]
//! ```
//!
//! Offsets have one number in 1D, `[y, x]` in 2D, `[z, y, x]` in 3D; `dense` is nested as deep.

use crate::stencil::{Stencil, StencilError, Tap};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use std::{collections::BTreeMap, fmt, ops::Range};
use thiserror::Error;
use toml::Spanned;

/// What is wrong with a stencil file, and where.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}, column {column}: {}{kind}", label(self.stencil.as_deref()))]
pub struct StencilFileError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The stencil at fault; none where the text is no TOML or the like.
    pub stencil: Option<String>,
    /// What is wrong.
    pub kind: StencilFileErrorKind,
}

/// What is wrong with a stencil file.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StencilFileErrorKind {
    /// The text is no TOML, or has keys or values of another kind.
    #[error("{0}")]
    Syntax(String),
    /// No table at all.
    #[error(
        "the file has no stencil; add a table under its name, such as [smooth], with 'offsets' and \
         'weights', or with 'dense'"
    )]
    NoStencil,
    /// An empty name.
    #[error("the name is empty; give the stencil one")]
    NoName,
    /// Not one of the two forms.
    #[error("has {0}; give either 'offsets' and 'weights', or 'dense'")]
    Form(&'static str),
    /// Two lists that do not match.
    #[error("{offsets} offsets and {weights} weights; give one weight for each offset")]
    Count {
        /// Number of offsets.
        offsets: usize,
        /// Number of weights.
        weights: usize,
    },
    /// An offset of another dimension.
    #[error("this offset has {found} numbers, the first has {expected}; give all as many")]
    OffsetRank {
        /// Numbers in the first offset.
        expected: usize,
        /// Numbers in this one.
        found: usize,
    },
    /// Offsets without numbers, or with more than three.
    #[error("offsets have {0} numbers; give 1 (x), 2 (y, x) or 3 (z, y, x)")]
    Rank(usize),
    /// A row of another length.
    #[error("this row has {found} entries, the one before has {expected}; make all rows as long")]
    Ragged {
        /// Entries of the row before.
        expected: usize,
        /// Entries of this row.
        found: usize,
    },
    /// A number where a row is expected, or the other way round.
    #[error("numbers and rows are mixed; nest all weights equally deep")]
    Mixed,
    /// The weights make no stencil.
    #[error(transparent)]
    Weights(#[from] StencilError),
}

use StencilFileErrorKind as Kind;

fn label(stencil: Option<&str>) -> String {
    stencil.map_or_else(String::new, |name| format!("stencil '{name}': "))
}

/// A mistake and where it is in the text, in bytes.
type Located = (Range<usize>, Kind);

/// The stencils of a TOML text, in its order.
///
/// # Errors
/// Text that is no TOML, unknown keys, missing or unequal lists, rows of unequal length, and
/// weights that [`Stencil::new`] refuses; each with line and column.
pub fn parse(text: &str) -> Result<Vec<Stencil>, StencilFileError> {
    let error = |stencil: Option<&str>, (at, kind): Located| {
        let (line, column) = position(text, at.start);
        StencilFileError { line, column, stencil: stencil.map(str::to_owned), kind }
    };
    let file: BTreeMap<Spanned<String>, Spanned<Table>> =
        toml::from_str(text).map_err(|refused| {
            let at = refused.span().unwrap_or(0..0);
            error(None, (at, Kind::Syntax(refused.message().to_owned())))
        })?;
    if file.is_empty() {
        return Err(error(None, (text.len()..text.len(), Kind::NoStencil)));
    }
    let mut tables: Vec<_> = file.into_iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    let stencil = |(name, table): &(Spanned<String>, Spanned<Table>)| {
        let label = name.get_ref().as_str();
        if label.is_empty() {
            return Err(error(None, (name.span(), Kind::NoName)));
        }
        table.get_ref().stencil(label, name.span()).map_err(|located| error(Some(label), located))
    };
    tables.iter().map(stencil).collect()
}

/// One stencil as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    offsets: Option<Spanned<Vec<Spanned<Vec<i32>>>>>,
    weights: Option<Spanned<Vec<Spanned<f64>>>>,
    dense: Option<Spanned<Nested>>,
}

impl Table {
    fn stencil(&self, name: &str, at: Range<usize>) -> Result<Stencil, Located> {
        match (&self.offsets, &self.weights, &self.dense) {
            (Some(offsets), Some(weights), None) => scattered(name, offsets, weights),
            (None, None, Some(block)) => dense(name, block),
            (None, None, None) => Err((at, Kind::Form("no weights"))),
            (Some(offsets), None, None) => {
                Err((offsets.span(), Kind::Form("'offsets' without 'weights'")))
            }
            (None, Some(weights), None) => {
                Err((weights.span(), Kind::Form("'weights' without 'offsets'")))
            }
            (_, _, Some(block)) => Err((block.span(), Kind::Form("both forms"))),
        }
    }
}

fn scattered(
    name: &str,
    offsets: &Spanned<Vec<Spanned<Vec<i32>>>>,
    weights: &Spanned<Vec<Spanned<f64>>>,
) -> Result<Stencil, Located> {
    let (places, values) = (offsets.get_ref(), weights.get_ref());
    if places.len() != values.len() {
        let kind = Kind::Count { offsets: places.len(), weights: values.len() };
        return Err((weights.span(), kind));
    }
    let Some(first) = places.first() else {
        return Err((offsets.span(), StencilError::Empty.into()));
    };
    let dims = first.get_ref().len();
    if !(1..=3).contains(&dims) {
        return Err((first.span(), Kind::Rank(dims)));
    }
    let tap = |(place, value): (&Spanned<Vec<i32>>, &Spanned<f64>)| {
        let found = place.get_ref().len();
        if found != dims {
            return Err((place.span(), Kind::OffsetRank { expected: dims, found }));
        }
        let mut offset = [0; 3];
        offset[3 - dims..].copy_from_slice(place.get_ref());
        Ok(Tap { offset, weight: *value.get_ref() })
    };
    let taps: Vec<Tap> = places.iter().zip(values).map(tap).collect::<Result<_, _>>()?;
    Stencil::new(name, dims, taps.clone()).map_err(|refused| {
        let last = |offset: &[i32; 3]| {
            taps.iter().rposition(|tap| tap.offset == *offset).map(|index| places[index].span())
        };
        let at = match &refused {
            StencilError::NotFinite { index, .. } => Some(values[*index].span()),
            StencilError::TooFar { offset, .. } | StencilError::Repeated { offset, .. } => {
                last(offset)
            }
            _ => None,
        };
        (at.unwrap_or_else(|| offsets.span()), refused.into())
    })
}

fn dense(name: &str, block: &Spanned<Nested>) -> Result<Stencil, Located> {
    let mut flat = Flat::default();
    flat.read(block, 0)?;
    Stencil::dense(name, &flat.extents, &flat.weights).map_err(|refused| {
        let at = match &refused {
            StencilError::NotFinite { index, .. } => flat.spans[*index].clone(),
            _ => block.span(),
        };
        (at, refused.into())
    })
}

/// A nested list, being flattened.
#[derive(Default)]
struct Flat {
    /// Known so far, from the outermost axis.
    extents: Vec<usize>,
    weights: Vec<f64>,
    spans: Vec<Range<usize>>,
    /// How deep the numbers lie, once one is found.
    depth: Option<usize>,
}

impl Flat {
    fn read(&mut self, nested: &Spanned<Nested>, depth: usize) -> Result<(), Located> {
        let at = nested.span();
        match nested.get_ref() {
            Nested::Number(weight) => {
                if *self.depth.get_or_insert(depth) != depth || depth < self.extents.len() {
                    return Err((at, Kind::Mixed));
                }
                self.weights.push(*weight);
                self.spans.push(at);
            }
            Nested::List(entries) => {
                if self.depth.is_some_and(|numbers| depth >= numbers) {
                    return Err((at, Kind::Mixed));
                }
                let found = entries.len();
                if depth == self.extents.len() {
                    self.extents.push(found);
                }
                let expected = self.extents[depth];
                if found != expected {
                    return Err((at, Kind::Ragged { expected, found }));
                }
                entries.iter().try_for_each(|entry| self.read(entry, depth + 1))?;
            }
        }
        Ok(())
    }
}

/// A number, or a list of more of the kind.
enum Nested {
    Number(f64),
    List(Vec<Spanned<Nested>>),
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NestedVisitor)
    }
}

struct NestedVisitor;

impl<'de> Visitor<'de> for NestedVisitor {
    type Value = Nested;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list of numbers")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Nested, E> {
        Ok(Nested::Number(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Nested, E> {
        Ok(Nested::Number(value as f64))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Nested, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(Nested::List(entries))
    }
}

/// Line and column (in characters, both from 1) of a byte of the text.
pub(crate) fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}
