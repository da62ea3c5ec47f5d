// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of sides as they are written, a row for each.

use super::Side;

/// What stands behind the word of a kind.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// Nothing: the word is the side.
    None(Side),
    /// A number or an expression.
    Number {
        /// The letter that stands for it in messages.
        letter: &'static str,
        /// What is wrong without it.
        missing: &'static str,
        /// The side with it.
        side: fn(f64) -> Side,
    },
    /// The three numbers of Robin's condition.
    Robin,
}

/// What `robin` lacks.
pub(super) const NUMBERS: &str =
    "'robin' needs three numbers, those of a*u + b*du/dn = c, as in robin=1,0.5,0";

const CONSTANT: Value = Value::Number {
    letter: "V",
    missing: "'constant' needs a value, as in constant=1.5",
    side: Side::Constant,
};
const FLUX: Value = Value::Number {
    letter: "G",
    missing: "'flux' needs a slope per point, as in flux=0.5",
    side: Side::Flux,
};

/// The words and what stands behind them, in the order in which messages list them.
pub(super) const KINDS: [(&str, Value); 10] = [
    ("zero", Value::None(Side::Zero)),
    ("constant", CONSTANT),
    ("periodic", Value::None(Side::Periodic)),
    ("reflect", Value::None(Side::Reflect)),
    ("symmetric", Value::None(Side::Symmetric)),
    ("edge", Value::None(Side::Edge)),
    ("flux", FLUX),
    ("odd", Value::None(Side::Odd)),
    ("odd-reflect", Value::None(Side::OddReflect)),
    ("robin", Value::Robin),
];

/// What stands behind a word, or behind a second word for a kind. Without a value `value` and `slope` are no kinds: the hint
/// says which is meant.
pub(super) fn find(word: &str, has_value: bool) -> Option<Value> {
    let own = match word {
        "outflow" => "edge",
        "value" if has_value => "constant",
        "slope" if has_value => "flux",
        other => other,
    };
    KINDS.iter().find(|(kind, _)| *kind == own).map(|(_, value)| *value)
}

/// A kind as messages name it: `constant=V`.
pub(super) fn written((word, value): (&str, Value)) -> String {
    match value {
        Value::None(_) => word.to_owned(),
        Value::Number { letter, .. } => format!("{word}={letter}"),
        Value::Robin => format!("{word}=A,B,C"),
    }
}

/// All kinds as messages name them.
pub(super) fn all() -> String {
    KINDS.map(written).join(", ")
}
