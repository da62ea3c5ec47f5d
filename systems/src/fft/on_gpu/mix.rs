// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that the jumps of a group of fields need on a device for one torus: tables, and launches.

use std::ptr;

use cuda_driver::{AnyCall, Extents};
use kernels_gpu::MOST_REGISTERS;
use kernels_gpu::element::F64;
use kernels_gpu::spectral::columns::{BACK, THERE};
use kernels_gpu::spectral::coupled::{COMPLEX, Coupled, REAL, TAP};
use kernels_gpu::spectral::{NEGATIVE, NOTHING};
use transform::spectral::coupled::{self, Largest, Levels};
use transform::spectral::double::Double;

use super::torus::Torus;
use crate::fft::torus::Group;
use compute::device::{Device, Launch, Memory, MemoryRows, Plane, StartOrder};
use compute::engine::fft::on_gpu::tables::Columns;
use compute::engine::fft::on_gpu::transforms::{AllLines, PointLayout, Shift, Transforms};
use problem::Error;

/// Bytes of a complex value.
pub const COMPLEX_BYTES: usize = 16;

/// Jumps on one torus.
pub struct CoupledJump {
    pub torus: Torus,
    pub coupled: coupled::Coupled,
    transforms: Transforms<F64>,
    tables: Tables,
    launch: Coupled,
    extents: Extents,
}

/// What the kernel reads, and where it says what was largest.
struct Tables {
    largest: Memory,
    /// The others are only kept.
    _read: Vec<Memory>,
}

/// The words of a number of twice the digits.
fn words_of(number: Double<1>) -> [u32; 4] {
    let [high, low] = [number.high[0].to_bits(), number.low[0].to_bits()];
    [high as u32, (high >> 32) as u32, low as u32, (low >> 32) as u32]
}

/// For each place of an axis that has matrices of its own its wave, the place, and that of the opposite wave.
fn places(waves: &[usize], is_even: bool) -> Vec<u32> {
    let length = waves.len();
    let mut place_of = vec![0; length];
    waves.iter().enumerate().for_each(|(place, &wave)| place_of[wave] = place as u32);
    let own = waves.iter().enumerate().filter(|(_, wave)| !is_even || 2 * **wave <= length);
    let of_wave = |(place, &wave): (usize, &usize)| {
        let has_opposite = is_even && wave > 0 && 2 * wave != length;
        let opposite = if has_opposite { place_of[length - wave] } else { NOTHING };
        [wave as u32, place as u32, opposite]
    };
    own.flat_map(of_wave).collect()
}

/// An offset as kernels take it.
fn word_of(offset: i32) -> u32 {
    if offset < 0 { offset.unsigned_abs() | NEGATIVE } else { offset as u32 }
}

impl CoupledJump {
    /// Of a group of fields with these levels, and sources that are added to some of them.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(
        device: &dyn Device,
        group: &Group,
        levels: &Levels,
        sources: &[usize],
        torus: Torus,
    ) -> Result<Self, Error> {
        let lengths = torus.spectra.lengths();
        // How many steps is said when it is launched.
        let (levels, odd) = (levels.clone(), torus.odd);
        let coupled = coupled::Coupled::new(levels, &group.couplings, lengths, odd, sources, 1);
        let lines = AllLines::new::<F64>(device, &torus.spectra)?;
        let even = coupled.even();
        let along = [0, 1].map(|axis: usize| places(&lines.columns[axis].waves(), even[axis]));
        let columns = Columns::new(&lines.row, &vec![true; torus.spectra.half() + 1]);
        let along_x: Vec<u32> = columns.waves().map(|wave| wave as u32).collect();

        let roots: Vec<u32> = (0..3)
            .flat_map(|axis| coupled.roots(axis))
            .flat_map(|[cos, sin]| [words_of(cos), words_of(sin)])
            .flatten()
            .collect();
        let (mut entries, mut taps) = (vec![0], Vec::new());
        for of_entry in coupled.of_differences() {
            for (offset, weight) in of_entry {
                taps.extend(words_of(weight));
                taps.extend(offset.map(word_of));
                taps.push(0);
            }
            entries.push((taps.len() / TAP) as u32);
        }
        taps.resize(taps.len().max(TAP), 0);
        let variables: Vec<(usize, usize)> = coupled.levels().all().collect();
        let of_source = |field: &usize| {
            let own = variables.iter().filter(|(of, _)| of == field).count();
            [coupled.levels().place(*field, 0) as u32, own as u32]
        };
        let mut of_sources: Vec<u32> = sources.iter().flat_map(of_source).collect();
        of_sources.resize(of_sources.len().max(2), 0);

        let mut read = Vec::new();
        let mut table = |words: &[u32]| {
            let memory = device.constants("tables of waves", words)?;
            let start = memory.as_ptr::<u32>();
            read.push(memory);
            Ok::<_, Error>(start)
        };
        let [along_z, along_y] = &along;
        let places = along.each_ref().map(|words| (words.len() / 3) as u32);
        let transforms =
            Transforms::<F64>::new(device, torus.spectra.clone(), lines, &columns, None)?;
        let pitch = transforms.pitch;
        let mut launch = Coupled {
            roots: table(&roots)?,
            entries: table(&entries)?,
            taps: table(&taps)?,
            sources: table(&of_sources)?,
            along_z: table(along_z)?,
            along_y: table(along_y)?,
            along_x: table(&along_x)?,
            largest: ptr::null_mut(),
            steps: 1,
            spectrum: torus.spectra.values_of_torus() as u64,
            plane: (lengths[1] * pitch) as u64,
            pitch: pitch as u32,
            count: transforms.count as u32,
            places,
            lengths: lengths.map(|length| length as u32),
            odd: (0..3).map(|axis| u32::from(odd[axis]) << axis).sum(),
            variables: variables.len() as u32,
            added: sources.len() as u32,
            shift: 0,
            scale: 1.0 / (torus.spectra.half() * lengths[0] * lengths[1]) as f64,
        };
        let call = call(&coupled, (ptr::null_mut(), launch));
        let extents = extents(device, &*call, &mut launch, coupled.is_real())?;
        let bytes = extents.blocks * launch.factors() * 8;
        let largest = device.allocate("the largest powers", bytes as usize)?;
        launch.largest = largest.as_mut_ptr();
        let tables = Tables { largest, _read: read };
        Ok(Self { torus, coupled, transforms, tables, launch, extents })
    }

    /// Where a spectrum begins.
    fn spectrum(&self, spectra: &Memory, number: usize) -> *mut u8 {
        let size = self.launch.spectrum as usize * COMPLEX_BYTES;
        spectra.as_mut_ptr::<u8>().wrapping_add(number * size)
    }

    /// Where the rows of a spectrum lie: there, or, if columns have to be read from elsewhere, in a place for all.
    fn rows_of(&self, spectrum: *mut u8, work: &Memory) -> *mut u8 {
        if needs_work(&self.torus) { work.as_mut_ptr() } else { spectrum }
    }

    /// Transforms a plane, from whose values a constant is taken.
    ///
    /// # Errors
    /// The device refuses.
    pub fn there(
        &self,
        device: &dyn Device,
        plane: &Plane,
        taken: f64,
        (spectra, number, work): (&Memory, usize, &Memory),
    ) -> Result<(), Error> {
        let (of, spectrum) = (&self.torus.spectra, self.spectrum(spectra, number));
        let (narrow, [z, y, _]) = (self.rows_of(spectrum, work), &of.axes);
        self.transforms.rows_there(
            device,
            PointLayout::of(plane),
            narrow,
            Shift::constant(taken),
        )?;
        let along = |places, axis, values| {
            self.transforms.along(device, places, axis, values, (THERE, ptr::null()))
        };
        let last = [narrow, spectrum, spectrum];
        match of.dims {
            1 => Ok(()),
            2 => along(last, 1, [y.points, y.length]),
            _ => {
                along([narrow, self.beside(narrow), narrow], 1, [y.points, y.length])?;
                along(last, 0, [z.points, z.length])
            }
        }
    }

    /// Transforms a spectrum back into a plane, to whose values the constant is added.
    ///
    /// # Errors
    /// The device refuses.
    pub fn back(
        &self,
        device: &dyn Device,
        plane: &Plane,
        taken: f64,
        (spectra, number, work): (&Memory, usize, &Memory),
    ) -> Result<(), Error> {
        let (of, spectrum) = (&self.torus.spectra, self.spectrum(spectra, number));
        let (narrow, [z, y, _]) = (self.rows_of(spectrum, work), &of.axes);
        let along = |places, axis, values| {
            self.transforms.along(device, places, axis, values, (BACK, ptr::null()))
        };
        let last = [spectrum, spectrum, narrow];
        match of.dims {
            1 => (),
            2 => along(last, 1, [y.length, y.points])?,
            _ => {
                along(last, 0, [z.length, z.points])?;
                along([narrow, self.beside(narrow), narrow], 1, [y.length, y.points])?;
            }
        }
        self.transforms.rows_back(device, narrow, PointLayout::of(plane), Shift::constant(taken))
    }

    /// Where whole columns of planes lie that have images and are cut.
    fn beside(&self, narrow: *mut u8) -> *mut u8 {
        let of = &self.torus.spectra;
        match of.is_wide(1) {
            true => narrow.wrapping_add(of.values_of_rows() * COMPLEX_BYTES),
            false => narrow,
        }
    }

    /// Multiplies all spectra.
    ///
    /// # Errors
    /// The device refuses.
    pub fn multiply(
        &self,
        device: &dyn Device,
        spectra: &Memory,
        steps: usize,
    ) -> Result<(), Error> {
        let launch = Coupled { steps: steps as u64, ..self.launch };
        let call = call(&self.coupled, (spectra.as_mut_ptr(), launch));
        // As the kernel's contract demands: tables of this torus, and as many spectra as they are for.
        let (extents, order) = (self.extents, StartOrder::Overlapping);
        device.launch(&Launch { call: &*call, extents, order })
    }

    /// The largest powers of the last product, which has ended.
    ///
    /// # Errors
    /// The device refuses.
    pub fn largest(&self, device: &dyn Device) -> Result<Largest, Error> {
        let mut bytes = vec![0; self.tables.largest.bytes()];
        device.read(&self.tables.largest, MemoryRows::first(bytes.len()), &mut bytes)?;
        let all: Vec<f64> = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        let mut largest = self.coupled.largest();
        for of_block in all.chunks(self.launch.factors() as usize) {
            largest.merge(&self.coupled.largest_of(of_block));
        }
        Ok(largest)
    }
}

/// Whether rows need a place besides the spectra.
pub fn needs_work(torus: &Torus) -> bool {
    (0..2).any(|axis| torus.spectra.is_wide(axis))
}

/// The kernel for these matrices.
fn call(
    coupled: &coupled::Coupled,
    parameters: kernels_gpu::spectral::coupled::Parameters,
) -> Box<dyn AnyCall> {
    if coupled.is_real() {
        Box::new(REAL.with(parameters))
    } else {
        Box::new(COMPLEX.with(parameters))
    }
}

/// How a product is spread, and how many columns a block has: as many as threads of a warp, if shared memory has room for two
/// blocks.
fn extents(
    device: &dyn Device,
    call: &dyn AnyCall,
    launch: &mut Coupled,
    is_real: bool,
) -> Result<Extents, Error> {
    /// Threads of a block, at most.
    const MOST_THREADS: u32 = 512;
    const WARP: u32 = 32;
    let (parts, most) = (if is_real { 1 } else { 2 }, device.shared_bytes());
    launch.shift = launch.count.next_power_of_two().min(WARP).ilog2();
    while launch.shift > 0 && launch.shared_bytes(parts) > most / 2 {
        launch.shift -= 1;
    }
    let shared_bytes = launch.shared_bytes(parts);
    let items = (launch.variables * launch.variables) << launch.shift;
    let registers = call.registers().unwrap_or(MOST_REGISTERS);
    let threads = items.next_multiple_of(WARP).min(MOST_THREADS);
    device.load(call.name(), compute::device::Sharing::Any)?;
    let resident =
        device.resident_blocks(call.name(), Some(registers), threads, shared_bytes)?.max(1);
    let blocks = launch.tiles().min(resident * device.multiprocessors());
    Ok(Extents { blocks, threads, shared_bytes })
}
