// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of PTX in forms that no device function has, and parameters that are not the kernel's.

use cuda_sim::{Fault, FaultKind, LaunchConfig, Memory, Module};

#[allow(non_camel_case_types)]
struct lines;

// SAFETY: the text that `run` makes has this entry point.
unsafe impl cuda_kernel::Kernel for lines {
    type Parameters = (*mut u32,);
    const NAME: &'static str = "lines";
}

#[allow(non_camel_case_types)]
struct narrow;

// SAFETY: it is not so, and the launch says it.
unsafe impl cuda_kernel::Kernel for narrow {
    type Parameters = (u32,);
    const NAME: &'static str = "lines";
}

fn module(body: &str) -> Module {
    let text = format!(
        ".visible .entry lines(.param .u64 .ptr .align 1 out)\n{{\n.reg .b32 %r<8>;\n.reg .b64 %a<8>;\n\
         .reg .pred %p<4>;\nld.param.b64 %a1, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %a2, %r0, 4;\n\
         add.s64 %a2, %a1, %a2;\n{body}\nret;\n}}\n"
    );
    Module::read(&text).unwrap()
}

/// What each lane of a warp writes.
fn run(body: &str) -> Result<Vec<u32>, Fault> {
    let mut memory = Memory::new();
    let out = memory.zeros::<u32>("out", 32);
    let config =
        LaunchConfig { blocks: 1, threads: 32, shared_bytes: 256, ..LaunchConfig::default() };
    module(body).launch::<lines>(config, &mut memory, (out.as_mut_ptr(),))?;
    Ok(memory.read(out))
}

#[test]
fn what_is_not_known_is_named() {
    for line in [
        "cp.async.cg.shared.global [%r1], [%a1], 16, %r0;",
        "mbarrier.arrive.shared::cta.b64 _, [%r1], 2;",
        "mbarrier.arrive.noComplete.shared::cta.b64 _, [%r1], 1;",
        "bar.red.popc.u32 %r2, 0, 32, %p0;",
        "shfl.sync.idx.b32 %r2, %r0, 0, 7, 0xffffffff;",
    ] {
        let fault = run(&format!("mov.u32 %r1, 0;\nsetp.eq.u32 %p0, %r0, 0;\n{line}")).unwrap_err();
        let opcode = line.split(' ').next().unwrap();
        assert!(
            matches!(&fault.kind, FaultKind::UnknownInstruction(name) if name == opcode),
            "{line}: {fault}"
        );
    }
}

/// A cluster's instruction is refused by a text that says what to use, and a block alone has its own shared memory there.
#[test]
fn clusters_are_refused_as_such() {
    for (line, named) in [
        ("mapa.shared::cluster.u32 %r1, %r0, 1;", "mapa"),
        ("barrier.cluster.arrive.aligned;", "barrier.cluster.arrive.aligned"),
        ("barrier.cluster.wait.acquire.aligned;", "barrier.cluster.wait.acquire.aligned"),
        ("mov.u32 %r1, %cluster_ctarank;", "%cluster_ctarank"),
        ("mov.u32 %r1, %nclusterid.x;", "%nclusterid.x"),
    ] {
        let fault = run(line).unwrap_err();
        assert!(
            matches!(&fault.kind, FaultKind::Cluster(it) if it.contains(named)),
            "{line}: {fault}"
        );
        assert!(
            fault.to_string().contains("let blocks hand numbers over in global memory"),
            "{fault}"
        );
    }
    let own = "shl.b32 %r1, %r0, 2;\nst.shared::cluster.b32 [%r1], %r0;\nld.shared.b32 %r2, [%r1];\n\
               st.global.b32 [%a2], %r2;";
    assert_eq!(run(own).unwrap(), (0..32).collect::<Vec<_>>());
}

/// Runs something on 64 threads, with words to read at `%a3`: what they write.
fn run_two_warps(body: &str) -> Result<Vec<u32>, Fault> {
    let text = format!(
        ".visible .entry pair(.param .u64 .ptr .align 1 from, .param .u64 .ptr .align 1 out)\n{{\n.reg .b32 %r<8>;\n\
         .reg .b64 %a<8>;\n.reg .pred %p<4>;\nld.param.b64 %a3, [from];\nld.param.b64 %a1, [out];\nmov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %a2, %r0, 4;\nadd.s64 %a2, %a1, %a2;\nshl.b32 %r1, %r0, 2;\nshr.u32 %r2, %r0, 5;\n\
         setp.eq.u32 %p0, %r2, 0;\n{body}\nret;\n}}\n"
    );
    let module = Module::read(&text).unwrap();
    let mut memory = Memory::new();
    let words: Vec<u32> = (0..128).map(|at| 3 * at).collect();
    let mut all = Vec::new();
    for seed in 0..4 {
        let (from, out) = (memory.input("from", &words), memory.zeros::<u32>("out", 64));
        let config =
            LaunchConfig { threads: 64, shared_bytes: 768, seed, ..LaunchConfig::default() };
        module.launch::<pair>(config, &mut memory, (from.as_ptr(), out.as_mut_ptr()))?;
        all = memory.read(out);
    }
    Ok(all)
}

#[allow(non_camel_case_types)]
struct pair;

// SAFETY: the text that `run_two_warps` makes has this entry point.
unsafe impl cuda_kernel::Kernel for pair {
    type Parameters = (*const u32, *mut u32);
    const NAME: &'static str = "pair";
}

#[test]
fn copies_of_4_and_8_bytes_come_in_groups() {
    let copy = |bytes: u32, to: u32| {
        format!(
            "mul.wide.u32 %a4, %r0, {bytes};\nadd.s64 %a4, %a3, %a4;\nmul.lo.u32 %r3, %r0, {bytes};\n\
             cp.async.ca.shared.global [%r3+{to}], [%a4], {bytes};\n"
        )
    };
    let commit = "cp.async.commit_group;\n";
    let wait = |newest: u32| format!("cp.async.wait_group {newest};\n");
    // Each thread's word of the first copies, and the second word of its own of the others.
    let [first, second] = ["[%r1]", "[%r3+260]"]
        .map(|from| format!("ld.shared.u32 %r4, {from};\nst.global.u32 [%a2], %r4;\n"));
    let both = copy(4, 0) + commit + &copy(8, 256) + commit;
    let words = |of: fn(u32) -> u32| (0..64).map(of).collect::<Vec<u32>>();
    let body = format!("{both}{}{first}{}", wait(1), wait(0));
    assert_eq!(run_two_warps(&body).unwrap(), words(|at| 3 * at));
    let body = format!("{both}{}{second}", wait(0));
    assert_eq!(run_two_warps(&body).unwrap(), words(|at| 3 * (2 * at + 1)));
    let missing = |kind: &FaultKind| matches!(kind, FaultKind::MissingWait { .. });
    let uncommitted = format!("{}{}{first}", copy(4, 0), wait(0));
    for body in [format!("{both}{}{second}", wait(1)), uncommitted] {
        let fault = run_two_warps(&body).unwrap_err();
        assert!(missing(&fault.kind), "{fault}");
    }
    let fault = run_two_warps(&both).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Unfinished), "{fault}");
    let fault = run_two_warps(&copy(8, 4)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Misaligned { alignment: 8, .. }), "{fault}");
    let fault = run_two_warps(&copy(2, 0)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::UnknownInstruction(_)), "{fault}");
}

/// Warp 0 stores words, and warp 1 loads them after a barrier of both.
fn handed_over(store: &str, load: &str) -> String {
    format!(
        "@%p0 bra FIRST;\n{load}\nld.shared.u32 %r4, [%r1+-128];\nst.global.u32 [%a2], %r4;\n\
         bra END;\nFIRST:\nst.shared.u32 [%r1], %r0;\n{store}\nEND:"
    )
}

#[test]
fn some_warps_meet_at_a_barrier_with_a_number() {
    let handed: Vec<u32> = (0..64u32).map(|at| at.saturating_sub(32)).collect();
    for (store, load) in [
        ("bar.arrive 3, 64;", "bar.sync 3, 64;"),
        ("bar.sync 3, 64;", "bar.sync 3, 64;"),
        ("barrier.cta.arrive.aligned 15, 64;", "barrier.cta.sync.aligned 15;"),
        ("bar.sync 1, 32;\nbar.arrive 2, 64;", "bar.sync 2, 64;"),
        // Twice, one after the other.
        ("bar.arrive 1, 64;\nbar.sync 2, 64;", "bar.sync 1, 64;\nbar.arrive 2, 64;"),
    ] {
        let words = run_two_warps(&handed_over(store, load));
        assert_eq!(words.unwrap_or_else(|fault| panic!("{store}: {fault}")), handed, "{store}");
    }
    // Without knowing of each other.
    let apart = run_two_warps(&handed_over("bar.sync 1, 32;", "bar.sync 2, 32;")).unwrap_err();
    assert!(matches!(apart.kind, FaultKind::Race { .. } | FaultKind::Unwritten(_)), "{apart}");
    // Who arrives only learns nothing.
    let body = handed_over("", "bar.sync 3, 64;\nst.shared.u32 [%r1+-128], %r0;");
    let early = body
        .replace("st.shared.u32 [%r1], %r0;\n", "bar.arrive 3, 64;\nld.shared.u32 %r5, [%r1];\n");
    let fault = run_two_warps(&early).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    for (store, load, what) in [
        ("bar.sync 3, 64;", "bar.sync 4, 64;", "of 64 threads have arrived"),
        ("bar.arrive 3, 64;\nbar.sync 3, 32;", "bra END;", "this warp counts"),
        ("bar.sync 3, 48;", "bar.sync 3, 48;", "48 threads are no whole warps"),
        ("bar.sync 3, 96;", "bar.sync 3, 96;", "96 threads are no whole warps of this block"),
        ("bar.sync 16, 64;", "bar.sync 16, 64;", "there are 16"),
        ("bar.sync %r0, 64;", "bar.sync %r0, 64;", "lanes of one warp name different ones"),
        ("barrier.sync 3, 64;", "barrier.sync 3, 64;", "does not know this instruction"),
        ("bar.red.popc.u32 %r5, 1, %p0;", "bar.sync 1, 64;", "does not know this instruction"),
    ] {
        let fault = run_two_warps(&handed_over(store, load)).unwrap_err().to_string();
        assert!(fault.contains(what), "{store}: {fault}");
    }
}

#[test]
fn a_match_of_all_lanes_has_a_second_result() {
    let body = |value: &str| {
        format!(
            "match.all.sync.b32 %r2|%p1, {value}, 0xffffffff;\nselp.u32 %r3, 7, 9, %p1;\n\
             st.global.u32 [%a2], %r3;"
        )
    };
    assert_eq!(run(&body("5")).unwrap(), [7; 32]);
    assert_eq!(run(&body("%r0")).unwrap(), [9; 32]);
}

#[test]
#[should_panic(expected = "bytes of each parameter of lines")]
fn a_parameter_of_another_size_is_reported() {
    let _ = module("").launch::<narrow>(LaunchConfig::default(), &mut Memory::new(), (1,));
}
