// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step of a grid of three axes by blocks that go along z plane by plane: how large blocks are, and what they hold.
//!
//! ```text
//! a block's points, `lanes` x `columns` of x and `down` of y, at plane z of `planes`; reach 2
//!                                       z - 2   z - 1     z     z + 1   z + 2   z + 3
//! neighbours along y and x, too:                          r       .       r       n     a ring in shared memory
//! neighbours along z only:                q       q       q       q       q             a queue in registers
//! ```
//!
//! `r` is read, `n` is on its way from memory. The queue takes its newest value from the ring.

use transform::machine::Machine;

use super::cost::{near_sides, point_instructions, words};
use super::geometry::{Geometry, March};
use crate::checked::System;
use crate::expression::Array;
use crate::program::Offset;
use crate::speeds::{GPU, seconds};
use problem::boundary::Side;

/// Points of a block along x.
const ACROSS: usize = 64;
/// Threads of a block.
const THREADS: usize = 256;
/// Registers that each of so many has.
const REGISTERS: usize = 80;
/// 32-bit words that a thread keeps in queues, at most.
const WORDS: usize = 48;
/// Instructions of a point, at most, that such registers suffice for.
const INSTRUCTIONS: usize = 128;
/// Instructions for which a thread has one row.
const A_ROW: usize = 1 << 20;
/// In how many parts z may be cut.
const CHUNKS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 32];

/// How an array is held: planes are counted from that of the point on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayPlanes {
    /// The array.
    pub array: Array,
    /// The last plane that is read.
    pub front: i32,
    /// The first plane that a ring in shared memory has, if neighbours along y and x are read.
    pub ring: Option<i32>,
    /// The first plane that a queue in registers has, if it has a queue.
    pub queue: Option<i32>,
}

/// How the arrays of a system are held.
pub fn held(system: &System) -> Vec<ArrayPlanes> {
    let program = &system.program;
    let of_array = |array| {
        let reads = program.reads().filter(move |(own, _)| *own == array);
        let (column, beside): (Vec<_>, Vec<_>) =
            reads.map(|(_, [z, y, x])| (z, [y, x] == [0, 0])).partition(|(_, alone)| *alone);
        let first = column.iter().map(|(z, _)| *z).min();
        let last = column.iter().chain(&beside).map(|(z, _)| *z).max().unwrap_or_default();
        if beside.is_empty() {
            return ArrayPlanes { array, front: last, ring: None, queue: first };
        }
        let back = beside.iter().map(|(z, _)| *z).min().unwrap_or_default().min(0);
        let queue = first.filter(|_| column.iter().any(|(z, _)| *z != 0));
        ArrayPlanes { array, front: last.max(0), ring: Some(back), queue }
    };
    program.arrays().into_iter().map(of_array).collect()
}

/// Planes of a ring: those that are read, the next one, and one that others may still read.
pub fn ring(held: &[ArrayPlanes]) -> usize {
    let planes = held.iter().filter_map(|it| it.ring.map(|back| it.front - back));
    planes.max().map_or(0, |planes| planes as usize + 2)
}

/// Whether all that is read beyond a side is 0, and comes to a ring: copies fill it with zeros.
fn has_zeros(system: &System, axis: usize, end: usize) -> bool {
    let (held, extent) = (held(system), system.shape.extents()[axis]);
    let is_ring = |array| held.iter().any(|it| it.array == array && it.ring.is_some());
    let is_zero = |(array, offset): (Array, Offset)| {
        let side = system.boundary_of(array).sides[axis][end];
        let zero = matches!(side, Side::Zero | Side::Open | Side::Varying(_) | Side::Constant(0.0));
        offset[axis] == 0 || zero && is_ring(array)
    };
    // The last values that are copied together end where the row does.
    let whole = (axis, end) != (2, 1) || extent.is_multiple_of(16 / system.dtype.bytes().max(4));
    whole && system.program.reads().all(is_zero)
}

impl March {
    /// Rows and columns of a plane with its halo; the latter is whole groups of columns wide.
    pub fn plane(&self, system: &System, geometry: &Geometry) -> [usize; 2] {
        let ([_, y, x], [_, down, across]) =
            (system.program.reach(|_| true), self.extents(geometry));
        [down + 2 * y, across + 2 * x.next_multiple_of(geometry.columns)]
    }

    /// Bytes of shared memory.
    pub fn shared_bytes(&self, system: &System, geometry: &Geometry) -> usize {
        let held = held(system);
        let arrays = held.iter().filter(|it| it.ring.is_some()).count();
        let plane = self.plane(system, geometry).iter().product::<usize>();
        arrays * ring(&held) * plane * system.dtype.bytes()
    }

    /// Who computes what.
    pub fn geometry(&self, system: &System) -> Geometry {
        let (extents, bytes) = (system.shape.extents(), system.dtype.bytes());
        let reach = system.program.reach(|_| true);
        let stages = system.each_stage();
        let depth = [0, 1].map(|end| {
            std::array::from_fn(|axis| {
                let zeros = stages.iter().all(|stage| has_zeros(stage, axis, end));
                if zeros { 0 } else { reach[axis] }
            })
        });
        let mut geometry = Geometry::within(extents, depth, bytes, A_ROW);
        geometry.march = Some(*self);
        geometry
    }

    /// The blocks of a system with which a step is predicted to take least, and how long it takes.
    ///
    /// # Errors
    /// Why there are none.
    pub fn best(system: &System, machine: &Machine) -> Result<(Self, f64), String> {
        if system.shape.dims() != 3 {
            return Err("only 3D grids are computed plane by plane".into());
        }
        let columns = 16 / system.dtype.bytes().max(4);
        let lanes = ACROSS / columns;
        let [nz, ..] = system.shape.extents();
        let of_chunk =
            |parts: &usize| Self { lanes, down: THREADS / lanes, planes: nz.div_ceil(*parts) };
        let geometry = of_chunk(&1).geometry(system);
        let stages = system.each_stage();
        stages.iter().try_for_each(|stage| of_chunk(&1).check(stage, machine, &geometry))?;
        let ways = CHUNKS.iter().map(of_chunk).map(|march| {
            let seconds = stages.iter().map(|stage| march.seconds(stage, machine));
            (march, seconds.sum::<f64>())
        });
        Ok(ways.min_by(|a, b| a.1.total_cmp(&b.1)).expect("z is cut in some way"))
    }

    /// Checks that blocks can take a stage of a system.
    ///
    /// # Errors
    /// Why they cannot.
    fn check(&self, stage: &System, machine: &Machine, geometry: &Geometry) -> Result<(), String> {
        let held = held(stage);
        if held.iter().all(|it| it.ring.is_none()) {
            return Err("no neighbours along y or x are read".into());
        }
        if geometry.inside.points() == 0 {
            return Err("no point has all its neighbours in the grid".into());
        }
        if queued(stage, &held) > WORDS || point_instructions(stage) > INSTRUCTIONS {
            return Err("its values do not fit into the registers".into());
        }
        if self.shared_bytes(stage, geometry) > machine.shared_bytes_per_block as usize {
            return Err("a multiprocessor has no room for its planes".into());
        }
        Ok(())
    }

    /// Predicted seconds of a step, or of a stage that is a system by itself.
    fn seconds(&self, system: &System, machine: &Machine) -> f64 {
        let (speeds, geometry) = (&GPU.march, self.geometry(system));
        let (held, shared) = (held(system), self.shared_bytes(system, &geometry));
        let multiprocessors = machine.multiprocessors as f64;
        let registers = (28.0 + 1.5 * queued(system, &held) as f64).min(REGISTERS as f64);
        let resident = (machine.shared_bytes_per_block as f64 / shared as f64)
            .min(65536.0 / (registers * self.threads() as f64))
            .floor()
            .max(1.0);
        let members = system.members();
        let blocks = (members * self.blocks(&geometry).iter().product::<usize>()) as f64;
        // Of each chunk of z the planes before it, and those that are waited for at its start.
        let before = held.iter().map(|it| it.front - it.ring.or(it.queue).unwrap_or_default());
        let before = before.max().unwrap_or_default() as f64 + speeds.start_planes;
        let (rounds, planes) = (blocks / (multiprocessors * resident), self.planes as f64);
        let waits = rounds.max(1.0) * (planes + before) * seconds(speeds.plane_us);
        let uneven = rounds.ceil() / rounds * (planes + before) / planes - 1.0;

        let points = (members * system.shape.points()) as f64;
        let arrays = held.len() as f64 + speeds.of_a_store * system.program.writes.len() as f64;
        let memory = arrays * system.dtype.bytes() as f64 * points / machine.copy_bytes_per_s;
        let memory = memory / speeds.of_a_copy * (1.0 + speeds.uneven * uneven);
        let own = (point_instructions(system) * words(system)) as f64 + speeds.of_a_point;
        let cycles = own * points / GPU.cycle.instructions;
        let on_chip = cycles / (speeds.on_chip * machine.clock_hz * multiprocessors);
        GPU.launch() + memory.max(waits).max(on_chip) + near_sides(system, machine, &geometry)
    }
}

/// 32-bit words of a thread's queues.
fn queued(system: &System, held: &[ArrayPlanes]) -> usize {
    let planes = held.iter().filter_map(|it| it.queue.map(|first| it.front - first + 1));
    let columns = 16 / system.dtype.bytes().max(4);
    planes.sum::<i32>() as usize * columns * words(system)
}
