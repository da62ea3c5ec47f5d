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
