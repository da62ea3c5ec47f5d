// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of a choice as those of an option: its help lists them with what they mean, and an error
//! suggests the one that looks alike.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use strum::{EnumMessage, VariantArray};

/// A type with a list of values, each with a name and its documentation.
pub trait Choice: Copy + EnumMessage + Into<&'static str> + Send + Sync + VariantArray {}
impl<T: Copy + EnumMessage + Into<&'static str> + Send + Sync + VariantArray> Choice for T {}

/// Takes the names of a choice.
///
/// # Panics
/// Never: clap hands on only what is one of the possible values.
pub fn one_of<T: Choice>() -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(T::VARIANTS.iter().map(possible));
    names.map(|text| {
        // In whatever case: an option that minds it refuses the others before.
        let named = T::VARIANTS.iter().find(|value| possible(*value).matches(&text, true));
        *named.expect("one of the possible values")
    })
}

/// The name with the other ones that it may be written as, and the documentation of a value.
pub fn possible<T: Choice>(value: &T) -> PossibleValue {
    let name: &str = (*value).into();
    let others = value.get_serializations().iter().filter(|other| **other != name);
    let possible = PossibleValue::new(name).aliases(others.copied());
    possible.help(value.get_documentation().unwrap_or_default().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};
    use compute::engine::EngineRequest;
    use problem::Dtype;

    /// What an option takes from these words, or the message.
    fn read<T: Choice>(line: &str, ignore_case: bool) -> Result<T, String> {
        let option = Arg::new("of").long("of").value_parser(one_of::<T>());
        let command = Command::new("test").arg(option.ignore_case(ignore_case));
        let matches = command.try_get_matches_from(line.split(' '));
        let matches = matches.map_err(|error| error.to_string())?;
        Ok(*matches.get_one("of").expect("it was given"))
    }

    #[test]
    fn every_name_is_taken_and_others_are_answered_with_the_list() {
        assert_eq!(read("test --of f16", true), Ok(Dtype::F16));
        assert_eq!(read("test --of HALF", true), Ok(Dtype::F16));
        assert_eq!(read("test --of cpu", false), Ok(EngineRequest::Cpu));
        let refused = read::<EngineRequest>("test --of CPU", false).unwrap_err();
        assert!(
            refused.contains("[possible values: auto, sparse, dense, cuda, cpu, fft, emulate]"),
            "{refused}"
        );
        let refused = read::<Dtype>("test --of f1", true).unwrap_err();
        assert!(refused.contains("a similar value exists: 'f16'"), "{refused}");
    }
}
