// SPDX-License-Identifier: MIT OR Apache-2.0
//! A constant of a system with one value after the other: `--sweep D=0.1:1:10`, a run for each in this process, with files whose names
//! have the value in the place of `{D}`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::Failure;
use super::computation_args::ComputationArgs;
use super::file_args::Series;

/// The values of a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSweep {
    name: String,
    /// As they are written.
    values: Vec<String>,
}

impl FromStr for ParameterSweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// Digits of a value: steps of a tenth are written as such.
        const DIGITS: usize = 12;
        const MOST: usize = 1_000_000;
        let form = || "give NAME=FROM:TO:COUNT, as in D=0.1:1:10".to_owned();
        let (name, range) = text.split_once('=').ok_or_else(form)?;
        let name = name.trim();
        if name == "field" || name == "step" {
            return Err(format!("{{{name}}} in a name of a file stands for something else"));
        }
        let parts: Vec<&str> = range.split(':').map(str::trim).collect();
        let [from, to, count] = parts[..] else { return Err(form()) };
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let ends = number(from).zip(number(to));
        let count = super::number::whole::<usize>(count).ok();
        let count = count.filter(|count| (1..=MOST).contains(count));
        let (Some((from, to)), Some(count), false) = (ends, count, name.is_empty()) else {
            return Err(form());
        };
        let value = |at: usize| {
            let part = if count == 1 { 0.0 } else { at as f64 / (count - 1) as f64 };
            let value = from + part * (to - from);
            let rounded = format!("{value:.DIGITS$e}").parse::<f64>();
            rounded.expect("digits of a number").to_string()
        };
        let values: Vec<String> = (0..count).map(value).collect();
        if values.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(format!("{from} to {to} are not {count} values"));
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

impl ParameterSweep {
    /// What it is that changes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For each value its text, and the options that it makes of these.
    ///
    /// # Errors
    /// [`Failure::OneFileForAll`]: a file's name has no place for the value.
    pub fn each<'a>(
        &'a self,
        args: &'a ComputationArgs,
    ) -> Result<impl Iterator<Item = (&'a str, ComputationArgs)>, Failure> {
        if self.name == "dt" && args.dt.is_some() {
            let (option, problem) = ("--dt".into(), "a sweep of the time step");
            return Err(Failure::NotOf { option, problem, instead: "leave it out" });
        }
        let place = format!("{{{}}}", self.name);
        let series = args.series.as_ref().map(|series| series.path.clone());
        let written = [
            ("--output", &args.files.output),
            ("--receivers", &args.receivers),
            ("--series", &series),
            ("--json", &args.json),
            ("--checkpoint", &args.files.checkpoint),
        ];
        for (option, path) in written {
            if let Some(path) = path
                && self.values.len() > 1
                && !path.to_string_lossy().contains(&place)
            {
                let (path, name) = (path.clone(), self.name.clone());
                return Err(Failure::OneFileForAll { option, path, name });
            }
        }
        Ok(self.values.iter().map(move |value| {
            let named = |path: &Option<PathBuf>| {
                path.as_deref()
                    .map(|path: &Path| PathBuf::from(path.to_string_lossy().replace(&place, value)))
            };
            let mut of_value = args.clone();
            match self.name.as_str() {
                "dt" => of_value.dt = Some(value.clone()),
                name => of_value.set.push(format!("{name}={value}")),
            }
            of_value.input = named(&args.input);
            of_value.receivers = named(&args.receivers);
            of_value.series = args.series.as_ref().map(|series| {
                let path = series.path.to_string_lossy().replace(&place, value).into();
                Series { path, ..series.clone() }
            });
            of_value.json = named(&args.json);
            of_value.files.output = named(&args.files.output);
            of_value.files.checkpoint = named(&args.files.checkpoint);
            of_value.files.resume = named(&args.files.resume);
            (value.as_str(), of_value)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_from_one_end_to_the_other() {
        let values =
            |text: &str| text.parse::<ParameterSweep>().map(|sweep| sweep.values.join(" "));
        let tenths = "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1";
        assert_eq!(values("D=0.1:1:10").unwrap(), tenths);
        assert_eq!(values("k = -1 : 1 : 3").unwrap(), "-1 0 1");
        assert_eq!(values("k=2:1:1").unwrap(), "2");
        assert_eq!(values("k=1e-9:3e-9:2").unwrap(), "0.000000001 0.000000003");
        for text in ["D", "D=1", "D=1:2", "D=1:2:0", "D=a:2:3", "D=1:inf:3", "=1:2:3", "D=1:2:1.5"]
        {
            assert_eq!(
                values(text).unwrap_err(),
                "give NAME=FROM:TO:COUNT, as in D=0.1:1:10",
                "{text}"
            );
        }
        assert!(values("D=1:1:3").unwrap_err().contains("are not 3 values"));
        assert!(values("step=1:2:3").is_err());
    }

    #[test]
    fn files_have_the_value_in_their_names() {
        let sweep: ParameterSweep = "D=1:2:2".parse().unwrap();
        let output = Some(PathBuf::from("out/{field}-{D}.npy"));
        let mut args = ComputationArgs::default();
        args.files.output.clone_from(&output);
        args.set = vec!["k=3".into()];
        let all: Vec<_> = sweep.each(&args).unwrap().collect();
        assert_eq!(all.iter().map(|(value, _)| *value).collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(all[1].1.files.output, Some("out/{field}-2.npy".into()));
        assert_eq!(all[1].1.set, ["k=3", "D=2"]);
        args.series = Some("mass-{D}.csv,5".parse().unwrap());
        let of_last = sweep.each(&args).unwrap().last().unwrap().1;
        assert_eq!(of_last.series, Some("mass-2.csv,5".parse().unwrap()));
        args.json = Some("report.json".into());
        assert!(sweep.each(&args).is_err());
    }
}
