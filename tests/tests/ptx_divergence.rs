// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control-flow check itself: planted examples that it must and must not object to.

use tests::ptx::{kernels, violations};

/// The opcodes that the check objects to in a kernel with this body.
fn objections(body: &str) -> Vec<String> {
    let ptx = format!(".visible .entry k(\n)\n{{\n{body}\n}}\n");
    let kernels = kernels(&ptx);
    assert_eq!(kernels.len(), 1, "one kernel");
    violations(&kernels[0]).into_iter().map(|violation| violation.opcode).collect()
}

#[test]
fn a_product_behind_a_branch_on_the_lane_is_found() {
    let found = objections(
        "mov.u32 %r1, %laneid;
        setp.ne.b32 %p1, %r1, 0;
        @%p1 bra $L1;
        mma.sync.aligned.m16n8k16.f32 {%f1}, {%r2}, {%r3}, {%f2};
        $L1:
        ret;",
    );
    assert_eq!(found, ["mma.sync.aligned.m16n8k16.f32"]);
}

#[test]
fn a_transpose_sunk_into_a_guarded_store_is_found() {
    let found = objections(
        "ld.param.b64 %rd1, [k_param_0];
        mov.u32 %r1, %tid.x;
        and.b32 %r2, %r1, 31;
        setp.lt.s32 %p1, %r2, 7;
        setp.lt.s32 %p2, %r9, 3;
        and.pred %p3, %p1, %p2;
        @%p3 bra $L_store;
        bra.uni $L_end;
        $L_store:
        movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r4;
        st.global.b32 [%rd1], %r3;
        $L_end:
        ret;",
    );
    assert_eq!(found, ["movmatrix.sync.aligned.m8n8.trans.b16"]);
}

#[test]
fn a_branch_on_loaded_data_is_found() {
    let found = objections(
        "mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd1, %r1;
        ld.global.b32 %r2, [%rd1];
        setp.eq.b32 %p1, %r2, 0;
        @%p1 bra $L1;
        bar.warp.sync 0xffffffff;
        $L1:
        ret;",
    );
    assert_eq!(found, ["bar.warp.sync"]);
}

#[test]
fn a_collective_in_a_loop_of_divergent_length_is_found() {
    let found = objections(
        "mov.u32 %r1, %laneid;
        mov.b32 %r2, 0;
        $L1:
        shfl.sync.idx.b32 %r3, %r4, 0, 31, -1;
        add.s32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra $L1;
        ret;",
    );
    assert_eq!(found, ["shfl.sync.idx.b32"]);
}

#[test]
fn a_value_chosen_by_a_divergent_branch_is_divergent() {
    let found = objections(
        "mov.u32 %r1, %laneid;
        setp.gt.u32 %p1, %r1, 15;
        mov.b32 %r2, 0;
        @%p1 bra $L1;
        mov.b32 %r2, 1;
        $L1:
        setp.eq.b32 %p2, %r2, 0;
        @%p2 bra $L2;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r7];
        $L2:
        ret;",
    );
    assert_eq!(found, ["ldmatrix.sync.aligned.m8n8.x4.shared.b16"]);
}

#[test]
fn a_collective_after_some_lanes_have_returned_is_found() {
    let found = objections(
        "mov.u32 %r1, %laneid;
        setp.eq.b32 %p1, %r1, 3;
        @%p1 bra $L_end;
        bar.warp.sync 0xffffffff;
        $L_end:
        ret;",
    );
    assert_eq!(found, ["bar.warp.sync"]);
}

#[test]
fn a_guarded_collective_is_found() {
    let found = objections(
        "mov.u32 %r1, %laneid;
        setp.eq.b32 %p1, %r1, 3;
        @%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r4;
        ret;",
    );
    assert_eq!(found, ["movmatrix.sync.aligned.m8n8.trans.b16"]);
}

#[test]
fn a_block_barrier_in_one_warp_only_is_found() {
    let found = objections(
        "mov.u32 %r1, %tid.x;
        shr.u32 %r2, %r1, 5;
        setp.ne.b32 %p1, %r2, 8;
        @%p1 bra $L1;
        bar.sync 0;
        $L1:
        ret;",
    );
    assert_eq!(found, ["bar.sync"]);
}

#[test]
fn branches_that_whole_warps_take_are_accepted() {
    let found = objections(
        "mov.u32 %r1, %tid.x;
        mov.u32 %r5, %ctaid.x;
        shr.u32 %r2, %r1, 5;
        setp.ne.b32 %p1, %r2, 8;
        @%p1 bra $L1;
        bar.warp.sync 0xffffffff;
        $L1:
        setp.gt.u32 %p2, %r1, 255;
        @%p2 bra $L2;
        movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r4;
        $L2:
        setp.lt.u32 %p3, %r5, %r6;
        @%p3 bra $L1;
        ret;",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn lanes_that_meet_again_before_the_collective_are_accepted() {
    let found = objections(
        "mov.u32 %r1, %laneid;
        setp.ne.b32 %p1, %r1, 0;
        $L_wait:
        { .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%r8], %r9; selp.u32 %r2, 1, 0, p; }
        setp.eq.b32 %p2, %r2, 0;
        @%p2 bra $L_wait;
        @%p1 bra $L1;
        mbarrier.arrive.shared::cta.b64 _, [%r8];
        $L1:
        setp.eq.b32 %p3, %r1, 77;
        @%p3 bra $L_trap;
        bar.warp.sync 0xffffffff;
        ret;
        $L_trap:
        trap;",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_branch_on_what_one_lane_says_to_all_is_none() {
    let branch = |source: &str| {
        objections(&format!(
            "mov.u32 %r1, %laneid;
            mov.u32 %r2, {source};
            shfl.sync.idx.b32 %r3, %r1, %r2, 31, 0xffffffff;
            setp.eq.b32 %p1, %r3, 0;
            @%p1 bra $L1;
            bar.warp.sync 0xffffffff;
            $L1:
            ret;"
        ))
    };
    assert_eq!(branch("0"), [""; 0]);
    assert_eq!(branch("%laneid"), ["bar.warp.sync"]);
}
