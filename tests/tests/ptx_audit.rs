// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the device compiler made of the kernels: resources, instruction counts, and no collective
//! that some lanes may not reach.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use tests::ptx::{Instruction, Kernel, kernels, violations};

/// The PTX of the kernels. Without a device compiler the test ends here, unless it must not.
fn ptx() -> Option<&'static str> {
    let ptx = host::device::embedded_ptx();
    if ptx.is_none() {
        skip(host::device::device_compiler());
    }
    ptx
}

/// Says why a test is skipped; fails where the checks demand the tools.
fn skip(reason: &str) {
    assert!(std::env::var_os("REQUIRE_DEVICE_COMPILER").is_none_or(|it| it != "1"), "{reason}");
    println!("skipped: {reason}");
}

fn count(kernel: &Kernel, opcode: &str) -> usize {
    kernel.body.iter().filter(|instruction: &&Instruction| instruction.is(opcode)).count()
}

#[test]
fn no_kernel_uses_local_memory() {
    let Some(ptx) = ptx() else { return };
    let local = ptx.lines().find(|line| line.contains(".local"));
    assert_eq!(local, None, "arrays must stay in registers");
}

#[test]
fn the_unrolled_body_has_as_many_products_as_the_radius_predicts() {
    let Some(ptx) = ptx() else { return };
    for radius in 1..=3 {
        let name = format!("sweep2d_f16_r{radius}");
        let kernels = kernels(ptx);
        let kernel =
            kernels.iter().find(|kernel| kernel.name == name).expect("a kernel per radius");
        // r + 1 rounds, each of r + 1 products, and two transposes for its two rows of outputs.
        let steps = radius + 1;
        assert_eq!(count(kernel, "mma.sp"), steps * steps, "{name}");
        assert_eq!(count(kernel, "movmatrix"), 2 * steps, "{name}");
        let ordered = count(kernel, "mma.sp::ordered_metadata");
        assert_eq!(ordered, steps * steps, "{name}: metadata is declared ordered");
    }
}

#[test]
fn every_lane_reaches_every_collective() {
    let Some(ptx) = ptx() else { return };
    for kernel in kernels(ptx) {
        assert_eq!(violations(&kernel), [], "{}", kernel.name);
    }
}

#[test]
fn registers_spills_stack_and_shared_memory_are_as_pinned() {
    let Some(ptx) = ptx() else { return };
    let Some(assembler) = std::env::var_os("PTXAS") else {
        return skip("ptxas is missing; set PTXAS to its path (`cargo xtask setup` installs it)");
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("kernels.ptx");
    std::fs::write(&source, ptx).unwrap();
    let report = assemble(Path::new(&assembler), &source);
    let pinned = resources(&report);
    for line in pinned.lines() {
        assert!(line.contains(" 0 bytes stack, 0 bytes spilled"), "{line}");
    }
    insta::assert_snapshot!("resources_sm_90a", pinned);
}

/// Assembles as the driver does, for the chip that the PTX names; returns what `ptxas` says.
fn assemble(assembler: &Path, source: &Path) -> String {
    let mut command = Command::new(assembler);
    let registers = format!("-maxrregcount={}", kernels_gpu::MOST_REGISTERS);
    command.args(["-v", "-arch=sm_90a", &registers, "-o"]);
    command.arg(source.with_extension("cubin")).arg(source);
    let output = command.output().expect("PTXAS names a program that runs");
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "ptxas refuses the kernels:\n{report}");
    report
}

/// One line for each kernel, sorted by name.
fn resources(report: &str) -> String {
    let before = |line: &str, unit: &str| -> u32 {
        let number = line.split(unit).next().and_then(|text| text.split_whitespace().next_back());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    };
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
