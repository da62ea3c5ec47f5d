// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launches of products of two lines of as many weights by threads that go down strips of rows.

use cuda_driver::{AnyCall, Extents};
use kernels_gpu::filter::line_strips::{LineStripsLaunch, SPAN, SUMS, THREADS, before};
use problem::Error;

use super::super::kind::ValueType;
use super::strips::is_single;
use super::{FilterContext, FilterLaunch, Line, row_is_aligned};

impl FilterContext<'_> {
    /// A sum of f32 along y and then along x, if there is a kernel for as many weights.
    pub(super) fn line_strips(
        &self,
        y: &Line,
        x: &Line,
        kinds: [ValueType; 2],
    ) -> Result<Option<FilterLaunch>, Error> {
        let [_, _, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let span = x.weights.len();
        // What is infinite reaches no further than weights that are not 0.
        let is_dense = [x, y].iter().all(|line| line.weights.iter().all(|weight| *weight != 0.0));
        let is_centred = y.weights.len() == span && x.first == -(span as i32 / 2);
        if !is_single(kinds) || !is_dense || !is_centred || !self.has_strips() {
            return Ok(None);
        }
        let mut all = SUMS.iter().copied();
        let Some((_, registers, kernel)) = all.find(|(weights, ..)| *weights == span) else {
            return Ok(None);
        };
        let (mut along_y, mut along_x) = ([0.0; SPAN], [0.0; SPAN]);
        for at in 0..span {
            along_x[at] = x.weights[at] as f32;
            along_y[at] = y.weights[span - 1 - at] as f32;
        }
        let mut launch = LineStripsLaunch {
            columns: std::ptr::null(),
            rows: std::ptr::null(),
            outside: self.outside as f32,
            ny,
            nx,
            first: y.first,
            height: 1,
            threads: 0,
            is_aligned: [0; 2],
            divisors: [y, x].map(|line| line.divisor as f32),
            along_y,
            along_x,
        };
        let fits = THREADS.map(|threads| {
            launch.threads = threads;
            let across = launch.blocks(span)[0];
            (self.strip(across, span as u32, [threads, registers]), threads)
        });
        let fit = fits.iter().min_by_key(|(strip, _)| strip.time);
        let (strip, threads) = fit.expect("there are numbers of threads");
        (launch.height, launch.threads) = (strip.height, *threads);
        let [rows, columns] = launch.tables(span);
        let rows = self.place(1, (y.first, span), rows)?;
        let left = before(span) as i32;
        let columns = self.place(2, (-left, 2 * left as usize + 1), columns)?;
        (launch.columns, launch.rows) = (columns.as_ptr(), rows.as_ptr());
        let blocks = self.blocks(launch.blocks(span))?;
        let shared_bytes = launch.shared_bytes();
        let extents = Extents { blocks, threads: launch.threads, shared_bytes };
        let row_is_aligned = row_is_aligned(nx, 1);
        let launch = move |from: *const u8, to: *mut u8| {
            let mut launch = launch;
            launch.is_aligned = [from as usize, to as usize]
                .map(|at| u32::from(row_is_aligned && at.is_multiple_of(16)));
            Box::new(kernel.with((from, to, launch))) as Box<dyn AnyCall>
        };
        Ok(Some(FilterLaunch { launch: Box::new(launch), extents, tables: vec![rows, columns] }))
    }
}
