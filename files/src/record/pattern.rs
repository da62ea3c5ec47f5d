// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of files that depend on the field and the step: `{field}` and `{step}`, or with zeros `{step:06}`.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Stands for a field's name.
const FIELD: &str = "{field}";
/// Begins what stands for the steps that were taken.
const STEP: &str = "{step";
/// More digits than any number of steps has.
const MOST_DIGITS: usize = 20;

/// What stands for a step, but cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("'{0}' is no placeholder")]
pub struct PatternError(String);

/// The name of a file, or of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    /// What the step stands in, with at least so many digits, and what follows it.
    step: Option<(usize, String)>,
}

impl Pattern {
    /// Reads a name.
    ///
    /// # Errors
    /// [`PatternError`]: what stands for the step has something else than a number of digits in it.
    pub fn new(path: &Path) -> Result<Self, PatternError> {
        let text = path.to_string_lossy();
        let Some((before, rest)) = text.split_once(STEP) else {
            return Ok(Self { before: text.into_owned(), step: None });
        };
        let Some((digits, after)) = rest.split_once('}') else {
            return Err(PatternError(format!("{STEP}{rest}")));
        };
        let wrong = || PatternError(format!("{STEP}{digits}}}"));
        let digits = match digits.strip_prefix(':') {
            None if digits.is_empty() => 0,
            Some(count) => {
                count.parse().ok().filter(|count| *count <= MOST_DIGITS).ok_or_else(wrong)?
            }
            None => return Err(wrong()),
        };
        if after.contains(STEP) {
            return Err(PatternError(format!("a second {STEP}}}")));
        }
        Ok(Self { before: before.to_owned(), step: Some((digits, after.to_owned())) })
    }

    /// Whether each step has a file of its own.
    #[must_use]
    pub fn has_step(&self) -> bool {
        self.step.is_some()
    }

    /// Whether each field has a file of its own.
    #[must_use]
    pub fn has_field(&self) -> bool {
        let after = self.step.as_ref().is_some_and(|(_, after)| after.contains(FIELD));
        self.before.contains(FIELD) || after
    }

    /// The file of a field after so many steps.
    #[must_use]
    pub fn path(&self, field: &str, step: usize) -> PathBuf {
        let name = match &self.step {
            None => self.before.clone(),
            Some((digits, after)) => format!("{}{step:0digits$}{after}", self.before),
        };
        PathBuf::from(name.replace(FIELD, field))
    }

    /// The file that lists all of a field: their name without the step and what parts it from the rest.
    #[must_use]
    pub fn index(&self, field: &str, extension: &str) -> PathBuf {
        let before = self.before.replace(FIELD, field);
        let name = match &self.step {
            None => before,
            Some((_, after)) => {
                let start = before.trim_end_matches(['_', '-', '.']);
                let own = if start.is_empty() || start.ends_with('/') { "steps" } else { "" };
                format!("{start}{own}{}", after.replace(FIELD, field))
            }
        };
        PathBuf::from(name).with_extension(extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(Path::new(text)).unwrap()
    }

    #[test]
    fn names_follow_the_field_and_the_step() {
        let path = |text: &str| pattern(text).path("u", 42).display().to_string();
        for (text, name) in [
            ("a.npy", "a.npy"),
            ("a_{step}.png", "a_42.png"),
            ("a_{step:06}.png", "a_000042.png"),
            ("{field}/{step:1}-{field}.vti", "u/42-u.vti"),
            ("last-{field}.npy", "last-u.npy"),
        ] {
            assert_eq!(path(text), name);
        }
        assert!(pattern("{step}").has_step() && !pattern("step").has_step());
        assert!(pattern("{step}{field}").has_field() && !pattern("{step}").has_field());
    }

    #[test]
    fn what_stands_for_nothing_is_refused() {
        for text in ["{step:x}", "{steps}", "{step:99}", "{step}{step}", "{step"] {
            assert!(Pattern::new(Path::new(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn an_index_is_named_after_what_it_lists() {
        let index = |text: &str| pattern(text).index("p", "pvd").display().to_string();
        assert_eq!(index("u_{step:06}.vti"), "u.pvd");
        assert_eq!(index("{field}-{step}.vti"), "p.pvd");
        assert_eq!(index("out/{step}.vti"), "out/steps.pvd");
    }
}
