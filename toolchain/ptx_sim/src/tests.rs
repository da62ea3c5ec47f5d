// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes are found, and told with their place.

use crate::convert::from_float;
use crate::types::{PtxType, TypeKind};
use crate::{Fault, Memory, Program};

/// Runs two threads that do this, with an array of 16 bytes to read and one to write, and 8 bytes of shared memory.
fn run(lines: &str) -> Result<Vec<u8>, Fault> {
    let body: String = lines.lines().map(|line| line.trim().to_owned() + "\n").collect();
    let text = format!(
        ".entry f(.param .align 8 .b8 parameters[16])\n{{\n.reg .b64 %a<8>;\n.reg .b32 %r<8>;\n.reg .pred %p<2>;\n\
         ld.param.u64 %a0, [parameters+0];\nld.param.u64 %a1, [parameters+8];\nmov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %a2, %r0, 4;\nadd.u64 %a3, %a1, %a2;\n{body}ret;\n}}\n"
    );
    let program = Program::read(&text);
    let mut memory = Memory::new(&program, vec![vec![7; 16], vec![0; 16]]);
    memory.begin([1]);
    memory.begin_block(8);
    program.run_block(&mut memory, &[Memory::address(0), Memory::address(1)], [0, 2])?;
    Ok(memory.bytes(1).to_vec())
}

#[test]
fn threads_write_what_they_compute() {
    let written = run("add.u32 %r1, %r0, 5;\nst.global.u32 [%a3], %r1;").unwrap();
    assert_eq!(written[..8], [5, 0, 0, 0, 6, 0, 0, 0]);
}

#[test]
fn what_threads_exchange_waits_at_a_barrier() {
    let store = "mul.lo.u32 %r1, %r0, 4;\ncvt.u64.u32 %a4, %r1;\nst.shared.u32 [%a4], %r0;";
    let load = "sub.u32 %r2, 4, %r1;\ncvt.u64.u32 %a5, %r2;\nld.shared.u32 %r3, [%a5];\nst.global.u32 [%a3], %r3;";
    let written = run(&format!("{store}\nbar.sync 0;\n{load}")).unwrap();
    assert_eq!(written[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    let fault = run(&format!("{store}\n{load}")).unwrap_err();
    assert_eq!((fault.block, fault.thread), (0, 1));
    assert!(
        fault.what.contains("read by another thread") || fault.what.contains("written by thread 0"),
        "{fault}"
    );
}

#[test]
fn copies_are_there_after_a_wait_and_a_barrier() {
    let copy = "mul.lo.u32 %r1, %r0, 4;\ncvt.u64.u32 %a4, %r1;\nadd.u64 %a6, %a0, %a4;\n\
                cp.async.ca.shared.global [%a4], [%a6], 4;\ncp.async.commit_group;";
    let wait = "cp.async.wait_group 0;";
    let load = "sub.u32 %r2, 4, %r1;\ncvt.u64.u32 %a5, %r2;\nld.shared.u32 %r3, [%a5];\nst.global.u32 [%a3], %r3;";
    let written = run(&format!("{copy}\n{wait}\nbar.sync 0;\n{load}")).unwrap();
    assert_eq!(written[..8], [7; 8]);
    for (lines, what) in [
        (format!("{copy}\nbar.sync 0;\n{load}"), "is still being copied"),
        (format!("{copy}\nld.shared.u32 %r3, [%a4];"), "is still being copied"),
        (format!("{copy}\n{wait}\n{load}"), "written by thread 0 since"),
        (copy.replace("], 4;", "], 12;"), "12 bytes are not copied together"),
    ] {
        let fault = run(&lines).unwrap_err();
        assert!(
            fault.what.contains(what) || fault.what.contains("read by another thread"),
            "{lines}: {fault}"
        );
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (lines, what) in [
        ("st.global.u32 [%a1], %r0;", "is written twice"),
        ("st.global.u32 [%a3+16], %r0;", "bytes 16 to 20 of array 1, which has 16"),
        ("st.global.u32 [%a3+2], %r0;", "is no place for 4 bytes"),
        ("st.global.u32 [%a0], %r0;", "this launch only reads it"),
        ("ld.global.nc.u32 %r1, [%a1];", "this launch writes it"),
        ("mov.u64 %a4, 8;\nst.shared.u32 [%a4], %r0;", "beyond the 8 of shared memory"),
        ("add.u32 %r1, %r2, 1;", "a register that nothing has written"),
        ("mov.u64 %a4, 8;\nld.global.nc.u32 %r1, [%a4];", "is that of no array"),
        ("lop9.b32 %r1, %r0;", "none that is known here"),
        ("setp.eq.u32 %p0, %r0, 0;\n@%p0 bar.sync 0;", "others of its block wait for it"),
    ] {
        let fault = run(lines).unwrap_err();
        assert!(fault.what.contains(what), "{lines}: {fault}");
        let last = lines.lines().last().unwrap().trim_end_matches(';');
        assert!(fault.instruction == last || fault.instruction == "ret", "{fault}");
    }
}

#[test]
fn signed_numbers_fill_wider_registers_with_their_sign() {
    let store = "cvt.rn.f32.s32 %r4, %r3;\nst.global.u32 [%a3], %r4;";
    for lines in [
        "mov.u32 %r2, 255;\ncvt.s8.s32 %r3, %r2;",
        "mov.u32 %r2, 0xffff;\ncvt.s16.u32 %r3, %r2;",
        "mov.u32 %r2, 0fbf800000;\ncvt.rzi.s8.f32 %r3, %r2;",
        "mov.u32 %r2, 255;\ncvt.s64.s8 %a4, %r2;\nmov.b64 {%r5, %r3}, %a4;",
    ] {
        let written = run(&format!("{lines}\n{store}")).unwrap();
        assert_eq!(written[..4], (-1f32).to_le_bytes(), "{lines}");
    }
    let load = "st.shared.u32 [%a5], %r2;\nld.shared.s8 %a4, [%a5];\nmov.b64 {%r5, %r3}, %a4;";
    let lines = format!(
        "mul.wide.u32 %a5, %r0, 4;\nmov.u32 %r2, 255;\nst.shared.u32 [%a5], %r2;\n{load}\n{store}"
    );
    assert_eq!(run(&lines).unwrap()[..4], (-1f32).to_le_bytes());
}

#[test]
fn what_is_not_known_is_named_and_not_executed_as_something_else() {
    for line in [
        "mov.u32 %r1, %nsmid;",
        "mov.u32 %r1, %clock_hi;",
        "mov.u32 %r1, %r8;",
        "mov.u32 %r1, %tid;",
        "cvt.rn.relu.f32.f32 %r1, %r0;",
        "min.xorsign.abs.f32 %r1, %r0, %r0;",
        "min.f32 %r1, %r0, %r0, %r0;",
        "fma.rn.oob.f32 %r1, %r0, %r0, %r0;",
        "mad.hi.sat.s32 %r1, %r0, %r0, %r0;",
        "add.rz.f32 %r1, %r0, %r0;",
        "setp.lt.and.u32 %p0, %r0, %r0;",
        "atom.global.add.u32 %r1, [%a3], %r0, %r0;",
    ] {
        let fault = run(line).unwrap_err();
        assert!(fault.what.contains("none that is known here"), "{line}: {fault}");
    }
}

#[test]
fn registers_of_families_are_those_with_numbers_below_their_count() {
    let declared = ".reg .b32 %x1<3>;\n";
    let of = |name: &str| format!("{declared}mov.u32 {name}, 7;\nst.global.u32 [%a3], {name};");
    assert_eq!(run(&of("%x12")).unwrap()[..4], [7, 0, 0, 0]);
    assert!(run(&of("%x13")).is_err());
}

#[test]
fn labels_are_those_of_the_innermost_scope() {
    let scope = |add: u32| {
        format!("{{\nbra.uni SKIP;\nmov.u32 %r1, 100;\nSKIP:\nadd.u32 %r1, %r1, {add};\n}}\n")
    };
    let lines = format!(
        "mov.u32 %r1, 0;\n{}{}st.global.u32 [%a3], %r1;\nbra.uni SKIP;\nmov.u32 %r1, %nsmid;\nSKIP:",
        scope(1),
        scope(2)
    );
    assert_eq!(run(&lines).unwrap()[..4], [3, 0, 0, 0]);
    let twice = ".entry f()\n{\nL:\nbra.uni L;\nL:\nret;\n}\n";
    let error = crate::Module::read(twice).unwrap_err();
    assert!(error.to_string().contains("second label"), "{error}");
}

#[test]
fn results_below_the_normal_range_are_flushed_where_asked() {
    let tiny = "mov.u32 %r1, 0x80000001;\n";
    for (line, kept) in [
        ("neg.f32 %r2, %r1;", 1u32),
        ("neg.ftz.f32 %r2, %r1;", 0),
        ("abs.ftz.f32 %r2, %r1;", 0),
        (
            "mov.u32 %r3, 0x00800000;\nmov.u32 %r4, 0f3f000000;\nmov.u32 %r5, 0;\nfma.rn.ftz.f32 %r2, %r3, %r4, %r5;",
            0,
        ),
        (
            "mov.u32 %r3, 0x00800000;\nmov.u32 %r4, 0f3f000000;\nmov.u32 %r5, 0;\nfma.rn.f32 %r2, %r3, %r4, %r5;",
            0x0040_0000,
        ),
    ] {
        let written = run(&format!("{tiny}{line}\nst.global.u32 [%a3], %r2;")).unwrap();
        assert_eq!(written[..4], kept.to_le_bytes(), "{line}");
    }
}

#[test]
fn numbers_of_16_bits_are_rounded_once() {
    let (f16, bf16) =
        (PtxType { kind: TypeKind::Float, bits: 16 }, PtxType { kind: TypeKind::Brain, bits: 16 });
    let below = 2f64.powi(-40);
    for (ty, last) in [(f16, 10), (bf16, 7)] {
        let half = 2f64.powi(-last - 1);
        let one = from_float(ty, 1.0);
        assert_eq!(from_float(ty, 1.0 + half), one);
        assert_eq!(from_float(ty, 1.0 + half + below), one + 1);
        assert_eq!(from_float(ty, 1.0 + 3.0 * half - below), one + 1);
        assert_eq!(from_float(ty, 1.0 + 3.0 * half), one + 2);
    }
    assert_eq!(from_float(f16, 65519.999), 0x7bff);
    assert_eq!(from_float(f16, 1e300), 0x7c00);
    assert_eq!(from_float(bf16, -1e300), 0xff80);
    assert_eq!(from_float(bf16, 1e-300), 0);
}
