// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems from TOML.

use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use transform::stencil_file;

use super::description::{
    AtText, Change, CoefficientText, Description, FieldText, PmlText, ReceiverText, RecordText,
    SourceText, SpongeText, StartText, StencilText, Table, TableText, TotalText, WorkText,
};
use super::text::Text;
use files::io::columns;
use problem::Dtype;
use problem::error::Mistake;
use problem::names::UnknownName;
use problem::similar_names::near;

use tables::{
    CoefficientTable, FieldTable, File, NumberOrText, OneOrMore, PmlTable, ReceiverTable,
    SomeTable, SourceTable, SpongeTable, StencilTable, Strings, TableTable, Tables, TimeTable,
    TotalTable, WorkTable,
};

mod tables;
#[cfg(test)]
mod tests;
mod whole;

/// The strength of Cerjan's sponge.
const STRENGTH: f64 = 0.015;

/// Reads a description; `place` names the text in errors.
///
/// # Errors
/// The text is no TOML, or has other keys or values than a system has.
pub fn parse(place: &str, text: &str) -> Result<Description, Mistake> {
    let whole = Text::new(place, text);
    let file: File = toml::from_str(text).map_err(|refused| {
        let at = refused.span().unwrap_or(0..0);
        explain(&whole, at, refused.message())
    })?;
    Reader { whole }.description(file)
}

/// What the parser refused, with what may have been meant.
fn explain(whole: &Text, at: Range<usize>, message: &str) -> Mistake {
    // "unknown field `a`, expected one of `b`, `c`"
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [key, known @ ..] if message.starts_with("unknown field") => {
            let mistake = whole.mistake(at, format!("there is no key '{key}' here"));
            match near(key, known.iter().map(|known| (*known, *known))) {
                near if near.is_empty() => mistake.hint(format!("it may be {}", known.join(", "))),
                near => mistake.hint(format!("did you mean {}?", near.join(", "))),
            }
        }
        [key] if message.starts_with("missing field") => {
            whole.mistake(at, format!("the key '{key}' is missing here"))
        }
        _ if message.contains(".npy\", expected a table") => whole
            .mistake(at, message)
            .hint("only a start takes a file: [coefficients.NAME] start = \"FILE.npy\""),
        _ => whole.mistake(at, message),
    }
}

/// Values to start with: an expression, or the name of a file.
fn start(text: Text) -> StartText {
    match text.as_str().ends_with(".npy") {
        true => StartText::File(text),
        false => StartText::Expression(text),
    }
}

/// The points that are solid: a condition, or the name of a file.
fn solid(text: Text) -> StartText {
    match [".npy", ".png"].iter().any(|end| text.as_str().ends_with(end)) {
        true => StartText::File(text),
        false => StartText::Expression(text),
    }
}

/// What is made of each table.
fn all<T, U>(tables: Vec<T>, make: impl Fn(T) -> Result<U, Mistake>) -> Result<Vec<U>, Mistake> {
    tables.into_iter().map(make).collect()
}

struct Reader {
    whole: Text,
}

impl Reader {
    fn description(&self, file: File) -> Result<Description, Mistake> {
        let size: Vec<usize> = file.grid.size.iter().map(|extent| extent.0).collect();
        let start = Description::new(&size);
        let spacing = match &file.grid.spacing {
            None => start.spacing,
            Some(spacing) => self.one_or_more(spacing),
        };
        Ok(Description {
            title: file.title.unwrap_or_default(),
            spacing,
            dtype: file.grid.dtype.as_ref().map_or(Ok(start.dtype), |name| self.dtype(name))?,
            solid: file.grid.solid.as_ref().map(|points| solid(self.string(points))),
            dt: file.time.get_ref().dt.as_ref().map_or(start.dt, |dt| self.value(dt)),
            tolerance: file.time.get_ref().tolerance.as_ref().map(|it| self.value(it)),
            dt_every: file.time.get_ref().dt_every.as_ref().map(|it| it.0),
            steps: file.time.get_ref().steps.as_ref().map_or(0, |steps| steps.0),
            until: self.until(&file.time)?,
            constants: self.each(&file.constants, |_, value| Ok(self.value(value)))?,
            terms: self.each(&file.terms, |_, term| Ok(self.string(term)))?,
            stencils: self.each(&file.stencils, |_, table| self.stencil(table))?,
            tables: self.each(&file.tables, |_, table| self.table(table))?,
            fields: self.fields(&file.fields)?,
            works: self.list(&file.work, |name, table| self.work(name, table)),
            totals: self.totals(&file.totals),
            method: self.choice(file.time.get_ref().method.as_ref())?,
            coefficients: self
                .list(&file.coefficients, |name, table| self.coefficient(name, table)),
            sources: all(file.sources, |table| self.source(table))?,
            receivers: all(file.receivers, |table| self.receiver(table))?,
            sponge: file.sponge.map(|table| self.sponge(table)),
            pml: file.pml.map(|table| self.pml(&table)),
            ..start
        })
    }

    /// What is made of tables, in the order in which they were written.
    fn each<T, U>(
        &self,
        tables: &Tables<T>,
        make: impl Fn(&Text, &Spanned<T>) -> Result<U, Mistake>,
    ) -> Result<Vec<(Text, U)>, Mistake> {
        let mut ordered: Vec<_> = tables.iter().collect();
        ordered.sort_by_key(|(name, _)| name.span().start);
        let one = |(name, table): (&Spanned<String>, &Spanned<T>)| {
            let name = self.name(name);
            let made = make(&name, table)?;
            Ok((name, made))
        };
        ordered.into_iter().map(one).collect()
    }

    fn list<T, U>(&self, tables: &Tables<T>, make: impl Fn(Text, &T) -> U) -> Vec<U> {
        let all = self.each(tables, |name, table| Ok(make(name.clone(), table.get_ref())));
        all.expect("nothing is refused").into_iter().map(|(_, made)| made).collect()
    }

    fn fields(&self, tables: &Tables<FieldTable>) -> Result<Vec<FieldText>, Mistake> {
        let fields = self.each(tables, |name, table| {
            let at = table.span();
            let table = table.get_ref();
            let change = match (&table.next, &table.rate) {
                (Some(next), None) => Change::Next(self.string(next)),
                (None, Some(rate)) => Change::Rate(self.string(rate)),
                (Some(_), Some(rate)) => {
                    let what = format!("'{}' has next values, and a rate", name.as_str());
                    return Err(self.string(rate).wrong(what).hint("give one of them"));
                }
                (None, None) => {
                    let wrong = self.whole.mistake(at, "the key 'next' is missing here");
                    let hint = "next = \"...\" says what comes after a step, rate = \"...\" how fast it changes";
                    return Err(wrong.hint(hint));
                }
            };
            Ok(self.field(name.clone(), table, change))
        });
        Ok(fields?.into_iter().map(|(_, field)| field).collect())
    }

    /// The end of a run that has no number of steps.
    fn until(&self, time: &Spanned<TimeTable>) -> Result<Option<Text>, Mistake> {
        let TimeTable { steps, until, .. } = time.get_ref();
        match (steps, until) {
            (Some(_), None) => Ok(None),
            (_, Some(until)) => Ok(Some(self.value(until))),
            (None, None) => {
                let wrong = self.whole.mistake(time.span(), "the key 'steps' is missing here");
                Err(wrong.hint("or until = 2.5, the time at which a run ends"))
            }
        }
    }

    /// What a name stands for, or what is meant without one.
    fn choice<T>(&self, name: Option<&Strings>) -> Result<T, Mistake>
    where
        T: Default + FromStr<Err = UnknownName>,
    {
        let Some(name) = name else { return Ok(T::default()) };
        let parsed = name.get_ref().parse();
        parsed.map_err(|error: UnknownName| self.string(name).wrong(error.to_string()))
    }

    fn totals(&self, tables: &Tables<TotalTable>) -> Vec<TotalText> {
        let all = self.each(tables, |name, table| {
            let (value, region) = match table.get_ref() {
                TotalTable::All(text) => (self.place(table.span(), text), None),
                TotalTable::Some(SomeTable { value, r#where }) => {
                    (self.string(value), r#where.as_ref().map(|it| self.string(it)))
                }
            };
            Ok(TotalText { name: name.clone(), value, region })
        });
        all.expect("nothing is refused").into_iter().map(|(_, total)| total).collect()
    }

    fn work(&self, name: Text, table: &WorkTable) -> WorkText {
        let boundary = table.boundary.as_ref();
        WorkText {
            boundary: boundary.map_or(Text::new("the boundary", "zero"), |it| self.string(it)),
            walls: table.walls.as_ref().map(|walls| self.string(walls)),
            value: self.string(&table.value),
            name,
        }
    }

    fn field(&self, name: Text, table: &FieldTable, change: Change) -> FieldText {
        FieldText {
            start: self.start(&table.start),
            before: table.before.as_ref().map_or(Vec::new(), |values| {
                self.one_or_more(values).into_iter().map(start).collect()
            }),
            boundary: match &table.boundary {
                Some(written) => self.string(written),
                None => Text::new("the boundary", "zero"),
            },
            change,
            keep: table.keep.as_ref().map(|keep| self.string(keep)),
            walls: table.walls.as_ref().map(|walls| self.string(walls)),
            name,
        }
    }

    fn coefficient(&self, name: Text, table: &CoefficientTable) -> CoefficientText {
        let start = self.start(&table.start);
        let boundary = table.boundary.as_ref().map(|written| self.string(written));
        CoefficientText { name, start, boundary }
    }

    fn start(&self, value: &Spanned<NumberOrText>) -> StartText {
        start(self.value(value))
    }

    fn stencil(&self, table: &Spanned<StencilTable>) -> Result<StencilText, Mistake> {
        let at = table.span();
        let StencilTable { name, derivative, average, order, offsets, weights, dense } =
            table.get_ref();
        let weighted = offsets.is_some() || weights.is_some() || dense.is_some();
        match (name, derivative, average) {
            (Some(name), None, None) if !weighted && order.is_none() => {
                Ok(StencilText::Catalogue(self.string(name)))
            }
            (None, Some(of), None) if !weighted => {
                let order = order.map_or(2, |order| order.0);
                Ok(StencilText::Derivative { of: self.string(of), order })
            }
            (None, None, Some(of)) if !weighted => {
                let order = order.map_or(2, |order| order.0);
                Ok(StencilText::Average { of: self.string(of), order })
            }
            (None, None, None) if weighted && order.is_none() => {
                // As a file of its own, which has a reader.
                let keys = [("offsets", offsets), ("weights", weights), ("dense", dense)];
                let given = keys.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
                let lines = given.map(|(key, value)| format!("{key} = {value}\n"));
                let file = format!("[own]\n{}", lines.collect::<String>());
                match stencil_file::parse(&file) {
                    Ok(stencils) => Ok(StencilText::Weights(stencils[0].clone())),
                    Err(refused) => Err(self.whole.mistake(at, refused.kind.to_string())),
                }
            }
            _ => Err(self.whole.mistake(at, "this is not one kind of stencil").hint(
                "give either name = \"...\" of the catalogue, or derivative = \"laplace\" and order, \
                 or average = \"x+\" and order, or offsets and weights, or dense",
            )),
        }
    }

    fn table(&self, table: &Spanned<TableTable>) -> Result<TableText, Mistake> {
        let TableTable { arguments, values, file, step, first } = table.get_ref();
        let given = |value: &Option<Spanned<NumberOrText>>| value.as_ref().map(|it| self.value(it));
        match (arguments, values, file) {
            (Some(arguments), Some(values), None) if step.is_none() && first.is_none() => {
                let (arguments, values) = (arguments.clone(), values.clone());
                Ok(TableText::Points(Table { arguments, values }))
            }
            (None, None, Some(file)) => {
                let (file, step, first) = (self.string(file), given(step), given(first));
                match (&step, &first) {
                    (None, Some(first)) => {
                        let wrong = first.wrong("the first argument needs the step to the next");
                        Err(wrong.hint("step = \"dt\" is the step between arguments"))
                    }
                    _ => Ok(TableText::File { file, step, first }),
                }
            }
            _ => Err(self.whole.mistake(table.span(), "this is no table").hint(
                "give arguments = [...] and values = [...], or file = \"FILE.csv\" with two columns, or with one and a step",
            )),
        }
    }

    fn source(&self, table: SourceTable) -> Result<SourceText, Mistake> {
        let SourceTable { field, at, units, interpolation, add } = table;
        let interpolation = self.choice(interpolation.as_ref())?;
        let units = self.choice(units.as_ref())?;
        let (field, at, add) = (self.string(&field), self.at(&at)?, self.value(&add));
        Ok(SourceText { field, at, units, interpolation, add })
    }

    fn receiver(&self, table: Spanned<ReceiverTable>) -> Result<ReceiverText, Mistake> {
        let span = table.span();
        let ReceiverTable { field, value, at, units, interpolation } = table.into_inner();
        let interpolation = self.choice(interpolation.as_ref())?;
        let units = self.choice(units.as_ref())?;
        let record = match (&field, &value) {
            (Some(field), None) => RecordText::Field(self.string(field)),
            (None, Some(value)) => RecordText::Value(self.string(value)),
            (Some(_), Some(value)) => {
                let wrong = self.string(value).wrong("this records a field, and an expression");
                return Err(wrong.hint("give one of them"));
            }
            (None, None) => {
                let wrong = self.whole.mistake(span, "the key 'field' is missing here");
                return Err(wrong.hint("or value = \"...\", an expression of fields"));
            }
        };
        Ok(ReceiverText { record, at: self.at(&at)?, units, interpolation })
    }

    /// A place, or the name of a file of places.
    fn at(&self, at: &Spanned<OneOrMore>) -> Result<AtText, Mistake> {
        match at.get_ref() {
            OneOrMore::More(numbers) => Ok(AtText::One(self.values(numbers))),
            OneOrMore::One(one) => match self.text(at.span(), one) {
                name if columns::is_file(name.as_str()) => Ok(AtText::File(name)),
                other => Err(other.wrong("this is no place").hint(
                    "at = [3, 4] has a number for each axis, at = \"FILE.csv\" or \"FILE.npy\" a row for each place",
                )),
            },
        }
    }

    fn one_or_more(&self, values: &Spanned<OneOrMore>) -> Vec<Text> {
        match values.get_ref() {
            OneOrMore::One(value) => vec![self.text(values.span(), value)],
            OneOrMore::More(values) => self.values(values),
        }
    }

    fn sponge(&self, table: SpongeTable) -> SpongeText {
        let SpongeTable { width, strength, sides, fields } = table;
        let strings = |list: Vec<Strings>| list.iter().map(|text| self.string(text)).collect();
        let strength = strength.unwrap_or(STRENGTH);
        SpongeText { width: width.0, strength, sides: strings(sides), fields: strings(fields) }
    }

    fn pml(&self, table: &PmlTable) -> PmlText {
        let strings = |list: &[Strings]| list.iter().map(|text| self.string(text)).collect();
        PmlText {
            width: table.width.get_ref().0,
            at: self.whole.part(table.width.span()),
            speed: self.value(&table.speed),
            reflection: table.reflection.as_ref().map(|value| self.value(value)),
            frequency: table.frequency.as_ref().map(|value| self.value(value)),
            sides: strings(&table.sides),
            fields: strings(&table.fields),
        }
    }

    fn dtype(&self, name: &Strings) -> Result<Dtype, Mistake> {
        name.get_ref()
            .parse()
            .map_err(|error: UnknownName| self.string(name).wrong(error.to_string()))
    }

    fn values(&self, values: &[Spanned<NumberOrText>]) -> Vec<Text> {
        values.iter().map(|value| self.value(value)).collect()
    }

    fn value(&self, value: &Spanned<NumberOrText>) -> Text {
        self.text(value.span(), value.get_ref())
    }

    /// A number or an expression.
    fn text(&self, span: Range<usize>, value: &NumberOrText) -> Text {
        match value {
            NumberOrText::Number(number) => {
                let written = self.whole.part(span);
                match written.as_str().parse::<f64>() {
                    Ok(same) if *number == same => written,
                    // TOML has more ways to write a number.
                    _ => Text::new("a number", &number.to_string()),
                }
            }
            NumberOrText::Text(text) => self.place(span, text),
        }
    }

    fn string(&self, text: &Strings) -> Text {
        self.place(text.span(), text.get_ref())
    }

    /// A key, which may have quotes.
    fn name(&self, name: &Spanned<String>) -> Text {
        self.place(name.span(), name.get_ref())
    }

    /// The place of a string's contents; where escapes make them differ from what is written, they are a text
    /// of their own.
    fn place(&self, span: Range<usize>, contents: &str) -> Text {
        let written = &self.whole.whole()[span.clone()];
        match written.find(contents) {
            Some(start) => {
                let start = span.start + start;
                self.whole.part(start..start + contents.len())
            }
            None => Text::new("an expression with escapes", contents),
        }
    }
}
