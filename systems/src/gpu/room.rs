// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a GPU that a system needs as a whole, looked at before any of it is taken.

use super::kernel::Kernel;
use crate::checked::System;
use problem::Error;
use problem::memory::Bytes;

/// Checks that the arrays of a system fit into a GPU's memory.
///
/// # Errors
/// [`Error::GpuMemory`] with both amounts.
pub fn require(system: &System, kernel: &Kernel, total: Bytes) -> Result<(), Error> {
    let need = arrays(system, kernel);
    if need <= u128::from(total.0) {
        return Ok(());
    }
    let (fields, shape) = (system.fields.len(), system.shape);
    let what =
        format!("a system of {fields} fields on {shape} points: its fields and coefficients");
    Err(Error::GpuMemory { what, need: Bytes::saturating(need), total })
}

/// Bytes of all arrays with a value for each point: of each field its levels and those that are to take the next, and
/// coefficients.
fn arrays(system: &System, kernel: &Kernel) -> u128 {
    let levels = system.fields.iter().map(|field| {
        let next = if kernel.tile.is_some() { field.levels } else { 1 };
        field.levels + next
    });
    let count = levels.sum::<usize>() + system.coefficients.len();
    count as u128 * kernel.geometry.values() as u128 * system.dtype.bytes() as u128
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::Path;
    use std::rc::Rc;
    use std::time::Duration;

    use cuda_driver::{Entry, Extents};
    use kernels_gpu::wide2d::finished::Parameters;

    use super::*;
    use crate::gpu::OnTarget;
    use crate::gpu::choice::{Cores, choose};
    use crate::gpu::target::Target;
    use crate::start::StartValues;
    use crate::tests::draw;
    use compute::device::Rows;
    use compute::device::generated::MOST_ADDRESSES;
    use problem::ErrorKind;
    use transform::machine::Machine;

    /// Memory that nobody reads: what is allocated, and for what.
    #[derive(Default)]
    struct Counted(Rc<RefCell<Vec<(&'static str, usize)>>>);

    impl Target for Counted {
        fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
            self.0.borrow_mut().push((what, bytes));
            Ok(self.0.borrow().len() - 1)
        }

        fn address(&self, _: usize) -> u64 {
            0
        }

        fn write(&mut self, _: usize, _: Rows, _: &[u8]) -> Result<(), Error> {
            Ok(())
        }

        fn read(&self, _: usize, _: Rows, _: &mut [u8]) -> Result<(), Error> {
            unreachable!("no step is taken")
        }

        fn launch(&mut self, _: Extents, _: [u64; MOST_ADDRESSES]) -> Result<(), Error> {
            unreachable!("no step is taken")
        }

        fn sweep(&mut self, _: Entry<Parameters>, _: Extents, _: Parameters) -> Result<(), Error> {
            unreachable!("no step is taken")
        }

        fn time_copies(&mut self, _: [usize; 2], _: usize, _: usize) -> Result<Duration, Error> {
            unreachable!("nothing is copied")
        }

        fn wait(&self) -> Result<(), Error> {
            Ok(())
        }

        fn describe(&self) -> String {
            String::new()
        }
    }

    /// Whatever is drawn, the arrays that are allocated are those that were looked at, and a byte less does not do.
    #[test]
    fn what_is_looked_at_is_what_is_allocated() {
        let (mut chains, machine) = (0, Machine::h200());
        for seed in 0..200 {
            let system = System::new(&draw::system(seed), Path::new("")).unwrap();
            let Ok(choice) = choose(&system, &machine, Cores::Cuda) else { continue };
            let kernel = match choice.tile {
                Some(tile) => Kernel::chained(&system, tile),
                None => Kernel::new(&system),
            };
            let kernel = kernel.unwrap();
            chains += u32::from(kernel.tile.is_some());
            let need = arrays(&system, &kernel);
            assert!(require(&system, &kernel, Bytes(need as u64)).is_ok(), "seed {seed}");
            let short = require(&system, &kernel, Bytes(need as u64 - 1)).unwrap_err();
            assert_eq!(short.kind(), ErrorKind::Memory, "seed {seed}");
            let beginning = StartValues::new(&system).unwrap();
            let counted = Counted::default();
            let all = Rc::clone(&counted.0);
            OnTarget::new(system, kernel, beginning, counted).unwrap();
            let all = all.borrow();
            let arrays = all.iter().filter(|(what, _)| *what == "fields");
            let bytes: usize = arrays.map(|(_, bytes)| bytes).sum();
            assert_eq!(bytes as u128, need, "seed {seed}");
        }
        assert!(chains > 10, "{chains} chains");
    }
}
