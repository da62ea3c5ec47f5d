// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products as PTX: what is left out, or done too early, is reported in its line; what is right is not.

use super::*;
use cuda_sim::{Access, Fault, FaultKind, Module, ProductFault};

#[allow(non_camel_case_types)]
struct sums {}

// SAFETY: the text that `run` makes has this entry point.
unsafe impl cuda_kernel::Kernel for sums {
    type Parameters = (*mut f32,);
    const NAME: &'static str = "sums";
}

/// A of 64 rows of 32 bytes, then B's 8 columns. A lane's address in `out` is in `%a1`, its address in A `%r1`, in B
/// `%r2`; `%p1` holds where it has a part of B.
fn start() -> String {
    let [a, b] = [0, 2048].map(|at| Descriptor::new(at, 128, 256, Swizzle::None).0);
    format!("{START}mov.b64 %a4, {a:#x};\nmov.b64 %a5, {b:#x};\n")
}

const START: &str = "
.reg .b32 %r<16>;\n.reg .b64 %a<6>;\n.reg .pred %p<4>;\n.reg .f32 %d<16>;
ld.param.b64 %a1, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %a2, %r0, 4;\nadd.s64 %a1, %a1, %a2;
shl.b32 %r1, %r0, 4;\nadd.u32 %r2, %r1, 2048;\nmov.u32 %r3, 0x3c003c00;
setp.lt.u32 %p1, %r0, 16;\nsetp.ne.b32 %p2, 1, 0;\n";

/// Fills A and B with ones.
const WRITE: &str = "st.shared.v4.b32 [%r1], {%r3, %r3, %r3, %r3};
@%p1 st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};\n";
const PROXY: &str = "fence.proxy.async.shared::cta;\n";
const BARRIER: &str = "bar.sync 0;\n";
const ZEROS: &str =
    "mov.f32 %d0, 0f00000000;\nmov.f32 %d1, %d0;\nmov.f32 %d2, %d0;\nmov.f32 %d3, %d0;\n";
const FENCE: &str = "wgmma.fence.sync.aligned;\n";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;\n";
const STORE: &str = "st.global.f32 [%a1], %d0;\n";

fn multiply() -> String {
    multiply_into(["%d0", "%d1", "%d2", "%d3"])
}

fn multiply_into(sums: [&str; 4]) -> String {
    product(sums, "%a4", "0, 0")
}

/// With A in `%r4` to `%r7`, which have ones.
fn multiply_held() -> String {
    product(["%d0", "%d1", "%d2", "%d3"], "{%r4, %r5, %r6, %r7}", "0")
}

const HELD: &str = "mov.u32 %r4, %r3;\nmov.u32 %r5, %r3;\nmov.u32 %r6, %r3;\nmov.u32 %r7, %r3;\n";

fn product(sums: [&str; 4], a: &str, transposes: &str) -> String {
    format!(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{}}}, {a}, %a5, %p2, 1, 1, {transposes};\n",
        sums.join(", ")
    )
}

/// Runs what the parts say, in several orders of events; the lines of `kernel.rs` are those of the parts.
fn run(parts: &[&str]) -> Result<Vec<f32>, Fault> {
    let body: String = (parts.concat().lines().enumerate())
        .map(|(at, line)| format!(".loc 1 {} 1\n{line}\n", at + 1))
        .collect();
    let start = start();
    let text = format!(
        ".file 1 \"kernel.rs\"\n.visible .entry sums(.param .u64 .ptr .align 1 out)\n{{{start}{body}ret;\n}}\n"
    );
    let module = Module::read(&text).unwrap();
    let mut memory = Memory::new();
    let mut all = Vec::new();
    for seed in 0..4 {
        let out = memory.zeros::<f32>("out", LANES);
        let config =
            LaunchConfig { threads: 128, shared_bytes: 2304, seed, ..LaunchConfig::default() };
        let parameters = (out.as_mut_ptr(),);
        Chip::Sm90a.with(|| module.launch::<sums>(config, &mut memory, parameters))?;
        all = memory.read(out);
    }
    Ok(all)
}

/// Asserts that this is reported in the last line that has the text.
#[track_caller]
fn assert_reported(parts: &[&str], text: &str, is: impl Fn(&FaultKind) -> bool) {
    let fault = run(parts).unwrap_err();
    let body = parts.concat();
    let lines: Vec<&str> = body.lines().collect();
    let line = lines.iter().rposition(|it| it.starts_with(text)).unwrap() as u32 + 1;
    assert!(is(&fault.kind), "{fault}");
    let place = fault.site.location;
    assert_eq!((place.file(), place.line()), ("kernel.rs", line), "{fault}");
}

fn is(expected: fn(&ProductFault) -> bool) -> impl Fn(&FaultKind) -> bool {
    move |kind| matches!(kind, FaultKind::Product(fault) if expected(fault))
}

fn no_fence(fault: &ProductFault) -> bool {
    *fault == ProductFault::NoFence
}

fn no_wait(fault: &ProductFault) -> bool {
    matches!(fault, ProductFault::TooEarly { missing: "wait", .. })
}

#[test]
fn what_leaves_nothing_out_passes() {
    let mma = &multiply();
    let once = [WRITE, PROXY, BARRIER, ZEROS, FENCE, mma, COMMIT, WAIT, STORE];
    assert_eq!(run(&once).unwrap(), [16.0; LANES]);
    // In a chain, and after a wait, as long as no other instruction uses the registers.
    let more = [mma, mma, COMMIT, mma, COMMIT, WAIT, mma, COMMIT, WAIT, STORE];
    assert_eq!(run(&[&once[..5], &more].concat()).unwrap(), [64.0; LANES]);
    // Others are used after it, or these before the next fence.
    let other = "mov.f32 %d8, %d0;\nadd.u32 %r8, %r0, 1;\n";
    let again = ["add.f32 %d1, %d1, %d1;\n", other, FENCE, mma, COMMIT, WAIT, STORE];
    assert_eq!(run(&[&once[..8], &again].concat()).unwrap(), [32.0; LANES]);
}

#[test]
fn copies_of_sums_under_way_are_sums() {
    let (mma, start) = (&multiply(), [WRITE, PROXY, BARRIER, ZEROS, FENCE]);
    let copy = "mov.b32 %d4, %d0;\nmov.b32 %d5, %d1;\nmov.f32 %d6, %d2;\nmov.f32 %d7, %d3;\n";
    let next = &multiply_into(["%d4", "%d5", "%d6", "%d7"]);
    let store = "st.global.f32 [%a1], %d4;\n";
    assert_eq!(
        run(&[&start[..], &[mma, copy, next, COMMIT, WAIT, store]].concat()).unwrap(),
        [32.0; LANES]
    );
    assert_eq!(
        run(&[&start[..], &[mma, COMMIT, copy, WAIT, store]].concat()).unwrap(),
        [16.0; LANES]
    );
    // What another product has taken is nobody's any more.
    let parts = [&start[..], &[mma, copy, next, COMMIT, WAIT, STORE]].concat();
    assert_reported(&parts, "st.global", is(no_wait));
    let parts = [&start[..], &[mma, copy, next, mma]].concat();
    let changed = |fault: &ProductFault| matches!(fault, ProductFault::Changed { .. });
    assert_reported(&parts, "wgmma.mma_async", is(changed));
}

#[test]
fn a_missing_fence() {
    let mma = &multiply();
    let parts = [WRITE, PROXY, BARRIER, ZEROS, mma, COMMIT, WAIT, STORE];
    assert_reported(&parts, "wgmma.mma_async", is(no_fence));
    // After a wait, once another instruction has read or written a sum, or written A.
    let start = [WRITE, PROXY, BARRIER, ZEROS, FENCE, mma, COMMIT, WAIT];
    for touch in [STORE, "mov.f32 %d3, 0f00000000;\n", "mul.f32 %d9, %d1, %d1;\n"] {
        assert_reported(&[&start[..], &[touch, mma]].concat(), "wgmma.mma_async", is(no_fence));
    }
    let held = &multiply_held();
    let start = [WRITE, PROXY, BARRIER, ZEROS, HELD, FENCE, held, COMMIT, WAIT];
    let parts = [&start[..], &["mov.u32 %r5, 0;\n", held]].concat();
    assert_reported(&parts, "wgmma.mma_async", is(no_fence));
    let parts = [&start[..], &[held, COMMIT, WAIT, STORE]].concat();
    assert_eq!(run(&parts).unwrap(), [32.0; LANES]);
}

#[test]
fn a_missing_commit_or_wait() {
    let (mma, start) = (&multiply(), [WRITE, PROXY, BARRIER, ZEROS, FENCE]);
    let no_commit = |fault: &ProductFault| {
        matches!(fault, ProductFault::TooEarly { missing: "commit and wait", .. })
    };
    assert_reported(&[&start[..], &[mma, WAIT, STORE]].concat(), "st.global", is(no_commit));
    assert_reported(&[&start[..], &[mma, COMMIT, STORE]].concat(), "st.global", is(no_wait));
    let one = "wgmma.wait_group.sync.aligned 1;\n";
    assert_reported(&[&start[..], &[mma, COMMIT, one, STORE]].concat(), "st.global", is(no_wait));
    // Also where its number is not stored.
    for (line, text) in [
        ("add.f32 %d8, %d8, %d2;\n", "add"),
        ("cvt.rn.f16x2.f32 %r8, %d0, %d1;\n", "cvt"),
        ("mov.b64 %a3, {%d0, %d1};\n", "mov.b64"),
        ("shfl.sync.idx.b32 %r8, %d0, 0, 31, 0xffffffff;\n", "shfl"),
    ] {
        assert_reported(&[&start[..], &[mma, COMMIT, line, WAIT]].concat(), text, is(no_wait));
    }
    let unfinished = |fault: &ProductFault| matches!(fault, ProductFault::Unfinished { .. });
    let parts = [&start[..], &[mma, COMMIT]].concat();
    assert_reported(&parts, "wgmma.commit_group", is(unfinished));
}

#[test]
fn registers_that_change_while_a_product_uses_them() {
    let (mma, start) = (&multiply(), [WRITE, PROXY, BARRIER, ZEROS, HELD, FENCE]);
    let changed = |fault: &ProductFault| matches!(fault, ProductFault::Changed { .. });
    let parts = [&start[..], &[mma, "mov.f32 %d2, 0f00000000;\n", mma]].concat();
    assert_reported(&parts, "wgmma.mma_async", is(changed));
    let held = &multiply_held();
    let overwritten = |fault: &ProductFault| matches!(fault, ProductFault::Overwritten { .. });
    let change = "ld.shared.b32 %r6, [%r1];\n";
    let parts = [&start[..], &[held, COMMIT, change, WAIT, STORE]].concat();
    assert_reported(&parts, "ld.shared", is(overwritten));
    let parts = [&start[..], &[held, COMMIT, WAIT, change, STORE]].concat();
    assert_eq!(run(&parts).unwrap(), [16.0; LANES]);
}

#[test]
fn shared_memory_that_products_cannot_see() {
    let mma = &multiply();
    let rest = [ZEROS, FENCE, mma, COMMIT, WAIT, STORE];
    assert_reported(&[&[WRITE, BARRIER], &rest[..]].concat(), "wgmma.mma_async", |kind| {
        matches!(kind, FaultKind::Unfenced { fence: "fence_shared", .. })
    });
    assert_reported(&[&[WRITE, PROXY], &rest[..]].concat(), "wgmma.mma_async", |kind| {
        matches!(kind, FaultKind::Race { access: Access::Read, .. })
    });
    // A fence before the stores is none, and one for both memories is one.
    assert_reported(&[&[PROXY, WRITE, BARRIER], &rest[..]].concat(), "wgmma.mma_async", |kind| {
        matches!(kind, FaultKind::Unfenced { .. })
    });
    let both = "fence.proxy.async;\n";
    assert_eq!(run(&[&[WRITE, both, BARRIER], &rest[..]].concat()).unwrap(), [16.0; LANES]);
    // Who writes over an operand waits for the product.
    let early = [WRITE, PROXY, BARRIER, ZEROS, FENCE, mma, COMMIT, BARRIER, WRITE, WAIT];
    assert_reported(&early, "st.shared.v4.b32 [%r1]", |kind| {
        matches!(kind, FaultKind::MissingWait { access: Access::Write, .. })
    });
}
