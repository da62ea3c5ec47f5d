// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the device compiler made of the kernels: resources, instruction counts, and no collective
//! that some lanes may not reach.

use cuda_builder::Chip;
use cuda_mma::fragment::Element;
use kernels_gpu::product::Form;
use kernels_gpu::sweep3d::{self, Reach};
use kernels_gpu::wide2d::finished;
use kernels_gpu::{chain3d, filter, line1d, look, wide2d};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use stencil::device;
use stencil::engine::fft::on_gpu;
use tests::ptx::{PtxInstruction, PtxKernel, kernels, violations};
use tests::suite::TestCase;
use tests::tier::is_thorough;
use tests::{cases, cases_rim, families, rows};
use transform::Stencil;
use transform::window::window;

/// The kernels for a chip.
struct Build {
    chip: Chip,
    ptx: String,
}

/// The kernels for each chip. Beside those that the program carries there are those of single chips, whose PTX is that of
/// the newest build before them but for its header (`toolchain/cuda_builder/tests/compile.rs` compares). None without a
/// device compiler: then the tests end here, unless they must not.
static BUILDS: LazyLock<Vec<Build>> = LazyLock::new(|| {
    let mut builds: Vec<Build> = Vec::new();
    // A quick run has no kernels for the oldest.
    let oldest = device::embedded().next().map(|code| code.chip);
    for chip in Chip::ALL.into_iter().filter(|chip| oldest.is_none_or(|oldest| *chip >= oldest)) {
        let embedded = device::embedded().find(|code| code.chip.name() == chip.name());
        let ptx = match (embedded, builds.last()) {
            (Some(code), _) => code.ptx(),
            (None, Some(before)) => with_header(&before.ptx, chip),
            (None, None) => {
                skip(device::device_compiler());
                break;
            }
        };
        builds.push(Build { chip, ptx });
    }
    builds
});

/// The kernels for another chip.
fn with_header(ptx: &str, chip: Chip) -> String {
    let (major, minor) = chip.ptx_feature()["ptx".len()..].split_at(1);
    let line = |line: &str| match line.split_whitespace().next() {
        Some(".version") => format!(".version {major}.{minor}\n"),
        Some(".target") => format!(".target {chip}\n"),
        _ => format!("{line}\n"),
    };
    ptx.lines().map(line).collect()
}

/// One of those [`BUILDS`] that differ in the header only.
fn distinct_builds() -> Vec<&'static Build> {
    let body = |ptx: &'static str| -> Vec<&str> {
        let header = |line: &&str| line.starts_with(".version") || line.starts_with(".target");
        ptx.lines().filter(|line| !header(line)).collect()
    };
    let mut builds: Vec<&Build> = BUILDS.iter().collect();
    builds.dedup_by_key(|build| body(&build.ptx));
    builds
}

/// The kernels that there are for a chip.
fn expected(chip: Chip) -> Vec<cases::SweepKernel> {
    let exists = |kernel: &cases::SweepKernel| chip > Chip::Sm80 || kernel.runs_on_sm_80();
    cases::SweepKernel::all().into_iter().filter(exists).collect()
}

/// The entries of a kernel of the cases: sweeps have one for a step and one for many.
fn entries_of(kernel: cases::SweepKernel) -> Vec<String> {
    let name = kernel.to_string();
    match kernel {
        cases::SweepKernel::Sweep2d { .. } => vec![format!("{name}_many"), name],
        cases::SweepKernel::Chain2d { .. } => vec![name],
    }
}

/// The kernels that cases run, on chips from sm_90 on or before.
fn kernels_of(cases: &[impl TestCase], sm_90: bool) -> BTreeSet<String> {
    cases.iter().filter(|case| sm_90 || case.runs_on_sm_80()).map(TestCase::kernel).collect()
}

/// Says why a test is skipped; fails where the checks demand the tools.
fn skip(reason: &str) {
    assert!(std::env::var_os("REQUIRE_DEVICE_COMPILER").is_none_or(|it| it != "1"), "{reason}");
    println!("skipped: {reason}");
}

fn count(kernel: &PtxKernel, opcode: &str) -> usize {
    kernel.body.iter().filter(|instruction: &&PtxInstruction| instruction.is(opcode)).count()
}

#[test]
fn no_kernel_uses_local_memory() {
    for Build { chip, ptx } in distinct_builds() {
        let local = ptx.lines().find(|line| line.contains(".local"));
        assert_eq!(local, None, "{chip}: arrays must stay in registers");
    }
}

/// The families' samples take every kernel of the device code; beside them there are those for points near the
/// boundary and for jumps, which have cases of their own, those that look at a grid between launches, filters of arrays, and those that
/// measure a GPU.
#[test]
fn every_entry_has_a_case() {
    let rates = ["rate_fma_f32", "rate_mma_sp_f16"].map(String::from);
    for Build { chip, ptx } in distinct_builds() {
        let entries: BTreeSet<String> =
            kernels(ptx).into_iter().map(|kernel| kernel.name).collect();
        let sm_90 = *chip > Chip::Sm80;
        // One launch of many steps.
        let many = expected(*chip).into_iter().flat_map(entries_of);
        let families = kernels_of(&families::cases(), sm_90);
        let rims = kernels_of(&cases_rim::cases(), sm_90);
        let jumps = on_gpu::kernels().into_iter().map(String::from);
        let cases = families.into_iter().chain(rims).chain(many).chain(jumps).chain(rates.clone());
        let filters = [
            filter::lines::KERNELS,
            filter::boxes::KERNELS,
            filter::ordered::KERNELS,
            filter::bytes::KERNELS,
            filter::byte_strips::KERNELS,
            filter::strips::KERNELS,
            filter::line_strips::KERNELS,
        ]
        .concat();
        let cases = cases.chain(look::KERNELS.into_iter().chain(filters).map(String::from));
        // Those that the equations of systems finish have cases there.
        let finished = finished::KERNELS.iter().map(|kernel| kernel.entry.name().to_owned());
        let cases = cases.chain(finished);
        assert_eq!(entries, cases.collect(), "{chip}");
    }
}

#[test]
fn the_unrolled_bodies_have_as_many_products_as_the_stencil_predicts() {
    for Build { chip, ptx } in distinct_builds() {
        let entries = kernels(ptx);
        for kernel in expected(*chip) {
            let name = kernel.to_string();
            let entry =
                entries.iter().find(|entry| entry.name == name).expect("an entry per kernel");
            let (products, transposes, opcode) = predicted(kernel);
            assert_eq!(count(entry, opcode), transposes, "{chip}: {name}");
            if matches!(kernel, cases::SweepKernel::Sweep2d { form: Form::Dense, .. }) {
                assert_eq!(count(entry, "mma.sync"), 2 * products, "{chip}: {name}");
                continue;
            }
            assert_eq!(count(entry, "mma.sp"), products, "{chip}: {name}");
            let ordered = count(entry, "mma.sp::ordered_metadata");
            assert_eq!(ordered, products, "{chip}: {name}: metadata is declared ordered");
        }
    }
}

#[test]
fn a_row_takes_as_many_products_as_it_reaches_output_rows() {
    let entries: Vec<PtxKernel> =
        distinct_builds().into_iter().flat_map(|build| kernels(&build.ptx)).collect();
    let of_rows = kernels_of(&rows::cases(), true);
    for entry in entries.iter().filter(|entry| of_rows.contains(&entry.name)) {
        // Rows under way at once, and the products of each.
        let (rows, products) = match entry.name.split_once("_r") {
            Some((_, radius)) => (wide2d::STAGE_ROWS, 2 * radius.parse::<u32>().unwrap() + 1),
            None => (line1d::UNITS, 1),
        };
        let ordered = count(entry, "mma.sp::ordered_metadata");
        assert_eq!(ordered, (rows * products) as usize, "{}", entry.name);
        // In 1D outputs are transposed; in 2D the products leave no time for that.
        let transposes = if products == 1 { 2 * rows as usize } else { 0 };
        assert_eq!(count(entry, "movmatrix"), transposes, "{}", entry.name);
    }
}

/// A row of those as well, for each number of a weight; and a place for what finishes its sums.
#[test]
fn a_row_that_is_finished_has_its_products_and_a_place() {
    for Build { chip, ptx } in distinct_builds() {
        let entries = kernels(ptx);
        for kernel in finished::KERNELS {
            let name = kernel.entry.name();
            let entry = entries.iter().find(|entry| entry.name == name).expect("a kernel");
            let products =
                wide2d::STAGE_ROWS as usize * kernel.numbers * (2 * kernel.radius as usize + 1);
            assert_eq!(count(entry, "mma.sp::ordered_metadata"), products, "{chip}: {name}");
        }
        let places = std::cell::Cell::new(0);
        let _ = finished::spliced(ptx, |names| {
            assert_eq!(names.len(), 11, "{chip}");
            places.set(places.get() + 1);
            String::new()
        });
        let expected = finished::KERNELS.len() * wide2d::STAGE_ROWS as usize;
        assert_eq!(places.get(), expected, "{chip}");
    }
}

/// Of a dense kernel twice as many as of the sparse one whose twin it is, and as many of all else that moves values.
#[test]
fn a_dense_twin_has_two_products_for_one() {
    for Build { chip, ptx } in distinct_builds() {
        let entries = kernels(ptx);
        let twins = entries.iter().filter_map(|dense| {
            let name = dense.name.strip_prefix("dense_")?;
            Some((dense, entries.iter().find(|entry| entry.name == name).expect("its twin")))
        });
        let mut found = 0;
        for (dense, sparse) in twins {
            let name = &dense.name;
            let products = count(sparse, "mma.sp::ordered_metadata");
            assert!(products > 0 && count(sparse, "mma.sync") == 0, "{chip}: {name}");
            assert_eq!(count(dense, "mma.sync"), 2 * products, "{chip}: {name}");
            for opcode in ["movmatrix", "stmatrix", "st.global", "st.shared", "ld.shared"] {
                assert_eq!(count(dense, opcode), count(sparse, opcode), "{chip}: {name}: {opcode}");
            }
            found += 1;
        }
        assert!(found > 30, "{chip}: {found}");
    }
}

/// A round of 2r + 1 planes, each multiplied into as many output planes, of which it completes one.
#[test]
fn a_round_of_a_3d_sweep_has_as_many_products_as_the_layout_predicts() {
    let Some(build) = distinct_builds().into_iter().find(|build| build.chip > Chip::Sm80) else {
        return;
    };
    let entries = kernels(&build.ptx);
    for kernel in sweep3d::KERNELS {
        let entry = entries.iter().find(|entry| entry.name == kernel.name).unwrap();
        let radius = kernel.radius as usize;
        let (steps, depth) = (radius + 1, 2 * radius + 1);
        let all = (0..depth).flat_map(|offset| (0..steps).map(move |step| (offset, step)));
        let meets = |(offset, step): &(usize, usize)| {
            kernel.reach.meets(radius as i32, *offset as i32, *step as i32)
        };
        let of_outputs = all.filter(meets).count();
        assert_eq!(of_outputs, if kernel.reach == Reach::Diamond { 11 } else { steps * depth });
        let pairs = sweep3d::PAIRS as usize;
        let products = depth * pairs * of_outputs;
        assert_eq!(count(entry, "mma.sp::ordered_metadata"), products, "{}", kernel.name);
        assert_eq!(count(entry, "movmatrix"), depth * pairs * 2, "{}", kernel.name);
    }
}

/// Four rounds inside the grid, and four that ask, of two products for each unit of each step.
#[test]
fn a_round_of_chained_3d_steps_has_two_products_for_each_unit() {
    let Some(build) = distinct_builds().into_iter().find(|build| build.chip > Chip::Sm80) else {
        return;
    };
    let entries = kernels(&build.ptx);
    for kernel in chain3d::KERNELS {
        let entry = entries.iter().find(|entry| entry.name == kernel.name).unwrap();
        let products = 2 * 4 * 2 * (kernel.steps * kernel.units) as usize;
        assert_eq!(count(entry, "mma.sp::ordered_metadata"), products, "{}", kernel.name);
        assert_eq!(count(entry, "movmatrix"), products, "{}", kernel.name);
    }
}

/// 2 ⌈n² / 4⌉ products of a dual tessellation (ConvStencil, §3.3), of each tile that a warp has at once, or in 3D for
/// each plane whose weights an input plane is multiplied with.
#[test]
fn a_dual_tessellation_has_as_many_products_as_its_paper_counts() {
    let built = distinct_builds().into_iter().flat_map(|build| kernels(&build.ptx));
    for entry in built.filter(|entry| entry.name.starts_with("convstencil")) {
        let (scheme, radius) = entry.name.rsplit_once("_r").unwrap();
        let radius: usize = radius.parse().unwrap();
        let width = 2 * radius + 1;
        let (columns, at_once) = match scheme {
            // Of radius 4 a group has but 8 columns, and half of its window as many.
            "convstencil1d" => (width.min(8), 2),
            "convstencil2d" => (width * width, 4),
            "convstencil3d" => (width * width, width),
            "convstencil3d_symmetric" => (width * width, radius + 1),
            "convstencil3d_cores" => (width * width, 1),
            other => panic!("{other}"),
        };
        let products = 2 * columns.div_ceil(4) * at_once;
        assert_eq!(count(&entry, "mma.sync.aligned.m8n8k4"), products, "{}", entry.name);
    }
}

/// Three real products of two halves for each transform: there and back along two axes of a pair of tiles, or of one of the
/// planes and slabs of a pair along three.
#[test]
fn a_pair_of_tiles_has_as_many_products_as_its_transforms_take() {
    for Build { chip, ptx } in distinct_builds() {
        let entries = kernels(ptx);
        let found = entries.iter().filter(|entry| entry.name.starts_with("flashfft"));
        for entry in found {
            let transforms = if entry.name.starts_with("flashfft3d") { 6 } else { 4 };
            let (shape, each) = if *chip > Chip::Sm80 { ("m16n8k16", 1) } else { ("m8n8k4", 8) };
            let products = count(entry, &format!("mma.sync.aligned.{shape}"));
            assert_eq!(products, each * 2 * 3 * transforms, "{chip}: {}", entry.name);
        }
    }
}

/// Products and transposes in a kernel's body, and the opcode of the latter.
fn predicted(kernel: cases::SweepKernel) -> (usize, usize, &'static str) {
    let width = 2 * kernel.radius() as usize + 1;
    let stencil = Stencil::dense("box", &[width, width], &vec![1.0; width * width]).unwrap();
    let factors = kernel.dtype().factors().unwrap();
    let steps = match factors.element() {
        Some(element) => window(&stencil).unwrap().steps(element),
        // Of two pieces each, and of a third one with a first one.
        None => 6 * window(&stencil).unwrap().steps(Element::Bf16),
    };
    let pairs = kernel.radius() as usize + 1;
    match kernel {
        // A round for each pair of rows; it stores two rows, of 16-bit types each transposed.
        cases::SweepKernel::Sweep2d { .. } => {
            let transposes = if factors.bytes() == 4 { 0 } else { 2 * pairs };
            (pairs * steps, transposes, "movmatrix")
        }
        // A stage of two strips for the last step, the steps before it, and the first one, which moves
        // from tile to tile.
        cases::SweepKernel::Chain2d { chain, .. } => {
            let variants = (chain as usize).min(3);
            let transposes = if factors.bytes() == 4 { 0 } else { variants * pairs * 2 };
            (variants * pairs * steps * 2, transposes, "stmatrix")
        }
    }
}

#[test]
fn every_lane_reaches_every_collective() {
    for Build { chip, ptx } in distinct_builds() {
        kernels(ptx).par_iter().for_each(|kernel| {
            assert_eq!(violations(kernel), [], "{chip}: {}", kernel.name);
        });
    }
}

/// Bytes of stack that kernels may have. On sm_80 temporal blocking, whose longest in f64 keep whole rows in registers, lacks
/// some, because weights take registers there; so do a few dense twins, whose operand is twice as large, sums of weights that are two
/// numbers, and long columns in f32.
/// For sm_120a ptxas needs a few registers more than for sm_90. Nothing was measured on those chips.
fn most_stack(chip: Chip, kernel: &str) -> u32 {
    match (chip, kernel.trim_start_matches("dense_").split('_').next()) {
        (Chip::Sm120a, Some("temporal2d" | "temporal3d")) => 512,
        (Chip::Sm80, Some("temporal2d" | "temporal3d")) => 64,
        (Chip::Sm80, Some("finished2d")) => 64,
        (Chip::Sm80, Some("spectral")) => 8,
        (Chip::Sm80, _) if kernel.starts_with("dense_") => 48,
        (Chip::Sm120a, Some("chain3d")) => 88,
        (Chip::Sm120a, Some("chain2d")) => 40,
        (Chip::Sm120a, _) => 16,
        _ => 0,
    }
}

#[test]
fn every_build_assembles_without_spills_and_as_pinned() {
    if BUILDS.is_empty() {
        return;
    }
    let Some(assembler) = std::env::var_os("PTXAS") else {
        return skip("ptxas is missing; set PTXAS to its path (`cargo xtask setup` installs it)");
    };
    // Of sm_90 and sm_100a, whose PTX is that of sm_90a and sm_120a, one each. Each takes the assembler most of two minutes; so
    // the last, on which nothing was measured, is for thorough runs.
    let mut audited = vec![Chip::Sm80, Chip::Sm90a];
    audited.extend(is_thorough().then_some(Chip::Sm120a));
    let builds: Vec<&Build> = BUILDS.iter().filter(|build| audited.contains(&build.chip)).collect();
    let report = |Build { chip, ptx }: &Build| {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("kernels.ptx");
        std::fs::write(&source, ptx).unwrap();
        resources(&assemble(Path::new(&assembler), *chip, &source))
    };
    let reports: Vec<String> = builds.par_iter().map(|build| report(build)).collect();
    for (Build { chip, ptx }, resources) in builds.into_iter().zip(reports) {
        assert_eq!(resources.lines().count(), kernels(ptx).len(), "{chip}");
        for line in resources.lines() {
            let stack = before(line, "bytes stack");
            let fits = stack <= most_stack(*chip, line);
            assert!(fits && (stack > 0 || line.contains(" 0 bytes spilled")), "{chip}: {line}");
        }
        if *chip == Chip::Sm90a {
            match pinned_compiler(device::device_compiler()) {
                Some(compiler) => {
                    insta::assert_snapshot!(format!("resources_sm_90a_{compiler}"), resources)
                }
                None => skip("registers are pinned for other device compilers than this program's"),
            }
        }
    }
}

/// The name of the device compiler in the name of its snapshot, if there is one. Each release of
/// rustc allocates registers a little differently: rustup's (`rust-toolchain.toml`) and Debian's are pinned.
fn pinned_compiler(version: &str) -> Option<&'static str> {
    [("rustc 1.95.", "rustc_1_95"), ("rustc 1.96.", "rustc_1_96")]
        .into_iter()
        .find_map(|(release, name)| version.starts_with(release).then_some(name))
}

/// Assembles for the chip that the PTX names, as the driver does; returns what `ptxas` says.
fn assemble(assembler: &Path, chip: Chip, source: &Path) -> String {
    let mut command = Command::new(assembler);
    let registers = format!("-maxrregcount={}", kernels_gpu::MOST_REGISTERS);
    command.args(["-v", "-O3", &format!("-arch={chip}"), &registers, "-o"]);
    command.arg(source.with_extension("cubin")).arg(source);
    let output = command.output().expect("PTXAS names a program that runs");
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "ptxas refuses the kernels for {chip}:\n{report}");
    report
}

/// The number before a unit.
fn before(line: &str, unit: &str) -> u32 {
    let number = line.split(unit).next().and_then(|text| text.split_whitespace().next_back());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// One line for each kernel, sorted by name.
fn resources(report: &str) -> String {
    let mut kernels: Vec<String> = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernels.push(format!("{}:", rest.split('\'').next().unwrap_or_default()));
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        if line.contains("bytes stack frame") {
            let stores = line.split("stack frame,").nth(1).unwrap_or_default();
            let loads = line.split("spill stores,").nth(1).unwrap_or_default();
            let spilled = before(stores, "bytes spill stores") + before(loads, "bytes spill loads");
            let stack = before(line, "bytes stack frame");
            write!(kernel, " {stack} bytes stack, {spilled} bytes spilled").unwrap();
        }
        if let Some((_, used)) = line.split_once("Used ") {
            let registers = before(used, "registers");
            let shared = if used.contains("bytes smem") { before(used, "bytes smem") } else { 0 };
            write!(kernel, ", {registers} registers, {shared} bytes static shared memory").unwrap();
        }
    }
    kernels.sort();
    kernels.join("\n")
}
