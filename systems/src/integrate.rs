// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates of change, integrated over a time step by an explicit Runge-Kutta method.
//!
//! A method is a table: how the values of each stage are made of the values and the rates of stages before. The values of a
//! stage are a work field for each field, with the sides of that field, so that rates read them around a point. A rate that
//! later stages need is a work field, too; any other is a part of the expression that takes it.
//!
//! Methods: Hairer, Nørsett, Wanner, "Solving ordinary differential equations I" (1993), section II.1; `ssprk3` is that of
//! Shu and Osher, "Efficient implementation of essentially non-oscillatory shock-capturing schemes" (1988), equation 2.18;
//! `rk45` that of Cash and Karp, "A variable order Runge-Kutta method for initial value problems with rapidly varying right-hand
//! sides" (1990), table 5, whose stages make two results, of orders 4 and 5.

use problem::Boundary;
use problem::error::Mistake;
use problem::names::{self, UnknownName};
use strum::{EnumString, VariantArray};

use super::expression::{Array, Function, Node};
use super::parts::{Field, StepWork, WallImage, Walls};
use super::text::Text;

/// How rates of change are integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantArray, strum::Display)]
#[strum(parse_err_ty = UnknownName, parse_err_fn = names::unknown::<Method>, serialize_all = "lowercase")]
pub enum Method {
    /// Euler's method: of order 1.
    #[default]
    Euler,
    /// The midpoint method: of order 2, with 2 stages.
    Rk2,
    /// The method of Shu and Osher: of order 3, with 3 stages, each of which is a mean of Euler's steps.
    Ssprk3,
    /// The classical method: of order 4, with 4 stages.
    Rk4,
    /// The method of Cash and Karp: of order 5, with 6 stages, and an estimate of what it is off by.
    Rk45,
}

/// What the values of a stage, or at last those after the step, are made of.
struct Row {
    /// Weights of the values of stages.
    values: &'static [(usize, f64)],
    /// Weights of the rates of stages, times the time step.
    rates: &'static [(usize, f64)],
    /// At which part of the time step they are.
    time: f64,
}

/// The times of Cash and Karp's stages after the first, the weights of rates in each of them, and in the result.
const CASH_KARP: [Row; 6] = {
    const VALUES: &[(usize, f64)] = &[(0, 1.0)];
    [
        Row { values: VALUES, rates: &[(0, 0.2)], time: 0.2 },
        Row { values: VALUES, rates: &[(0, 0.075), (1, 0.225)], time: 0.3 },
        Row { values: VALUES, rates: &[(0, 0.3), (1, -0.9), (2, 1.2)], time: 0.6 },
        Row {
            values: VALUES,
            rates: &[(0, -11.0 / 54.0), (1, 2.5), (2, -70.0 / 27.0), (3, 35.0 / 27.0)],
            time: 1.0,
        },
        Row {
            values: VALUES,
            rates: &[
                (0, 1631.0 / 55296.0),
                (1, 175.0 / 512.0),
                (2, 575.0 / 13824.0),
                (3, 44275.0 / 110_592.0),
                (4, 253.0 / 4096.0),
            ],
            time: 0.875,
        },
        Row {
            values: VALUES,
            rates: &[
                (0, 37.0 / 378.0),
                (2, 250.0 / 621.0),
                (3, 125.0 / 594.0),
                (5, 512.0 / 1771.0),
            ],
            time: 1.0,
        },
    ]
};

impl Method {
    /// The weights of rates in the difference of its result from that of one order less, if its stages make one.
    #[must_use]
    pub fn off(self) -> Option<&'static [(usize, f64)]> {
        const CASH_KARP: &[(usize, f64)] = &[
            (0, 37.0 / 378.0 - 2825.0 / 27648.0),
            (2, 250.0 / 621.0 - 18575.0 / 48384.0),
            (3, 125.0 / 594.0 - 13525.0 / 55296.0),
            (4, -277.0 / 14336.0),
            (5, 512.0 / 1771.0 - 0.25),
        ];
        (self == Self::Rk45).then_some(CASH_KARP)
    }

    /// Whether it computes rates more than once in a step.
    #[must_use]
    pub fn has_stages(self) -> bool {
        self.rows().len() > 1
    }

    /// Its rows: one for each stage but the first one, whose values are those before the step, and one for the values after
    /// it.
    fn rows(self) -> &'static [Row] {
        match self {
            Self::Euler => &[Row { values: &[(0, 1.0)], rates: &[(0, 1.0)], time: 1.0 }],
            Self::Rk2 => &[
                Row { values: &[(0, 1.0)], rates: &[(0, 0.5)], time: 0.5 },
                Row { values: &[(0, 1.0)], rates: &[(1, 1.0)], time: 1.0 },
            ],
            Self::Ssprk3 => &[
                Row { values: &[(0, 1.0)], rates: &[(0, 1.0)], time: 1.0 },
                Row { values: &[(0, 0.75), (1, 0.25)], rates: &[(1, 0.25)], time: 0.5 },
                Row {
                    values: &[(0, 1.0 / 3.0), (2, 2.0 / 3.0)],
                    rates: &[(2, 2.0 / 3.0)],
                    time: 1.0,
                },
            ],
            Self::Rk45 => &CASH_KARP,
            Self::Rk4 => &[
                Row { values: &[(0, 1.0)], rates: &[(0, 0.5)], time: 0.5 },
                Row { values: &[(0, 1.0)], rates: &[(1, 0.5)], time: 0.5 },
                Row { values: &[(0, 1.0)], rates: &[(2, 1.0)], time: 1.0 },
                Row {
                    values: &[(0, 1.0)],
                    rates: &[(0, 1.0 / 6.0), (1, 1.0 / 3.0), (2, 1.0 / 3.0), (3, 1.0 / 6.0)],
                    time: 1.0,
                },
            ],
        }
    }
}

/// The rate of change of a field, with its text for errors; none of a field that has next values.
pub type Rate<'a> = Option<(Node, &'a Text)>;

/// Makes equations for the next values of fields that have rates, with as many work fields as the method needs; `dt` is the
/// time step. With `estimates` there are work fields of what each field is off by, the numbers of which are returned.
///
/// # Errors
/// The method has several stages, and a field has no rate, or an equation reads values of another time.
pub fn integrate(
    (method, dt, estimates): (Method, Node, bool),
    fields: &mut [Field],
    rates: &[Rate],
    works: &mut Vec<StepWork>,
    texts: &[&Text],
) -> Result<std::ops::Range<usize>, Mistake> {
    let rows = method.rows();
    if rows.len() > 1 {
        for (text, rate) in texts.iter().zip(rates) {
            if rate.is_none() {
                let what = format!("'{method}' integrates rates, and this field has 'next'");
                return Err(text
                    .wrong(what)
                    .hint("give all fields a rate, or the method \"euler\""));
            }
        }
        let own = works.iter().map(|work| &work.value).zip(&texts[rates.len()..]);
        let all = rates.iter().flatten().map(|(rate, text)| (rate, text)).chain(own);
        all.into_iter().try_for_each(|(node, text)| check(method, node, text))?;
    }
    let off = method.off().filter(|_| estimates);
    let stages = Stages { rows, off, dt, own: works.len(), rates };
    let more = stages.works(fields, works);
    works.extend(more);
    let first = works.len();
    works.extend(stages.estimates(fields));
    for (number, field) in fields.iter_mut().enumerate() {
        if rates[number].is_some() {
            field.next = stages.row(rows.len() - 1, number);
        }
    }
    Ok(first..works.len())
}

/// Checks that what is computed in each stage reads values of that stage.
fn check(method: Method, node: &Node, text: &Text) -> Result<(), Mistake> {
    let mut word = None;
    node.visit(&mut |part| match part {
        Node::Read(Array::Field { level: 1.., .. }) => word = Some("prev"),
        Node::Read(Array::New(_)) => word = Some("new"),
        _ => (),
    });
    match word {
        Some(word) => {
            let what = format!("'{method}' computes this in each stage, which has no '{word}'");
            Err(text.wrong(what).hint("the method \"euler\" has one stage"))
        }
        None => Ok(()),
    }
}

/// The stages of a method, with rates of all fields unless it has only one.
struct Stages<'a> {
    rows: &'static [Row],
    /// Weights of rates in what the result is off by, if that is wanted.
    off: Option<&'static [(usize, f64)]>,
    dt: Node,
    /// Work fields that the system has.
    own: usize,
    rates: &'a [Rate<'a>],
}

impl Stages<'_> {
    /// Work fields of a stage: the values of each field, then those that the system has.
    fn of_stage(&self) -> usize {
        self.rates.len() + self.own
    }

    /// The values of a field in a stage.
    fn values(&self, stage: usize, field: usize) -> Array {
        match stage.checked_sub(1) {
            None => Array::Field { field, level: 0 },
            Some(before) => Array::Work(self.own + before * self.of_stage() + field),
        }
    }

    /// A work field of the system in a stage.
    fn work(&self, stage: usize, work: usize) -> Array {
        match stage.checked_sub(1) {
            None => Array::Work(work),
            Some(before) => {
                Array::Work(self.own + before * self.of_stage() + self.rates.len() + work)
            }
        }
    }

    /// The stages whose rates are taken by other rows than that which follows them.
    fn kept(&self) -> Vec<usize> {
        let is_taken = |stage: &usize| {
            let others = self.rows.iter().enumerate().filter(|(row, _)| row != stage);
            // What the result is off by is computed with it, after the last stage.
            let off = self.off.filter(|_| *stage + 1 < self.rows.len()).unwrap_or_default();
            others.flat_map(|(_, row)| row.rates).chain(off).any(|(taken, _)| taken == stage)
        };
        (0..self.rows.len()).filter(is_taken).collect()
    }

    /// What an array of a stage has at solid points, by what it has before the first one.
    fn walls(&self, stage: usize, walls: Option<&Walls>) -> Option<Walls> {
        let Some(Walls::Image(image)) = walls else { return walls.cloned() };
        let of = match image.of {
            Array::Field { field, .. } => self.values(stage, field),
            Array::Work(work) => self.work(stage, work),
            other => other,
        };
        Some(Walls::Image(WallImage { of, ..*image }))
    }

    /// An expression as it is in a stage.
    fn at(&self, stage: usize, node: &Node) -> Node {
        let Some(before) = stage.checked_sub(1) else { return node.clone() };
        let later = self.of_dt(self.rows[before].time);
        node.replaced(&|part| match part {
            Node::Read(Array::Field { field, level: 0 }) => {
                Some(Node::Read(self.values(stage, *field)))
            }
            Node::Read(Array::Work(work)) => Some(Node::Read(self.work(stage, *work))),
            Node::Time => Some(Node::call(Function::Add, vec![Node::Time, later.clone()])),
            _ => None,
        })
    }

    /// The rate of a field in a stage.
    fn rate(&self, stage: usize, field: usize) -> Node {
        let (rate, _) = self.rates[field].as_ref().expect("only fields with a rate are integrated");
        self.at(stage, rate)
    }

    /// So many time steps.
    fn of_dt(&self, weight: f64) -> Node {
        Node::call(Function::Multiply, vec![Node::Number(weight), self.dt.clone()])
    }

    /// What a row makes of a field.
    fn row(&self, row: usize, field: usize) -> Node {
        let Row { values, rates, .. } = &self.rows[row];
        self.sum(values, rates, field)
    }

    /// Work fields of what fields are off by; nothing where points keep their values.
    fn estimates(&self, fields: &[Field]) -> Vec<StepWork> {
        let Some(off) = self.off else { return Vec::new() };
        let estimate = |(number, field): (usize, &Field)| {
            let value = self.sum(&[], off, number);
            StepWork {
                name: format!("what {} is off by", field.name),
                boundary: Boundary::default(),
                value: match &field.keep {
                    Some(keep) => {
                        Node::call(Function::If, vec![keep.clone(), Node::Number(0.0), value])
                    }
                    None => value,
                },
                of: None,
                later: 0.0,
                walls: None,
            }
        };
        fields.iter().enumerate().map(estimate).collect()
    }

    /// Values and rates of stages with these weights, rates times the time step.
    fn sum(&self, values: &[(usize, f64)], rates: &[(usize, f64)], field: usize) -> Node {
        let times = |weight: f64, node: Node| match weight {
            1.0 => node,
            _ => Node::call(Function::Multiply, vec![Node::Number(weight), node]),
        };
        let values =
            values.iter().map(|(of, weight)| times(*weight, Node::Read(self.values(*of, field))));
        let kept = self.kept();
        let rates = rates.iter().map(|(of, weight)| {
            let rate = match kept.iter().position(|stage| stage == of) {
                Some(place) => Node::Read(self.kept_rate(place, field)),
                None => self.rate(*of, field),
            };
            Node::call(Function::Multiply, vec![self.of_dt(*weight), rate])
        });
        let sum = values.chain(rates).reduce(|a, b| Node::call(Function::Add, vec![a, b]));
        sum.expect("a row has values")
    }

    /// The work field of a kept rate.
    fn kept_rate(&self, place: usize, field: usize) -> Array {
        let before = self.own + (self.rows.len() - 1) * self.of_stage();
        Array::Work(before + place * self.rates.len() + field)
    }

    /// The work fields besides those that the system has, in the order of their numbers.
    fn works(&self, fields: &[Field], own: &[StepWork]) -> Vec<StepWork> {
        let mut works = Vec::new();
        for stage in 1..self.rows.len() {
            works.extend(fields.iter().enumerate().map(|(number, field)| StepWork {
                name: format!("{} in stage {}", field.name, stage + 1),
                boundary: field.boundary,
                value: self.row(stage - 1, number),
                of: Some(number),
                later: self.rows[stage - 1].time,
                walls: self.walls(stage, field.walls.as_ref()),
            }));
            works.extend(own.iter().map(|work| StepWork {
                name: format!("{} in stage {}", work.name, stage + 1),
                value: self.at(stage, &work.value),
                later: self.rows[stage - 1].time,
                walls: self.walls(stage, work.walls.as_ref()),
                ..work.clone()
            }));
        }
        for stage in self.kept() {
            works.extend(fields.iter().enumerate().map(|(number, field)| StepWork {
                name: format!("rate of {} in stage {}", field.name, stage + 1),
                boundary: Boundary::default(),
                value: self.rate(stage, number),
                of: None,
                later: 0.0,
                // It is read at its own point only.
                walls: None,
            }));
        }
        works
    }
}
