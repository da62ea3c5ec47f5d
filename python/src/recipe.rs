// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system is made of: the text of its file, and what is given in the place of what the text says. From that it is made
//! again in another process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use stencil::device::DeviceArray;
use stencil::problem::Text;
use stencil::system::{Description, DeviceStart, StartText, examples};
use stencil::{Dtype, Error, Grid, System};

use crate::dlpack::ImportedArray;
use crate::{arrays, choices, errors, help, worker};

/// A text, and what is given besides.
#[derive(Clone)]
pub struct Recipe {
    /// The name of the text in errors.
    place: String,
    text: String,
    /// Where files lie that it names.
    folder: PathBuf,
    given: Vec<RecipeEntry>,
}

/// Something that is given, by what it is and a name.
#[derive(Clone)]
struct RecipeEntry {
    what: EntryKind,
    name: String,
    values: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Parameter,
    Start,
    Before,
    Coefficient,
    Boundary,
    Keep,
    Solid,
    Size,
    Spacing,
    Dt,
    Dtype,
    Series,
}

const WHATS: [(&str, EntryKind); 12] = [
    ("parameter", EntryKind::Parameter),
    ("start", EntryKind::Start),
    ("before", EntryKind::Before),
    ("coefficient", EntryKind::Coefficient),
    ("boundary", EntryKind::Boundary),
    ("keep", EntryKind::Keep),
    ("solid", EntryKind::Solid),
    ("size", EntryKind::Size),
    ("spacing", EntryKind::Spacing),
    ("dt", EntryKind::Dt),
    ("dtype", EntryKind::Dtype),
    ("series", EntryKind::Series),
];

#[derive(Clone)]
enum Value {
    /// A number or an expression.
    Text(String),
    Grid(Arc<Grid>),
    /// Of an array in the memory of a GPU.
    OnDevice(Arc<DeviceStart>),
}

/// Where a system is described: `(place, text, folder)` of the name of an example, a path that ends in `.toml`, or the text itself.
#[pyfunction]
pub fn described(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<(String, String, PathBuf)> {
    let here = current_folder();
    let text: String = match source.extract() {
        Ok(text) => text,
        Err(_) => {
            let path: PathBuf = source.extract().map_err(|_| {
                errors::of_type("source", source, "a name, a path, a text or a dict", help::SYSTEM)
            })?;
            return read(py, &path);
        }
    };
    if text.contains('\n') {
        return Ok(("the text".into(), text, here));
    }
    if text.ends_with(".toml") {
        return read(py, Path::new(&text));
    }
    match examples::find(&text) {
        Some(example) => Ok((example.name.into(), example.text.into(), here)),
        None => {
            let known: Vec<&str> = examples::EXAMPLES.iter().map(|example| example.name).collect();
            let text = format!("there is no system '{text}'; there is {}", known.join(", "));
            Err(errors::input(py, &text, help::SYSTEM))
        }
    }
}

fn read(py: Python<'_>, path: &Path) -> PyResult<(String, String, PathBuf)> {
    let bytes = std::fs::read(path)
        .map_err(|source| errors::raised(py, &Error::Read { path: path.to_owned(), source }))?;
    // Of a name alone the parent is an empty path, which stands for the current folder.
    let folder = current_folder().join(path.parent().unwrap_or(Path::new("")));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((path.display().to_string(), text, folder))
}

/// The folder that relative names of files are of now. It may be another one later.
#[pyfunction]
pub fn current_folder() -> PathBuf {
    // Where it is gone, so are its files.
    std::env::current_dir().unwrap_or_default()
}

impl Recipe {
    /// Of a place, a text, a folder, and a list of what is given: `(what, name, values)`.
    pub fn read(recipe: &Bound<'_, PyTuple>) -> PyResult<Self> {
        type Parts<'py> = (String, String, PathBuf, Vec<(String, String, Vec<Bound<'py, PyAny>>)>);
        let (place, text, folder, all): Parts<'_> = recipe.extract()?;
        let mut own = Self { place, text, folder, given: Vec::new() };
        for (what, name, values) in all {
            let found = WHATS.iter().find(|(known, _)| *known == what);
            let &(_, what) = found.expect("what the package itself gives");
            let may_stay =
                matches!(what, EntryKind::Start | EntryKind::Before | EntryKind::Coefficient);
            let values = values.iter().map(|value| Value::read(value, may_stay));
            let values = values.collect::<PyResult<_>>()?;
            own.give(RecipeEntry { what, name, values });
        }
        Ok(own)
    }

    /// As [`Recipe::read`] takes it.
    pub fn written<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let given = self.given.iter().map(|given| {
            let known = WHATS.iter().find(|(_, what)| *what == given.what);
            let what = known.map_or("", |(name, _)| name);
            let values = given.values.iter().map(|value| value.written(py));
            let values = PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?;
            PyTuple::new(
                py,
                [
                    what.into_pyobject(py)?.into_any(),
                    (&given.name).into_pyobject(py)?.into_any(),
                    values.into_any(),
                ],
            )
        });
        let given = PyList::new(py, given.collect::<PyResult<Vec<_>>>()?)?;
        let own = (&self.place, &self.text, self.folder.as_path(), given);
        own.into_pyobject(py)
    }

    /// With other values of constants.
    pub fn parameters(&mut self, all: Vec<(String, String)>) {
        for (name, value) in all {
            self.give(RecipeEntry {
                what: EntryKind::Parameter,
                name,
                values: vec![Value::Text(value)],
            });
        }
    }

    /// With other numbers that sources add, from a step on. Those before it are added no more.
    pub fn series(&mut self, first: usize, rows: &[Vec<f64>]) -> Result<(), Error> {
        let extents = [rows.len(), first + rows.first().map_or(0, Vec::len)];
        let before = vec![0.0; first];
        let values: Vec<f64> =
            rows.iter().flat_map(|row| before.iter().chain(row)).copied().collect();
        let values = vec![Value::Grid(Grid::new(&extents, values)?.into())];
        self.give(RecipeEntry { what: EntryKind::Series, name: String::new(), values });
        Ok(())
    }

    fn give(&mut self, given: RecipeEntry) {
        self.given.retain(|own| own.what != given.what || own.name != given.name);
        self.given.push(given);
    }

    /// Names of fields that begin with earlier values of their own.
    pub fn with_before(&self) -> Result<Vec<String>, Error> {
        let mut description = Description::parse(&self.place, &self.text)?;
        for given in &self.given {
            given.put(&mut description)?;
        }
        let own = description.fields.iter().filter(|field| !field.before.is_empty());
        Ok(own.map(|field| field.name.as_str().to_owned()).collect())
    }

    /// The system.
    pub fn system(&self) -> Result<System, Error> {
        let mut description = Description::parse(&self.place, &self.text)?;
        let mut new = Vec::new();
        for given in &self.given {
            if given.put(&mut description)? {
                new.push(&given.name);
            }
        }
        let system = System::new(&description, &self.folder)?;
        for name in new {
            description.check_reads(name, &self.folder)?;
        }
        Ok(system)
    }
}

impl RecipeEntry {
    /// Returns whether it is of a coefficient that was not there before.
    fn put(&self, to: &mut Description) -> Result<bool, Error> {
        let name = self.name.as_str();
        let first = || match self.values.first() {
            Some(value) if name.is_empty() => value.start("the solid points"),
            Some(value) => value.start(&format!("what is given for '{name}'")),
            None => StartText::from(0.0),
        };
        let texts = |place: &str| -> Vec<Text> {
            let text = |value: &Value| match value {
                Value::Text(text) => Text::new(place, text),
                Value::Grid(grid) => Text::new(place, &format!("{} values", grid.shape)),
                Value::OnDevice(own) => Text::new(place, &format!("{} values", own.shape())),
            };
            self.values.iter().map(text).collect()
        };
        let text = |place: &str| texts(place).swap_remove(0);
        match self.what {
            EntryKind::Parameter => {
                to.set_constant(
                    &Text::new("parameters", name),
                    text(&format!("the parameter '{name}'")),
                )?;
            }
            EntryKind::Start => to.set_start(name, first())?,
            EntryKind::Before => {
                let place = format!("the values before the start of '{name}'");
                to.set_before(name, self.values.iter().map(|value| value.start(&place)).collect())?;
            }
            EntryKind::Coefficient => return Ok(to.set_coefficient(name, first())),
            EntryKind::Boundary => to.set_boundary(name, text("boundary").as_str())?,
            EntryKind::Keep => to.set_keep(name, first())?,
            EntryKind::Solid => to.solid = Some(first()),
            EntryKind::Size => {
                let extents =
                    texts("size").iter().map(|text| text.as_str().parse().unwrap_or(0)).collect();
                to.size = extents;
            }
            EntryKind::Spacing => to.spacing = texts("spacing"),
            EntryKind::Dt => to.dt = text("dt"),
            EntryKind::Series => match self.values.first() {
                Some(Value::Grid(grid)) => to.set_series(&arrays::rows(grid))?,
                _ => to.set_series(&[])?,
            },
            EntryKind::Dtype => to.dtype = text("dtype").as_str().parse().unwrap_or(Dtype::F32),
        }
        Ok(false)
    }
}

impl Value {
    /// An array of a GPU stays there, if it is of a field or a coefficient and there is room for a copy.
    fn read(value: &Bound<'_, PyAny>, may_stay: bool) -> PyResult<Self> {
        if let Ok(text) = value.extract::<String>() {
            return Ok(Self::Text(text));
        }
        match arrays::ArrayInput::read(value)? {
            arrays::ArrayInput::Host(array) => Ok(Self::Grid(array.grid()?.into())),
            arrays::ArrayInput::Array(ImportedArray { array, capsule }) => {
                let read = move |_| match may_stay.then(|| DeviceStart::new(&array)) {
                    Some(Ok(own)) => Ok(Self::OnDevice(own.into())),
                    _ => Ok(Self::Grid(DeviceArray::download(&array)?.into())),
                };
                let own = worker::once(value.py(), read)?;
                // The producer kept the array until here.
                drop(capsule);
                Ok(own)
            }
        }
    }

    fn written<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Text(text) => Ok(text.into_pyobject(py)?.into_any()),
            Self::Grid(grid) => Ok(arrays::kept(py, Grid::clone(grid))?.into_bound(py)),
            Self::OnDevice(own) => {
                let own = Arc::clone(own);
                let grid = worker::once(py, move |_| own.grid())?;
                Ok(arrays::kept(py, Grid::clone(&grid))?.into_bound(py))
            }
        }
    }

    fn start(&self, place: &str) -> StartText {
        match self {
            Self::Text(text) if text.ends_with(".npy") => StartText::File(Text::new(place, text)),
            Self::Text(text) => StartText::Expression(Text::new(place, text)),
            Self::Grid(grid) => StartText::Values(Arc::clone(grid)),
            Self::OnDevice(own) => StartText::OnDevice(Arc::clone(own)),
        }
    }
}

/// What a recipe makes, before any values: extents, spacing, element type, names of fields, coefficients and constants.
#[pyfunction]
#[pyo3(signature = (recipe))]
pub fn outline<'py>(
    py: Python<'py>,
    recipe: &Bound<'py, PyTuple>,
) -> PyResult<(Vec<usize>, Vec<f64>, f64)> {
    let recipe = Recipe::read(recipe)?;
    let system = recipe.system().map_err(|error| errors::raised(py, &error))?;
    let extents = system.shape().axes().to_vec();
    let spacing = system.spacing()[3 - extents.len()..].to_vec();
    Ok((extents, spacing, system.dt()))
}

/// An element type by any of its names, as descriptions write it.
#[pyfunction]
pub fn dtype_name(dtype: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(choices::element(dtype)?.to_string())
}
