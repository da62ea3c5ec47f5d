// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of a file, with the places of their keys and values.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::whole::WholeNumber;

/// Tables in any order; which came first is known by their places.
pub type Tables<T> = BTreeMap<Spanned<String>, Spanned<T>>;
pub type Strings = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub title: Option<String>,
    pub grid: GridTable,
    pub time: Spanned<TimeTable>,
    #[serde(default)]
    pub constants: Tables<NumberOrText>,
    #[serde(default)]
    pub terms: Tables<String>,
    #[serde(default)]
    pub stencils: Tables<StencilTable>,
    #[serde(default)]
    pub tables: Tables<TableTable>,
    pub fields: Tables<FieldTable>,
    #[serde(default)]
    pub coefficients: Tables<CoefficientTable>,
    #[serde(default)]
    pub work: Tables<WorkTable>,
    #[serde(default)]
    pub totals: Tables<TotalTable>,
    #[serde(default)]
    pub sources: Vec<SourceTable>,
    #[serde(default)]
    pub receivers: Vec<Spanned<ReceiverTable>>,
    pub sponge: Option<SpongeTable>,
    pub pml: Option<PmlTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { size = [480, 640], spacing = 0.1 }")]
pub struct GridTable {
    pub size: Vec<WholeNumber>,
    pub spacing: Option<Spanned<OneOrMore>>,
    pub dtype: Option<Strings>,
    pub solid: Option<Strings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { dt = 0.1, steps = 1000 }")]
pub struct TimeTable {
    pub dt: Option<Spanned<NumberOrText>>,
    pub dt_every: Option<WholeNumber>,
    pub tolerance: Option<Spanned<NumberOrText>>,
    pub steps: Option<WholeNumber>,
    pub until: Option<Spanned<NumberOrText>>,
    pub method: Option<Strings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { start = 0, next = \"0.5*u\" }")]
pub struct FieldTable {
    pub start: Spanned<NumberOrText>,
    pub before: Option<Spanned<OneOrMore>>,
    pub boundary: Option<Strings>,
    pub next: Option<Strings>,
    pub rate: Option<Strings>,
    pub keep: Option<Strings>,
    pub walls: Option<Strings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { value = \"k*dx(u)\" }")]
pub struct WorkTable {
    pub value: Strings,
    pub boundary: Option<Strings>,
    pub walls: Option<Strings>,
}

/// A total of all points, or one of some.
pub enum TotalTable {
    All(String),
    Some(SomeTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SomeTable {
    pub value: Strings,
    pub r#where: Option<Strings>,
}

impl<'de> Deserialize<'de> for TotalTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TotalVisitor)
    }
}

/// An untagged enum would lose the places.
struct TotalVisitor;

impl<'de> Visitor<'de> for TotalVisitor {
    type Value = TotalTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an expression in quotes, or a table such as { value = \"sum(u)\", where = \"x < 1\" }",
        )
    }

    fn visit_str<E>(self, text: &str) -> Result<TotalTable, E> {
        Ok(TotalTable::All(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TotalTable, A::Error> {
        Ok(TotalTable::Some(SomeTable::deserialize(MapAccessDeserializer::new(map))?))
    }
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { start = \"1 + x\" } or { start = \"c.npy\" }"
)]
pub struct CoefficientTable {
    pub start: Spanned<NumberOrText>,
    pub boundary: Option<Strings>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { derivative = \"laplace\" }, { name = \"heat-2d\" } or { dense = [0.5, 0, 0.5] }"
)]
pub struct StencilTable {
    pub name: Option<Strings>,
    pub derivative: Option<Strings>,
    pub average: Option<Strings>,
    pub order: Option<WholeNumber>,
    pub offsets: Option<toml::Value>,
    pub weights: Option<toml::Value>,
    pub dense: Option<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { arguments = [0, 1], values = [0, 5] }")]
pub struct TableTable {
    pub arguments: Option<Vec<f64>>,
    pub values: Option<Vec<f64>>,
    pub file: Option<Strings>,
    pub step: Option<Spanned<NumberOrText>>,
    pub first: Option<Spanned<NumberOrText>>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { field = \"u\", at = [3, 4], add = \"sin(t)\" }"
)]
pub struct SourceTable {
    pub field: Strings,
    pub at: Spanned<OneOrMore>,
    pub units: Option<Strings>,
    pub interpolation: Option<Strings>,
    pub add: Spanned<NumberOrText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { field = \"u\", at = [3, 4] }")]
pub struct ReceiverTable {
    pub field: Option<Strings>,
    pub value: Option<Strings>,
    pub at: Spanned<OneOrMore>,
    pub units: Option<Strings>,
    pub interpolation: Option<Strings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { width = 20 }")]
pub struct SpongeTable {
    pub width: WholeNumber,
    pub strength: Option<f64>,
    #[serde(default)]
    pub sides: Vec<Strings>,
    #[serde(default)]
    pub fields: Vec<Strings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { width = 10, speed = 1500 }")]
pub struct PmlTable {
    pub width: Spanned<WholeNumber>,
    pub speed: Spanned<NumberOrText>,
    pub reflection: Option<Spanned<NumberOrText>>,
    pub frequency: Option<Spanned<NumberOrText>>,
    #[serde(default)]
    pub sides: Vec<Strings>,
    #[serde(default)]
    pub fields: Vec<Strings>,
}

/// A number, or an expression.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or an expression in quotes")]
pub enum NumberOrText {
    Number(f64),
    Text(String),
}

/// One, or a list of them.
pub enum OneOrMore {
    One(NumberOrText),
    More(Vec<Spanned<NumberOrText>>),
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMoreVisitor)
    }
}

/// An untagged enum would lose the places.
struct OneOrMoreVisitor;

impl<'de> Visitor<'de> for OneOrMoreVisitor {
    type Value = OneOrMore;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, an expression in quotes, or a list of them")
    }

    fn visit_f64<E>(self, number: f64) -> Result<OneOrMore, E> {
        Ok(OneOrMore::One(NumberOrText::Number(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<OneOrMore, E> {
        Ok(OneOrMore::One(NumberOrText::Number(number as f64)))
    }

    fn visit_str<E>(self, text: &str) -> Result<OneOrMore, E> {
        Ok(OneOrMore::One(NumberOrText::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(OneOrMore::More(values))
    }
}
