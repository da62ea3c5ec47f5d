// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of one machine and one commit, from one file or several.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use stencil::bench::{DepthMode, Measurement, Origin, Results, Row, Workload, json};
use stencil::engine::EngineRequest;
use stencil::{Dtype, Shape};

/// Rows of one commit on one machine; no case twice.
pub struct Records {
    /// Of all of them; the date is that of the first file.
    pub origin: Origin,
    /// The days of the measurements, in their order, each once.
    pub dates: Vec<String>,
    /// File after file.
    pub rows: Vec<Row>,
}

impl Records {
    /// Reads files of `host bench --json`.
    pub fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut merged: Option<Self> = None;
        for path in paths {
            let results = json::read(path)?;
            let file = path.display();
            ensure!(results.complete, "{file}: it was cut off, and is not complete: measure again");
            ensure!(
                results.engine == EngineRequest::Auto,
                "{file}: it was measured with --engine {}: measure without, or with --engines",
                results.engine,
            );
            match &mut merged {
                None => merged = Some(Self::from(results)),
                Some(merged) => merged.add(results, &file.to_string())?,
            }
        }
        let Some(mut merged) = merged else { bail!("there is no file of results") };
        merged.dates.sort();
        merged.dates.dedup();
        merged.check_devices()?;
        Ok(merged)
    }

    fn add(&mut self, results: Results, file: &str) -> Result<()> {
        let Self { origin, dates, rows } = self;
        for (what, of_all, of_file) in [
            ("commit", &origin.commit, &results.origin.commit),
            ("driver", &origin.driver, &results.origin.driver),
        ] {
            let name = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
            let (of_all, of_file) = (name(of_all), name(of_file));
            ensure!(
                of_all == of_file,
                "{file}: its {what} is {of_file}, that of the files before it {of_all}: \
                 measure all at one commit, with one driver",
            );
        }
        for row in results.rows {
            let known = rows.iter().any(|known| known.case == row.case);
            ensure!(!known, "{file}: a file before it has {}, too: leave one out", row.case);
            rows.push(row);
        }
        dates.extend(results.origin.date);
        Ok(())
    }

    /// An engine that ran on two devices would make tables of two machines.
    fn check_devices(&self) -> Result<()> {
        let mut known: Vec<(&str, &str)> = Vec::new();
        for measured in self.rows.iter().filter_map(Row::measurement) {
            let (engine, device) = (measured.engine.as_str(), measured.device.as_str());
            match known.iter().find(|(other, _)| *other == engine) {
                Some((_, other)) if *other != device => bail!(
                    "engine {engine} ran on {other} and on {device}: measure all on one machine"
                ),
                Some(_) => {}
                None => known.push((engine, device)),
            }
        }
        Ok(())
    }

    /// Every device once, the one of the first row first.
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for measured in self.rows.iter().filter_map(Row::measurement) {
            if !devices.contains(&measured.device.as_str()) {
                devices.push(&measured.device);
            }
        }
        devices
    }

    /// The rows of what the program takes by itself, not of engines that were asked for.
    pub fn taken(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.case.engine.is_none())
    }

    /// What the program takes by itself, as one benchmark would have measured it.
    pub fn taken_alone(&self) -> Results {
        let rows = self.taken().cloned().collect();
        let (version, origin, engine) = (String::new(), self.origin.clone(), EngineRequest::Auto);
        Results { version, origin, engine, complete: true, rows }
    }

    /// Workloads and grids, each pair once, in the order of the rows.
    pub fn grids(&self) -> Vec<(&'static Workload, Shape)> {
        let mut grids = Vec::new();
        for row in &self.rows {
            let grid = (row.case.workload, row.case.shape);
            if !grids.contains(&grid) {
                grids.push(grid);
            }
        }
        grids
    }

    /// What ran what the program takes by itself.
    pub fn device(&self) -> Option<&str> {
        let measured = self.taken().find_map(Row::measurement);
        measured.map(|measured| measured.device.as_str())
    }

    /// Each workload once, on the largest grid on which the program chose by itself.
    pub fn largest_grids(&self) -> Vec<(&'static Workload, Shape)> {
        let mut largest: Vec<(&'static Workload, Shape)> = Vec::new();
        for (workload, shape) in self.taken().map(|row| (row.case.workload, row.case.shape)) {
            match largest.iter_mut().find(|(known, _)| *known == workload) {
                Some((_, known)) if known.points() < shape.points() => *known = shape,
                Some(_) => {}
                None => largest.push((workload, shape)),
            }
        }
        largest
    }

    /// What was measured of a workload.
    pub fn measurement(
        &self,
        (workload, shape): (&Workload, Shape),
        dtype: Dtype,
        mode: DepthMode,
    ) -> Option<&Measurement> {
        let mut rows = self.taken();
        let row = rows.find(|row| {
            let case = &row.case;
            case.workload == workload && (case.shape, case.dtype, case.mode) == (shape, dtype, mode)
        });
        row.and_then(Row::measurement)
    }
}

impl From<Results> for Records {
    fn from(results: Results) -> Self {
        let Results { origin, rows, .. } = results;
        Self { dates: origin.date.iter().cloned().collect(), origin, rows }
    }
}
