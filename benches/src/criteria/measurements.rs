// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recorded speeds of kernels: a CSV file with a line for each candidate of the planner.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use stencil::families::Unit;
use stencil::{Dtype, Shape};
use transform::machine::Precision;

/// A line as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    stencil: String,
    shape: String,
    dtype: String,
    boundary: String,
    engine: String,
    kernel: String,
    fuse: usize,
    chain: usize,
    seconds_per_step: f64,
}

/// A kernel's speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The stencil's name.
    pub stencil: String,
    /// The grid.
    pub grid: Shape,
    /// What the grid is stored in.
    pub dtype: Dtype,
    /// What computed.
    pub unit: Unit,
    /// The kernel's name; of some on CUDA cores none was recorded.
    pub kernel: String,
    /// Steps of one sum.
    pub fuse: usize,
    /// Such sums in one sweep.
    pub chain: usize,
    /// GStencil/s.
    pub speed: f64,
}

impl Measured {
    /// Steps in one sweep: the paper's t.
    pub fn steps(&self) -> usize {
        self.fuse * self.chain
    }

    /// What a measurement is of.
    fn key(&self) -> String {
        let Self { stencil, grid, dtype, unit, kernel, fuse, chain, .. } = self;
        format!("{stencil} {grid} {dtype} {} {kernel} {fuse} {chain}", unit.engine())
    }
}

/// All speeds on grids with zeros around them; of kernels that were measured again the last.
pub struct Measurements {
    all: Vec<Measured>,
}

impl Measurements {
    /// The measurements of a CSV file.
    ///
    /// # Errors
    /// A line is no measurement; the text says which, and why. There is none.
    pub fn parse(text: &str) -> Result<Self> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headers = reader.headers()?.clone();
        let mut all: Vec<Measured> = Vec::new();
        let mut last = HashMap::new();
        for record in reader.records() {
            let record = record?;
            let number = record.position().map_or(0, csv::Position::line);
            let line: Line = record.deserialize(Some(&headers))?;
            if line.boundary != "zero" {
                continue;
            }
            let measured = measured(line).with_context(|| format!("line {number}"))?;
            last.insert(measured.key(), all.len());
            all.push(measured);
        }
        let mut index = 0..;
        all.retain(|one| last.get(&one.key()).copied() == index.next());
        ensure!(
            !all.is_empty(),
            "it has no measurement with boundary zero: give what gpu-candidates wrote, as CSV"
        );
        Ok(Self { all })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The names of the stencils, in the file's order.
    pub fn stencils(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for measured in &self.all {
            if !names.contains(&&*measured.stencil) {
                names.push(&measured.stencil);
            }
        }
        names
    }

    /// The measurements of a stencil in a precision that `takes` accepts, all on one grid: the grid on which the most
    /// units were measured, and the largest of several such grids.
    pub fn side_by_side(
        &self,
        stencil: &str,
        precision: Precision,
        takes: impl Fn(&Measured) -> bool,
    ) -> Vec<&Measured> {
        let mut fitting: Vec<&Measured> = self.all.iter().collect();
        fitting.retain(|one| one.stencil == stencil && one.dtype == dtype(precision, one.unit));
        fitting.retain(|one| takes(one));
        let units = |grid: Shape| {
            let on =
                |unit: &&Unit| fitting.iter().any(|one| one.grid == grid && one.unit == **unit);
            Unit::ALL.iter().filter(on).count()
        };
        let grids = fitting.iter().map(|one| one.grid);
        let Some(grid) = grids.max_by_key(|grid| (units(*grid), grid.points())) else {
            return Vec::new();
        };
        fitting.retain(|one| one.grid == grid);
        fitting
    }
}

/// What a unit computes in where the paper has double, float and half.
pub fn dtype(precision: Precision, unit: Unit) -> Dtype {
    match (precision, unit) {
        (Precision::Double, _) => Dtype::F64,
        (Precision::Single, Unit::CudaCores) => Dtype::F32,
        (Precision::Single, _) => Dtype::Tf32,
        (Precision::Half, _) => Dtype::F16,
    }
}

/// The fastest of some.
pub fn fastest<'a>(some: impl Iterator<Item = &'a Measured>) -> Option<&'a Measured> {
    some.max_by(|a, b| a.speed.total_cmp(&b.speed))
}

fn measured(line: Line) -> Result<Measured> {
    let Line { stencil, shape, dtype, engine, kernel, fuse, chain, seconds_per_step, .. } = line;
    let grid: Shape = shape.parse()?;
    let dtype = dtype.parse()?;
    let unit = Unit::ALL.into_iter().find(|unit| unit.engine() == engine);
    let unit = unit.with_context(|| {
        let names = Unit::ALL.map(Unit::engine).join(", ");
        format!("'{engine}' is no engine of a GPU; these are {names}")
    })?;
    ensure!(fuse > 0 && chain > 0, "fuse and chain count from 1, and it has {fuse} and {chain}");
    ensure!(
        seconds_per_step.is_finite() && seconds_per_step > 0.0,
        "a step took {seconds_per_step} s, which no step takes"
    );
    let speed = grid.points() as f64 / seconds_per_step / 1e9;
    Ok(Measured { stencil, grid, dtype, unit, kernel, fuse, chain, speed })
}
