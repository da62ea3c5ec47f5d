// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host doctor --measure`: what the GPU really does, for the planner.

use std::path::Path;
use std::{fs, io};

use comfy_table::{CellAlignment, Table, presets};
use cuda_mma::fragment::M16N8K32;
use transform::machine::Machine;

use compute::device::{Gpu, Measured, measure};
use files::io::Output;
use files::io::machine::{self, DescribedGpu};
use problem::Error;

const MEASURED: &str = "measured";
const DERIVED: &str = "by the H200's ratios";

/// Measures, writes the machine to the named file or to that which later runs look for, and returns the
/// table with the file's name.
///
/// # Errors
/// No GPU, it fails, there is no place for the file, or it cannot be written.
pub fn run(output: Option<&Path>) -> Result<String, Error> {
    // Before the GPU is looked for.
    let named = output.map(Output::new).transpose()?;
    let gpu = Gpu::open()?;
    let (output, use_of_it) = match named {
        Some(output) => {
            let use_of_it = format!("`host plan --machine {}` takes it", output.path().display());
            (output, use_of_it)
        }
        None => (own_file(&gpu.info().name)?, TAKEN.to_owned()),
    };
    let measured = measure(&gpu)?;
    let machine = measured.machine(gpu.info());
    let text = render(&measured, &machine);
    let driver = Some(gpu.info().driver_version.clone());
    machine::write(&output, &DescribedGpu { machine, driver })?;
    Ok(format!("{text}written to {}; {use_of_it}\n", output.path().display()))
}

/// Who takes the file that needs no name.
const TAKEN: &str = "`host run`, `host bench` and `host plan --machine this` take it from now on";

/// The file that later runs look for, in a folder that is made for it.
fn own_file(gpu: &str) -> Result<Output, Error> {
    let Some(path) = machine::own_path(gpu) else {
        let reason = "no home folder was found; name a file with --output";
        let source = io::Error::new(io::ErrorKind::NotFound, reason);
        return Err(Error::Write { path: "the speeds of the GPU".into(), source });
    };
    let folder = path.parent().expect("it is in a folder");
    fs::create_dir_all(folder)
        .map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    Output::new(&path)
}

fn render(measured: &Measured, machine: &Machine) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["what", "value", "unit", "how"]);
    let value = table.column_mut(1).expect("the header has it");
    value.set_cell_alignment(CellAlignment::Right);
    let mut line = |what: &str, value: f64, unit: &str, how: &str| {
        table.add_row([what, &format!("{value:.2}"), unit, how]);
    };
    line("copy in device memory", machine.copy_bytes_per_s / 1e9, "GB/s", MEASURED);
    line("clock of tensor cores under load", measured.clock_hz / 1e9, "GHz", MEASURED);
    line("clock that is planned with", machine.clock_hz / 1e9, "GHz", "as the driver states it");
    line("launch to launch", measured.launch_seconds * 1e6, "µs", MEASURED);
    let cycles = machine.cycles(M16N8K32).unwrap_or_default();
    line("cycles of mma.sp.m16n8k32.f16", cycles, "", MEASURED);
    let (half, single, double) = (machine.half, machine.single, machine.double);
    for (what, rate, how) in [
        ("f16, sparse tensor cores", half.sparse, MEASURED),
        ("f16, dense tensor cores", Some(half.dense), DERIVED),
        ("f16, CUDA cores with f32 sums", Some(half.cuda), "as f32"),
        ("tf32, sparse tensor cores", single.sparse, DERIVED),
        ("tf32, dense tensor cores", Some(single.dense), DERIVED),
        ("f32, CUDA cores", Some(single.cuda), MEASURED),
        ("f64, tensor cores", Some(double.dense), DERIVED),
        ("f64, CUDA cores", Some(double.cuda), DERIVED),
    ] {
        if let Some(rate) = rate {
            line(what, rate / 1e12, "Tflop/s", how);
        }
    }
    let head = format!("{}, {} multiprocessors\n", machine.name, machine.multiprocessors);
    head + &table.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_measured_from_derived() {
        let machine = Machine::h200();
        let measured = Measured {
            copy_bytes_per_s: machine.copy_bytes_per_s,
            sparse_half: 938e12,
            cuda_single: machine.single.cuda,
            clock_hz: machine.clock_hz,
            launch_seconds: 2.5e-6,
        };
        let text = render(&measured, &machine);
        let line = |what: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(what));
            let words = line.unwrap_or_else(|| panic!("no {what} in\n{text}")).split_whitespace();
            words.skip(what.split_whitespace().count()).collect::<Vec<_>>().join(" ")
        };
        assert!(text.starts_with("NVIDIA H200, 132 multiprocessors\n"), "{text}");
        assert_eq!(line("copy in device memory"), "4280.00 GB/s measured");
        assert_eq!(line("launch to launch"), "2.50 µs measured");
        assert_eq!(line("cycles of mma.sp.m16n8k32.f16"), "9.13 measured");
        assert_eq!(line("f16, sparse tensor cores"), "938.00 Tflop/s measured");
        assert_eq!(line("tf32, sparse tensor cores"), "471.00 Tflop/s by the H200's ratios");
    }
}
