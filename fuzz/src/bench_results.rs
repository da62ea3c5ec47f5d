// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of a benchmark, as `--compare` takes them.

use crate::{file, promise};
use stencil::bench::{BenchError, Results, compare, csv, json, table};

/// Reads results, writes them, and reads them again; each row can be measured again and is no worse
/// than itself.
///
/// # Panics
/// A promise is broken.
pub fn bench_results(data: &[u8]) {
    let results = match read(data) {
        Ok(results) => results,
        Err(error) => return promise::of_an_error(error),
    };
    assert_eq!(read(json::render(&results).as_bytes()).ok().as_ref(), Some(&results));

    for row in &results.rows {
        let job = row.case.job();
        assert!(job.steps > 0 && job.stencil.dims() == job.shape.dims(), "{}", row.case);
    }
    let rows = results.rows.len();
    assert!(csv::render(&results).lines().count() > rows);
    assert!(table::render(&results).lines().count() > rows);
    let comparison = compare(&results, &results, 0.0);
    assert_eq!((comparison.in_common(), comparison.worse()), (rows, results.failures()));
    assert!(comparison.render().contains(&format!("{rows} compared")));
}

fn read(data: &[u8]) -> Result<Results, BenchError> {
    json::read(file::holding(data, ".json").path())
}
