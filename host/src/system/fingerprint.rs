// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tells a system from others: all that its values depend on but for the steps that are taken.

use super::checked::System;
use super::parts::Start;
use crate::io::checkpoint::hash_of;
use crate::with_values;

impl System {
    /// The same digits for systems whose values are the same after any number of steps, and others for others. They
    /// may be others in another version of this program.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let Self { shape, dtype, spacing, dt, stencils, tables, sources, receivers, .. } = self;
        let numbers = format!("{shape} {dtype} {spacing:?} {dt:?}");
        let parts = format!("{stencils:?} {tables:?} {sources:?} {receivers:?}");
        let mut all = vec![numbers.into_bytes(), parts.into_bytes()];
        for field in &self.fields {
            let (name, boundary, next, keep) =
                (&field.name, field.boundary, &field.next, &field.keep);
            all.push(format!("{name} {boundary:?} {next:?} {keep:?}").into_bytes());
            all.push(start(&field.start));
        }
        for coefficient in &self.coefficients {
            all.push(format!("{} {:?}", coefficient.name, coefficient.boundary).into_bytes());
            all.push(start(&coefficient.start));
        }
        let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        hash_of(&all)
    }
}

/// An expression as it was understood, or values as they are stored.
fn start(start: &Start) -> Vec<u8> {
    match start {
        Start::Expression(node) => format!("{node:?}").into_bytes(),
        Start::Values(grid) => {
            with_values!(&grid.values, values => bytemuck::cast_slice(values).to_vec())
        }
    }
}
