// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host doctor`: what was found on this machine, line by line, each with its remedy.

use std::path::PathBuf;

use clap::Args;

use super::{measure, remedy};
use compute::device;
use compute::device::DeviceInfo;
use compute::engine::cpu;
use compute::plan::RunTarget;
use compute::ranks::{self, Messenger};
use problem::Error;
use problem::memory::{self, Bytes};

const CODES: &str = "\
Every line starts with ok or missing. Below what is missing stands what to do.

Exit codes: 0, also if something is missing; with --measure: 3 no GPU, driver or GPU kernels, 5 the
file could not be written.";

/// What to look at
#[derive(Args, Debug)]
#[command(after_help = CODES)]
pub struct DoctorArgs {
    /// Measure the GPU: the speeds that the planner works with. It takes a few seconds. They are kept for later
    /// runs on this GPU with this driver
    #[arg(long)]
    measure: bool,
    /// Write what was measured to this file instead, as JSON for `host plan --machine FILE`
    #[arg(long, value_name = "FILE", requires = "measure")]
    output: Option<PathBuf>,
}

/// Runs the command and returns what it prints.
///
/// # Errors
/// Only when measuring: no GPU, it fails, or the file cannot be written.
pub fn run(args: &DoctorArgs, post: Option<&dyn Messenger>) -> Result<String, Error> {
    if args.measure { measure::run(args.output.as_deref()) } else { Ok(render(post)) }
}

/// One thing that was looked for: its value, or what is missing and what to do.
struct Line {
    what: &'static str,
    found: Result<String, Missing>,
}

struct Missing {
    value: String,
    remedy: String,
}

impl From<&Error> for Missing {
    fn from(error: &Error) -> Self {
        Self { value: error.to_string(), remedy: remedy::of_error(error) }
    }
}

/// The whole table.
fn render(post: Option<&dyn Messenger>) -> String {
    lines(post).iter().map(Line::render).collect()
}

fn lines(post: Option<&dyn Messenger>) -> Vec<Line> {
    let threads = rayon::current_num_threads();
    let mut lines = vec![
        ok("CPU", format!("{threads} threads, {} vector instructions", cpu::vectors())),
        ok("memory", format!("{} free", memory::free())),
    ];
    let gpu = device::first();
    lines.extend(found(&gpu));
    lines.push(Line { what: "device compiler", found: compiler() });
    lines.push(Line { what: "GPU kernels", found: kernels(gpu.as_ref().ok()) });
    lines.extend(several());
    lines.push(Line { what: "MPI", found: mpi(post) });
    lines
}

/// The driver and the GPU, or which of them is missing.
fn found(gpu: &Result<DeviceInfo, Error>) -> Vec<Line> {
    match gpu {
        Ok(gpu) => {
            let (major, minor) = gpu.compute_capability;
            let memory = Bytes(gpu.memory_bytes);
            let shared = Bytes(gpu.shared_bytes_per_block.into());
            let caches = format!("{} level-2 cache, {shared} shared a block", Bytes(gpu.l2_bytes));
            vec![
                ok("NVIDIA driver", format!("supports CUDA {}", gpu.driver_version)),
                ok("GPU", format!("{}, compute capability {major}.{minor}", gpu.name)),
                ok("GPU memory", format!("{memory}; {caches}")),
                ok("GPU processors", gpu.multiprocessors.to_string()),
                Line { what: "GPU speeds", found: speeds(gpu) },
            ]
        }
        Err(error) => {
            let what =
                if matches!(error, Error::NoDriver { .. }) { "NVIDIA driver" } else { "GPU" };
            vec![Line { what, found: Err(Missing::from(error)) }]
        }
    }
}

/// Where there are several GPUs, how they reach each other.
fn several() -> Vec<Line> {
    let Ok(count) = device::count() else { return Vec::new() };
    let nccl = match device::nccl_version() {
        Ok(version) => ok("NCCL", version),
        Err(value) => {
            let remedy = "needed by GPUs of several processes only: install libnccl2, or name the \
                          library in NCCL_LIBRARY"
                .into();
            Line { what: "NCCL", found: Err(Missing { value, remedy }) }
        }
    };
    if count < 2 {
        return vec![nccl];
    }
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    let apart = pairs.filter(|&(from, to)| !device::reaches(from, to).unwrap_or(false)).count();
    let how = match apart {
        0 => "each copies to every other one's memory".to_owned(),
        _ => format!("{apart} of {} pairs copy through this machine's memory", count * (count - 1)),
    };
    vec![ok("GPUs", format!("{count} (`--gpus all`), {how}")), nccl]
}

/// Where the speeds come from that the planner works with.
fn speeds(gpu: &DeviceInfo) -> Result<String, Missing> {
    let target = RunTarget::of(gpu).map_err(|error| Missing::from(&error))?;
    match target.stale_speeds {
        None if target.measured => Ok(target.machine.source),
        None => Ok(format!("{}; `host doctor --measure` measures them", target.machine.source)),
        Some(why) => {
            let value = format!("{why}: not taken");
            Err(Missing { value, remedy: "`host doctor --measure` measures again".into() })
        }
    }
}

fn compiler() -> Result<String, Missing> {
    // Without kernels, the build script's one line is the remedy.
    let said = device::device_compiler().to_owned();
    match device::embedded().next() {
        Some(_) => Ok(said),
        None => {
            Err(Missing { value: "not found when this program was built".into(), remedy: said })
        }
    }
}

/// The chips that there are kernels for, and which of them the GPU takes.
fn kernels(gpu: Option<&DeviceInfo>) -> Result<String, Missing> {
    let chips: Vec<&str> = device::embedded().map(|code| code.chip.name()).collect();
    if chips.is_empty() {
        let reason = "none in this program".to_owned();
        let remedy = remedy::of_error(&Error::NoDeviceCode { reason: String::new() });
        return Err(Missing { value: reason, remedy });
    }
    let bytes = device::embedded().map(|code| code.ptx().len() as u64).sum();
    let all = format!("for {}: {} of PTX", chips.join(", "), Bytes(bytes));
    let Some(gpu) = gpu else { return Ok(all) };
    let code = device::code_for(gpu.compute_capability).map_err(|error| Missing::from(&error))?;
    let asked = std::env::var_os(device::VARIABLE).is_some();
    let why = if asked { format!(", as {} says", device::VARIABLE) } else { String::new() };
    Ok(format!("{all}; this GPU takes {}{why}", code.chip))
}

/// The library by which processes share a grid, and how many there are.
fn mpi(post: Option<&dyn Messenger>) -> Result<String, Missing> {
    let Some(library) = ranks::mpi_version() else {
        let value = "not in this program: a grid is shared within one process only".into();
        return Err(Missing { value, remedy: remedy::BUILD_WITH_MPI.into() });
    };
    Ok(match post {
        None => format!("{library}; this is one process, `mpirun -n 4 host …` starts four"),
        Some(post) => {
            format!("{library}; {} ranks, {} on this machine", post.ranks(), post.local_ranks())
        }
    })
}

fn ok(what: &'static str, value: String) -> Line {
    Line { what, found: Ok(value) }
}

impl Line {
    fn render(&self) -> String {
        match &self.found {
            Ok(value) => format!("ok       {:<16}{value}\n", self.what),
            Err(Missing { value, remedy }) => {
                format!("missing  {:<16}{value}\n{:25}help: {remedy}\n", self.what, "")
            }
        }
    }
}
