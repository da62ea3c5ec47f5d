// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU has two streams, whose work runs in any order but where one waits for the other. Here each access to memory is
//! noted with what its stream waited for: two accesses of the same memory, one of which writes, must be ordered.

use super::super::edges::{Band, EdgeBands, Prepared};
use super::super::halo::{Transfer, Transfers};
use super::super::on_device::{DeviceGhosts, Streams};
use super::super::parcel::{Parcel, ParcelCarrier};
use crate::device::{
    Chip, Device, Emulator, Fetch, Launch, Memory, MemoryRows, Plane, Sharing, TimedPoint,
};
use crate::engine::on_gpu::Ghosts;
use cuda_driver::TensorMap2d;
use problem::region::Region;
use problem::{Dtype, Error, Job, Shape};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Stream of launches.
const WORK: usize = 0;
/// Stream of edges, and of what is sent.
const EDGES: usize = 1;
/// Steps of a launch.
const STEPS: usize = 2;

/// How much of each stream has been queued, or is known to be done.
type Clock = [usize; 2];

/// The last accesses of a memory by each stream, by its clock.
#[derive(Clone, Copy, Default)]
struct Accesses {
    written: Clock,
    read: Clock,
}

/// What was queued on both streams, and what is not ordered.
#[derive(Default)]
struct Order {
    /// Of each stream, what has been done before that which is queued on it next.
    known: [Clock; 2],
    accesses: BTreeMap<u64, Accesses>,
    races: Vec<String>,
}

impl Order {
    /// A stream's work reads or writes a memory.
    fn access(&mut self, stream: usize, memory: &Memory, writes: bool) {
        self.known[stream][stream] += 1;
        let (known, other) = (self.known[stream], 1 - stream);
        let last = self.accesses.entry(memory.address()).or_default();
        let before =
            if writes { last.written[other].max(last.read[other]) } else { last.written[other] };
        if before > known[other] {
            let (does, name) = (["reads", "writes"][usize::from(writes)], ["work", "edges"]);
            self.races.push(format!("{} {does} beside {}", name[stream], name[other]));
        }
        let own = if writes { &mut last.written } else { &mut last.read };
        own[stream] = known[stream];
    }

    /// What is queued on a stream from now on waits for all that is queued on the other.
    fn wait(&mut self, stream: usize) {
        let other = 1 - stream;
        self.known[stream][other] = self.known[other][other];
    }
}

/// A stream of the emulator's device.
struct Stream {
    device: Rc<Emulator>,
    number: usize,
    order: Rc<RefCell<Order>>,
}

impl Stream {
    fn access(&self, memory: &Memory, writes: bool) {
        self.order.borrow_mut().access(self.number, memory, writes);
    }

    /// The host waits for the stream, and what it queues later comes later.
    fn wait_for_it(&self) {
        self.order.borrow_mut().wait(1 - self.number);
    }
}

impl Device for Stream {
    fn describe(&self) -> String {
        self.device.describe()
    }

    fn chip(&self) -> Option<Chip> {
        self.device.chip()
    }

    fn multiprocessors(&self) -> u32 {
        self.device.multiprocessors()
    }

    fn shared_bytes(&self) -> u32 {
        self.device.shared_bytes()
    }

    fn resident_blocks(
        &self,
        kernel: &'static str,
        registers: Option<u32>,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, Error> {
        self.device.resident_blocks(kernel, registers, threads, shared_bytes)
    }

    fn load(&self, kernel: &'static str, sharing: Sharing) -> Result<(), Error> {
        self.device.load(kernel, sharing)
    }

    fn allocate(&self, what: &'static str, bytes: usize) -> Result<Memory, Error> {
        self.device.allocate(what, bytes)
    }

    fn constants(&self, what: &'static str, words: &[u32]) -> Result<Memory, Error> {
        self.device.constants(what, words)
    }

    fn tensor_map(&self, map: &TensorMap2d, address: u64) -> Result<Memory, Error> {
        self.device.tensor_map(map, address)
    }

    fn write(&self, to: &Memory, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        self.access(to, true);
        self.wait_for_it();
        self.device.write(to, rows, bytes)
    }

    fn read(&self, from: &Memory, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        self.access(from, false);
        self.wait_for_it();
        self.device.read(from, rows, bytes)
    }

    fn fetch(&self, from: &Memory, bytes: usize) -> Result<Box<dyn Fetch>, Error> {
        self.access(from, false);
        self.device.fetch(from, bytes)
    }

    fn fill(&self, to: &Memory, rows: MemoryRows, value: u16) -> Result<(), Error> {
        self.access(to, true);
        self.wait_for_it();
        self.device.fill(to, rows, value)
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<(), Error> {
        self.access(from, false);
        self.access(to, true);
        self.device.copy(from, to, bytes)
    }

    fn copy_rows(
        &self,
        from: (&Memory, MemoryRows),
        to: (&Memory, MemoryRows),
    ) -> Result<(), Error> {
        self.access(from.0, false);
        self.access(to.0, true);
        self.device.copy_rows(from, to)
    }

    fn launch(&self, launch: &Launch) -> Result<(), Error> {
        self.device.launch(launch)
    }

    fn wait(&self) -> Result<(), Error> {
        self.wait_for_it();
        self.device.wait()
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        work()?;
        self.wait()?;
        Ok(Duration::ZERO)
    }
}

/// The waits between both streams, each of which may be left out.
struct Waits {
    order: Rc<RefCell<Order>>,
    left_out: Option<usize>,
}

impl Waits {
    fn wait(&self, stream: usize) -> Result<(), Error> {
        if self.left_out != Some(stream) {
            self.order.borrow_mut().wait(stream);
        }
        Ok(())
    }
}

impl Streams for Waits {
    fn edges_wait(&self) -> Result<(), Error> {
        self.wait(EDGES)
    }

    fn work_waits(&self) -> Result<(), Error> {
        self.wait(WORK)
    }

    fn stamp(&self) -> Result<Option<TimedPoint>, Error> {
        Ok(None)
    }
}

/// A carrier: both queue on the stream of edges.
struct Carrier {
    edges: Rc<Stream>,
    /// Whether parcels go through the host, which waits for them, and not from device to device.
    by_host: bool,
}

impl ParcelCarrier for Carrier {
    fn describe(&self) -> String {
        "a test".into()
    }

    fn send(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<(), Error> {
        if !self.by_host {
            sends.iter().for_each(|parcel| self.edges.access(&parcel.memory, false));
            receives.iter().for_each(|parcel| self.edges.access(&parcel.memory, true));
        }
        Ok(())
    }

    fn receive(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<usize, Error> {
        if self.by_host {
            self.edges.wait()?;
            for Parcel { memory, bytes, .. } in sends {
                self.edges.read(memory, MemoryRows::first(*bytes), &mut vec![0; *bytes])?;
            }
            for Parcel { memory, bytes, .. } in receives {
                self.edges.write(memory, MemoryRows::first(*bytes), &vec![0; *bytes])?;
            }
        }
        Ok(0)
    }
}

/// The rows of a grid of 24 x 16.
fn rows(from: isize, to: isize) -> Region {
    Region { low: [0, from, 0], high: [1, to, 16] }
}

/// The races of a part with neighbours above and below, which takes steps in launches and exchanges ghosts between them.
fn races(by_host: bool, with_edges: bool, left_out: Option<usize>) -> Vec<String> {
    let (device, order) = (Rc::new(Emulator::new()), Rc::new(RefCell::new(Order::default())));
    let [work, edges] = [WORK, EDGES].map(|number| {
        let (device, order) = (Rc::clone(&device), Rc::clone(&order));
        Rc::new(Stream { device, number, order })
    });
    let to = |with, region| Transfer { with, region, arrays: vec![0] };
    let transfers = Transfers {
        sends: vec![to(1, rows(2, 4)), to(2, rows(20, 22))],
        receives: vec![to(1, rows(0, 2)), to(2, rows(22, 24))],
    };
    let waits = Box::new(Waits { order: Rc::clone(&order), left_out });
    let carrier = |_: &[Parcel], _: &[Parcel]| {
        Ok(Box::new(Carrier { edges: Rc::clone(&edges), by_host }) as Box<dyn ParcelCarrier>)
    };
    let (stencil, shape) = (transform::catalogue::find("star2d1r").unwrap(), [24, 16]);
    let job = Job::new(stencil, Shape::new(&shape).unwrap(), Dtype::F32, 100);
    let ghosts = DeviceGhosts::new(&*work, &transfers, (job.dtype.bytes(), STEPS), waits, carrier);
    let mut ghosts = ghosts.unwrap();
    if with_edges {
        let prepare = |inner| {
            let band = Band::new(inner, &job, &Default::default(), [0, STEPS, STEPS], [1; 3]);
            let own = band.job(&job)?;
            Prepared::new(&*edges, band, &own, Vec::new())
        };
        let of_edges = EdgeBands::new(Rc::clone(&edges) as _, STEPS, ghosts.packed(), prepare);
        ghosts = ghosts.with_edges(of_edges.unwrap());
    }
    let mut planes = [(); 2].map(|()| Plane::new(&*work, job.shape, job.dtype).unwrap());
    for _ in 0..4 {
        let [before, after] = &planes;
        ghosts.announce(before, STEPS).unwrap();
        // A launch: it reads one grid and writes the other.
        before.copy_box(&*work, Region::whole(job.shape), after).unwrap();
        ghosts.used(STEPS);
        assert_eq!(ghosts.left(), 0);
        ghosts.renew(&*work, after).unwrap();
        planes.reverse();
    }
    order.take().races
}

/// Ghosts are packed when their points are there, sent when they are packed, and unpacked when they have arrived.
#[test]
fn streams_wait_for_what_they_need() {
    for by_host in [false, true] {
        for with_edges in [false, true] {
            let found = races(by_host, with_edges, None);
            assert!(found.is_empty(), "by host {by_host}, edges {with_edges}: {found:?}");
        }
    }
    // What the test would see: either wait is needed.
    for left_out in [WORK, EDGES] {
        for with_edges in [false, true] {
            let found = races(false, with_edges, Some(left_out));
            assert!(!found.is_empty(), "edges {with_edges}, without {left_out}");
        }
    }
}
