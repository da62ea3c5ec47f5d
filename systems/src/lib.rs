// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems of fields: equations with stencils, coefficients that vary, earlier levels, sources, and terms that are
//! not linear, from a file or from Rust (`docs/reference/system-files.md`).
//!
//! A [`Description`] holds texts. [`System::new`] checks them: each equation becomes a tree whose names are what
//! they stand for, and all of them together a program of operations (`program`), which engines execute. The
//! oracle does not know the program: it computes straight from the trees (`evaluate`).
//!
//! Heat in a rod between two ends at 0, of which half a wave of a sine decays:
//!
//! ```
//! # mod stencil { pub use {problem::*, systems as system, systems::Simulation}; }
//! use stencil::system::{Description, FieldText, System};
//! use stencil::{Dtype, Simulation};
//! use std::f64::consts::PI;
//! use std::path::Path;
//!
//! # fn main() -> Result<(), stencil::Error> {
//! let description = Description::new(&[63])
//!     .dtype(Dtype::F64)
//!     .spacing("1/64")
//!     .time_step("0.25*h^2")
//!     .derivative("laplace", "xx", 2)
//!     .field(FieldText::new("u", "sin(pi*(x + h))", "u + dt*laplace(u)"));
//! let mut rod = Simulation::of(&System::new(&description, Path::new("."))?).build()?;
//! rod.step(1000)?;
//!
//! let middle = rod.field("u")?.get(31);
//! let exact = (PI / 128.0).cos().powi(2 * 1000);
//! assert!((middle - exact).abs() < 1e-12, "{middle} instead of {exact}");
//! # Ok(())
//! # }
//! ```

use std::path::Path;

use problem::Error;

pub mod adjoint;
pub mod batch;
mod boundary_terms;
mod budget;
pub mod check;
mod checked;
mod clock;
mod common_subexpressions;
mod constants;
mod cpu;
mod description;
mod digits;
mod ends;
mod evaluate;
pub mod examples;
pub mod families;
pub mod fft;
mod file;
mod fingerprint;
mod formula;
pub mod gpu;
pub mod growth;
mod inside;
mod integrate;
mod interval;
mod kept;
mod layer;
mod origin;
mod overrides;
mod paced;
mod parts;
mod place_expressions;
mod places;
pub mod plan;
mod pml;
mod points;
mod program;
pub mod ranks;
mod reads;
mod receivers;
mod reduced;
mod renewed;
mod report;
mod series;
mod session;
mod sides;
pub mod simulation;
mod solid;
mod solved;
mod solves;
mod sourced;
mod speeds;
mod split;
mod sponge;
mod staged;
mod stages;
mod start;
mod start_on_device;
mod stencils;
pub mod sum;
mod tables;
mod tape;
mod totals;
mod unrounded;
mod vanishing;
mod walls;
mod zeros;

#[cfg(test)]
mod tests;

pub use checked::System;
pub use description::{
    AtText, Change, CoefficientText, Description, FieldText, PmlText, ReceiverText, RecordText,
    SourceText, SpongeText, StartText, StencilText, Table, TableText, TotalText, WorkText,
};
pub use formula::{Formula, Number};
pub use integrate::Method;
pub use points::{Interpolation, Units};
use problem::text;
pub use problem::{Text, expression};
pub use simulation::{ComputeOptions, Simulation, SystemSimulation, SystemState};
pub use start_on_device::DeviceStart;

impl Description {
    /// Reads one from TOML; `place` names the text in errors.
    ///
    /// # Errors
    /// [`Error::System`]: the text is no TOML, or has other keys or values than a system has.
    pub fn parse(place: &str, text: &str) -> Result<Self, Error> {
        Ok(file::parse(place, text)?)
    }

    /// Reads one from a TOML file.
    ///
    /// # Errors
    /// As [`Description::parse`], or the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes =
            std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &String::from_utf8_lossy(&bytes))
    }
}
