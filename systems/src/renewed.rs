// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system with other values of constants, made anew of what it was made of.

use std::fmt::Display;

use super::checked::System;
use super::text::Text;
use problem::{Clock, Error};

impl System {
    /// Its constants, with their values.
    pub fn constants(&self) -> impl ExactSizeIterator<Item = (&str, f64)> {
        let known = self.source.as_ref().map_or(&[][..], |source| &source.constants);
        known.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// A system like it with other values of constants: numbers, or expressions of constants. Whatever is made of these
    /// constants is another one, too: other constants, coefficients, the spacing, the time step.
    ///
    /// ```
    /// # mod stencil { pub use systems as system; }
    /// use stencil::system::{Description, FieldText, System};
    /// use std::path::Path;
    ///
    /// let rod = Description::new(&[9])
    ///     .constant("D", 2)
    ///     .time_step("0.25/D")
    ///     .field(FieldText::new("u", 1.0, "u"));
    /// let rod = System::new(&rod, Path::new("."))?;
    /// assert_eq!(rod.dt(), 0.125);
    /// assert_eq!(rod.with_constants(&[("D", "2*4")])?.dt(), 0.03125);
    /// # Ok::<(), problem::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::System`]: there is no such constant, or the system makes no sense with these values.
    pub fn with_constants<N: AsRef<str>, V: Display>(
        &self,
        values: &[(N, V)],
    ) -> Result<Self, Error> {
        let Some(source) = &self.source else {
            let part = Text::new("the system", self.title());
            return Err(part.wrong("a part of a system takes no other constants").into());
        };
        let mut description = source.description.clone();
        for (name, value) in values {
            let name = name.as_ref();
            let value = Text::new(&format!("the constant '{name}'"), &value.to_string());
            description.set_constant(&Text::new("the name of a constant", name), value)?;
        }
        let system = Self::new(&description, &source.folder)?;
        Ok(system.with_chain(self.chain).with_jump(self.jump))
    }

    /// It after so many steps of another one, whose time goes on: steps of another length begin where that one stands.
    pub(super) fn after(self, before: &Self, done: usize) -> Self {
        let clock = match (self.varies_steps() || before.varies_steps(), before.clock) {
            (false, clock) if clock.dt.to_bits() == self.clock.dt.to_bits() => clock,
            (false, clock) => {
                let time = clock.at(done as f64);
                Clock { step: done, time, ..self.clock }
            }
            (true, _) => self.clock,
        };
        Self { clock, ..self }
    }

    /// Whether the number of steps does not say what time it is.
    pub(super) fn has_variable_steps(&self) -> bool {
        self.varies_steps() || self.clock != Clock::of(self.clock.dt)
    }
}
