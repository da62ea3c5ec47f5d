// SPDX-License-Identifier: MIT OR Apache-2.0
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use cuda_driver::{Entry, Extents};
use kernels_gpu::wide2d::finished::Parameters;

use super::*;
use crate::gpu::OnTarget;
use crate::gpu::target::LaunchTarget;
use crate::plan::on_cuda_cores;
use crate::start::StartValues;
use crate::tests::draw;
use compute::device::MemoryRows;
use compute::device::generated::MOST_ADDRESSES;
use problem::ErrorKind;
use transform::machine::Machine;

/// Memory that nobody reads: what is allocated, and for what.
#[derive(Default)]
struct Counted(Rc<RefCell<Vec<(&'static str, usize)>>>);

impl LaunchTarget for Counted {
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
        self.0.borrow_mut().push((what, bytes));
        Ok(self.0.borrow().len() - 1)
    }

    fn address(&self, _: usize) -> u64 {
        0
    }

    fn write(&mut self, _: usize, _: MemoryRows, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn read(&self, _: usize, _: MemoryRows, _: &mut [u8]) -> Result<(), Error> {
        unreachable!("no step is taken")
    }

    fn launch(&mut self, _: usize, _: Extents, _: [u64; MOST_ADDRESSES]) -> Result<(), Error> {
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
    let (mut chains, machine) = ([0; 2], Machine::h200());
    for seed in 0..200 {
        let drawn = match seed % 4 {
            0 => draw::alike_in_stages(seed, 2),
            _ => draw::system(seed),
        };
        let system = System::new(&drawn, Path::new("")).unwrap();
        let Ok(chosen) = on_cuda_cores(&system, machine.clone()) else { continue };
        let launch = chosen.launch();
        let kernel = launch.kernel(&system).unwrap();
        let is_chain = matches!(launch, LaunchWork::Chain(_));
        chains[usize::from(system.is_staged())] += u32::from(is_chain);
        let need = launch.bytes(&system);
        assert!(launch.require(&system, Bytes(need as u64)).is_ok(), "seed {seed}");
        let short = launch.require(&system, Bytes(need as u64 - 1)).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Memory, "seed {seed}");
        let beginning = StartValues::new(&system).unwrap();
        let counted = Counted::default();
        let all = Rc::clone(&counted.0);
        OnTarget::new(system, kernel, beginning, counted).unwrap();
        let all = all.borrow();
        let arrays = all.iter().filter(|(what, _)| ["fields", "work fields"].contains(what));
        let bytes: usize = arrays.map(|(_, bytes)| bytes).sum();
        assert_eq!(bytes as u128, need, "seed {seed}");
    }
    assert!(chains.iter().all(|chains| *chains > 3), "{chains:?} chains");
}
