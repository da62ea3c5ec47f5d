// SPDX-License-Identifier: MIT OR Apache-2.0
//! A million threads that do little take less than a second, in a build with optimization.

use cuda_sim::{LaunchConfig, Memory, Module, global, launch, thread};
use std::time::{Duration, Instant};

const BLOCKS: u32 = 1 << 12;
const THREADS: u32 = 1 << 8;

fn config() -> LaunchConfig {
    LaunchConfig { blocks: BLOCKS, threads: THREADS, ..LaunchConfig::default() }
}

/// The least time of three runs.
fn least(run: impl Fn()) -> Duration {
    let time = || {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..3).map(|_| time()).min().expect("three of them")
}

/// Says how long it took, and asserts it where the build is optimized.
fn assert_quick(what: &str, least: Duration) {
    println!("{what}: {least:?}");
    assert!(cfg!(debug_assertions) || least < Duration::from_secs(1), "{what}: {least:?}");
}

#[test]
fn threads_that_do_nothing() {
    assert_quick(
        "nothing",
        least(|| {
            launch("nothing", config(), &mut Memory::new(), || {}).unwrap();
        }),
    );
}

#[test]
fn threads_that_store_a_number() {
    assert_quick(
        "a store",
        least(|| {
            let mut memory = Memory::new();
            let out = memory.output::<u32>("out", (BLOCKS * THREADS) as usize);
            launch("store", config(), &mut memory, || {
                let i = thread::block_idx_x() * THREADS + thread::thread_idx_x();
                global::store(out.as_mut_ptr().wrapping_add(i as usize), i);
            })
            .unwrap();
            assert!(memory.read(out).into_iter().eq(0..BLOCKS * THREADS));
        }),
    );
}

/// `out[i] = i`, as the compiler writes it.
const STORE: &str = "
.version 8.6
.target sm_80
.address_size 64
.visible .entry store(
	.param .u64 .ptr .align 1 store_param_0
)
{
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<4>;
	ld.param.b64 	%rd1, [store_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r1, %tid.x;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mad.lo.s32 	%r4, %r2, %r3, %r1;
	mul.wide.u32 	%rd3, %r4, 4;
	add.s64 	%rd3, %rd2, %rd3;
	st.global.b32 	[%rd3], %r4;
	ret;
}
";

#[allow(non_camel_case_types)]
struct store;

// SAFETY: the text above has this entry point.
unsafe impl cuda_kernel::Kernel for store {
    type Parameters = (*mut u32,);
    const NAME: &'static str = "store";
}

#[test]
fn threads_that_are_executed_as_ptx() {
    let module = Module::read(STORE).unwrap();
    assert_quick(
        "a store, as PTX",
        least(|| {
            let mut memory = Memory::new();
            let out = memory.output::<u32>("out", (BLOCKS * THREADS) as usize);
            module.launch::<store>(config(), &mut memory, (out.as_mut_ptr(),)).unwrap();
            assert!(memory.read(out).into_iter().eq(0..BLOCKS * THREADS));
        }),
    );
}
