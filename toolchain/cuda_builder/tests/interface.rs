// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels with rust-cuda's interface become PTX; with the variable `PTXAS`, which names NVIDIA's assembler, machine code.

#![allow(unsafe_code, reason = "says which parameters kernels take")]

use cuda_builder::{BuildError, Chip, Compiler, CudaBuilder, NvvmArch};
use std::path::Path;
use std::process::Command;

const KERNELS: &str = r#"
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64, intrinsics, mid,
};
use cuda_std::warp::{self, WarpReductionOp};
use cuda_std::{Parameter, address_space, shared, shared_array};

mod add;
pub use add::add;

type Number = f32;

#[derive(Clone, Copy, Parameter)]
#[repr(C)]
pub struct Pair { first: f32, second: u64 }

#[kernel]
pub unsafe fn slices(a: &'static [Number], pair: Pair, b: &mut [u64], n: u32, one: &u16) {
    let at = thread::index_2d();
    let i = (at.y * n + at.x) as usize;
    if i < b.len() {
        b[i] = a[i] as u64 + pair.second + pair.first as u64 + u64::from(*one);
    }
}

#[kernel]
pub unsafe fn reverse(numbers: *mut f32) {
    #[address_space(shared)]
    static mut TILE: [[MaybeUninit<f32>; 8]; 4] = [[const { MaybeUninit::uninit() }; 8]; 4];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let more = shared_array![u32; 7];
    unsafe {
        *more.add(x % 7) = 5;
        TILE[y][x].write(*numbers.add(x));
        thread::sync_threads();
        *numbers.add(x) = TILE[y][7 - x].assume_init() + *more.add(y) as f32;
        *shared::dynamic_shared_mem::<f32>() = 1.0;
    }
}

#[kernel]
pub unsafe fn lanes(out: *mut u64, mask: u32) {
    let lane = thread::thread_idx_x();
    unsafe {
        let mut sum = u64::from(warp::warp_vote_ballot(mask, lane > 3));
        sum += u64::from(warp::warp_vote_all(mask, lane > 4)) + u64::from(warp::warp_vote_any(mask, lane > 5));
        sum += u64::from(warp::warp_match_any(mask, lane)) + u64::from(warp::warp_match_any(mask, sum));
        sum += u64::from(warp::warp_match_all(mask, lane as f32).unwrap_or(1));
        sum += warp::warp_shuffle_idx(mask, sum, 3, 16).0 + u64::from(warp::warp_shuffle_up(mask, lane, 1, 32).0);
        sum += u64::from(warp::warp_shuffle_down(mask, 1.5f32, 1, 8).1) + warp::warp_shuffle_xor(mask, 1u128, 1, 32).0 as u64;
        sum += u64::from(warp::warp_reduce(mask, lane, WarpReductionOp::Add));
        sum += warp::warp_reduce(mask, lane as i32, WarpReductionOp::Min) as u64;
        warp::sync_warp(mask);
        sum += u64::from(warp::activemask()) + u64::from(warp::lane_id());
        sum += u64::from(thread::sync_threads_count(lane)) + u64::from(thread::sync_threads_and(lane));
        *out.add(thread::index() as usize) = sum + u64::from(thread::sync_threads_or(lane));
    }
}

#[kernel]
pub unsafe fn atomics(whole: *mut u32, single: *mut f32, double: *mut f64) {
    unsafe {
        AtomicU32::from_ptr(whole).fetch_add(1, Ordering::Relaxed);
        AtomicF32::from_ptr(single).fetch_add(1.5, Ordering::Relaxed);
        AtomicF64::from_ptr(double).fetch_add(1.5, Ordering::AcqRel);
        AtomicF32::from_ptr(single).fetch_max(9.0, Ordering::Relaxed);
    }
}

#[kernel]
pub unsafe fn scoped(words: *mut u32, longs: *mut i64, single: *mut f32, double: *mut f64) {
    unsafe {
        BlockAtomicF32::from_ptr(single).fetch_add(1.5, Ordering::Acquire);
        BlockAtomicF64::from_ptr(double).fetch_sub(1.5, Ordering::Release);
        SystemAtomicF32::from_ptr(single).fetch_xor(1.5, Ordering::AcqRel);
        SystemAtomicF64::from_ptr(double).swap(1.5, Ordering::SeqCst);
        mid::atomic_fetch_and_u32_block(words, Ordering::Relaxed, 7);
        mid::atomic_fetch_min_i64_device(longs, Ordering::AcqRel, -7);
        mid::atomic_compare_and_swap_f64_block(double, 1.0, 2.0, Ordering::Acquire);
        mid::atomic_inc_bounded_relaxed_u32_device(words, 7);
        let word = mid::atomic_load_32_system(words, Ordering::Acquire);
        mid::atomic_store_32_block(words, Ordering::Release, word);
        mid::block_thread_fence(Ordering::AcqRel);
        mid::device_thread_fence(Ordering::SeqCst);
        intrinsics::membar_system();
    }
}

/// Loads and stores of every type, 16 bytes apart.
#[kernel]
pub unsafe fn types(from: *const u8, to: *mut u8) {
    let mut at = 0;
    macro_rules! each {
        ($($ty:ident)*) => {$(
            let number = unsafe { *from.add(at).cast::<$ty>() };
            unsafe { *to.add(at).cast::<$ty>() = number / (3 as $ty) };
            at += 16;
        )*};
    }
    each! { i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f32 f64 }
    unsafe { *to.add(at).cast::<bool>() = !*from.add(at).cast::<bool>() };
}

/// A barrier between two equal conditions.
#[kernel]
pub unsafe fn between(numbers: *mut f32) {
    let shared = shared_array![f32; 1];
    unsafe {
        if thread::thread_idx_x() == 0 {
            *shared = *numbers;
        }
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            *numbers = 2.0 * *shared;
        }
    }
}

#[kernel]
pub unsafe fn floats(x: &mut [f32], y: &mut [f64], bytes: &[u8], halves: &[i16]) {
    let i = thread::index_1d() as usize;
    let of = x[i];
    x[i] = of.sqrt() + of.exp() + of.sin() + of.ln().floor() / (1.0 + of * of) + of.powf(1.5) + of.mul_add(of, of).tanh();
    y[i] = y[i].sqrt() + y[i].exp() + y[i].cos() + f64::from(bytes[i]) + f64::from(halves[i]);
}

#[kernel]
pub unsafe fn checked(sum: *mut u32) {
    unsafe { *sum += thread::thread_idx_x() };
}

#[kernel]
pub unsafe fn prints(n: u32) {
    if thread::first() {
        println!("{} threads, {:?}", n, thread::block_dim());
        print!("{:>5.2}", 1.5f32);
    }
    cuda_std::assert_eq!(n / 2, 7);
    cuda_std::assert_ne!(n, 3);
}
"#;

/// A kernel that is named as its module is.
const ADD: &str =
    "#[cuda_std::kernel] pub unsafe fn add(a: &[i8], c: *mut i8) { unsafe { *c = a[0] } }\n";

fn write(krate: &Path, kernels: &str) {
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("cuda_std");
    let manifest = format!(
        "[package]\nname = \"like-rust-cuda\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n[features]\nextra = []\n\
         [dependencies]\ncuda_std = {{ package = \"cuda_std_rustc\", path = {cuda_std:?} }}\n[workspace]\n"
    );
    std::fs::create_dir_all(krate.join("src")).unwrap();
    std::fs::write(krate.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(krate.join("src/lib.rs"), kernels).unwrap();
    std::fs::write(krate.join("src/add.rs"), ADD).unwrap();
}

fn assemble(ptx: &Path) {
    let Some(ptxas) = std::env::var_os("PTXAS") else { return };
    let output = Command::new(ptxas).arg("-arch=sm_90").arg(ptx).args(["-o", "/dev/null"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

macro_rules! kernel_types {
    ($($name:ident($($parameter:ty),*))*) => {$(
        #[allow(non_camel_case_types)]
        struct $name {}

        // SAFETY: the kernel above takes these.
        unsafe impl cuda_kernel::Kernel for $name {
            type Parameters = ($($parameter,)*);
            const NAME: &'static str = stringify!($name);
        }
    )*};
}
kernel_types! {
    types(*const u8, *mut u8)
    between(*mut f32)
    scoped(*mut u32, *mut i64, *mut f32, *mut f64)
}

/// The emulator executes some of the kernels.
fn runs_as_it_is_written(ptx: &str) {
    let module = cuda_sim::Module::read(ptx).unwrap();
    let mut memory = cuda_sim::Memory::new();
    let config = cuda_sim::LaunchConfig { blocks: 1, threads: 1, ..Default::default() };

    let bytes: Vec<u8> = (0..16 * 12).map(|at| (at * 37 + 11) as u8).chain([1]).collect();
    let from = memory.input("from", &bytes);
    let to = memory.zeros::<u8>("to", bytes.len());
    module.launch::<types>(config, &mut memory, (from.as_ptr(), to.as_mut_ptr())).unwrap();
    let mut expected = vec![0; bytes.len()];
    let mut at = 0;
    macro_rules! each {
        ($($ty:ident)*) => {$(
            let size = size_of::<$ty>();
            let number = $ty::from_le_bytes(bytes[at..at + size].try_into().unwrap());
            expected[at..at + size].copy_from_slice(&(number / (3 as $ty)).to_le_bytes());
            at += 16;
        )*};
    }
    each! { i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f32 f64 }
    assert_eq!((memory.read(to), at), (expected, 16 * 12));

    let numbers = memory.in_out("numbers", &[3.0f32]);
    let warp = cuda_sim::LaunchConfig { threads: 32, ..config };
    module.launch::<between>(warp, &mut memory, (numbers.as_mut_ptr(),)).unwrap();
    assert_eq!(memory.read(numbers), [6.0]);

    let (words, longs) = (memory.in_out("words", &[13u32]), memory.in_out("longs", &[1i64]));
    let (single, double) = (memory.in_out("single", &[0.5f32]), memory.in_out("double", &[4.0f64]));
    let all = (words.as_mut_ptr(), longs.as_mut_ptr(), single.as_mut_ptr(), double.as_mut_ptr());
    module.launch::<scoped>(config, &mut memory, all).unwrap();
    // 13 & 7, and one more.
    assert_eq!((memory.read(words), memory.read(longs)), (vec![6], vec![-7]));
    let bits = memory.read(single)[0].to_bits();
    assert_eq!((bits, memory.read(double)), (2f32.to_bits() ^ 1.5f32.to_bits(), vec![1.5]));
}

/// One test, because each folder compiles `core` anew.
#[test]
fn kernels_of_rust_cuda_become_ptx() {
    if let Err(error) = Compiler::find() {
        assert!(std::env::var_os("REQUIRE_DEVICE_COMPILER").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("kernels");
    write(&krate, KERNELS);
    let copy = folder.path().join("kernels.ptx");
    let builder = CudaBuilder::new(&krate).target_dir(folder.path().join("target"));
    let builder = builder.kept_in(folder.path().join("kept")).copy_to(&copy);
    let built = builder.clone().build().unwrap();
    assert_eq!(
        (built.arch, NvvmArch::Compute80),
        (Chip::Sm80, Chip::Sm80),
        "everything later runs it"
    );
    let ptx = std::fs::read_to_string(&copy).unwrap();
    assemble(&copy);

    // A slice is an address and a length; all else is one parameter.
    let entry = |name: &str| {
        let rest = ptx.split_once(&format!(".visible .entry {name}(")).unwrap().1;
        let list = rest.split_once(')').unwrap().0;
        let list = list.replace(".ptr .align 1 ", "").replace(".ptr .align 2 ", "");
        list.lines()
            .map(|line| line.trim().trim_end_matches(',').to_owned())
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
    };
    let types = [".u64", ".u64", ".align 8 .b8", ".u64", ".u64", ".u32", ".u64"];
    let found = entry("slices");
    assert_eq!(found.len(), types.len(), "{found:?}");
    for (at, (found, ty)) in found.iter().zip(types).enumerate() {
        assert!(found.starts_with(&format!(".param {ty} slices_param_{at}")), "{found}");
    }
    assert_eq!(entry("add").len(), 3);
    for text in [
        ".shared .align 4 .b8 __cuda_shared_TILE_",
        "[128];",
        ".shared .align 4 .b8 __cuda_shared_ARRAY_",
        "[28];",
        "vote.sync.ballot.b32",
        "match.any.sync.b64",
        "match.all.sync.b32",
        "shfl.sync.up.b32",
        "redux.sync.min.s32",
        "bar.red.popc.u32",
        "atom.relaxed.gpu.add.f32",
        "atom.acq_rel.gpu.add.f64",
        "atom.acquire.cta.add.f32",
        "atom.release.cta.add.f64",
        "atom.acq_rel.sys.xor.b32",
        "fence.sc.sys;",
        "atom.acquire.sys.exch.b64",
        "atom.relaxed.cta.and.b32",
        "atom.acq_rel.gpu.min.s64",
        "atom.acquire.cta.cas.b64",
        "atom.relaxed.gpu.inc.u32",
        "ld.acquire.sys.b32",
        "st.release.cta.b32",
        "fence.acq_rel.cta;",
        "fence.sc.gpu;",
        "membar.sys;",
        "sqrt.rn.f32",
        "sqrt.rn.f64",
        "vprintf",
        "%tid.y",
        "ld.global.b8",
    ] {
        assert!(ptx.contains(text), "{text} is not in\n{ptx}");
    }
    assert!(!ptx.contains(".global .align 4 .b8 __cuda_shared"), "{ptx}");

    runs_as_it_is_written(&ptx);

    // rustc's pass `JumpThreading` would write it twice.
    let body = ptx.split_once(".entry between(").unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    assert_eq!(
        body.matches("\tbar.sync").count() + body.matches("\tbarrier.sync").count(),
        1,
        "{body}"
    );

    // The options.
    let module = folder.path().join("module.ll");
    builder.clone().final_module_path(&module).build().unwrap();
    assert!(std::fs::read_to_string(&module).unwrap().contains("define ptx_kernel void @slices("));
    let fast = builder.clone().ftz(true).fast_sqrt(true).fast_div(true).fma_contraction(true);
    fast.build().unwrap();
    let approximate = std::fs::read_to_string(&copy).unwrap();
    for text in ["sqrt.approx.ftz.f32", "div.full.ftz.f32", "mul.ftz.f32"] {
        assert!(approximate.contains(text), "{text} is not in\n{approximate}");
    }
    assemble(&copy);
    let traps = |ptx: &str| {
        let body = ptx.split_once(".entry checked(").unwrap().1;
        body.split_once("\n}").unwrap().0.contains("trap;")
    };
    builder.clone().release(false).generate_line_info(true).build().unwrap();
    let lines = std::fs::read_to_string(&copy).unwrap();
    assert!(lines.contains("src/lib.rs") && lines.contains("vprintf"), "prints, with lines");
    assert!(traps(&lines) && !traps(&ptx), "a release does not check sums");
    assemble(&copy);
    write(&krate, "#[cfg(feature = \"extra\")] mod add;\n");
    builder.clone().build_args(&["--features=extra"]).build().unwrap();
    assert!(std::fs::read_to_string(&copy).unwrap().contains(".entry add("));

    // The address of a name is not that of the memory.
    let taken = "#[cuda_std::kernel] pub unsafe fn k(out: *mut u64) {
        #[cuda_std::address_space(shared)]
        static mut TILE: [core::mem::MaybeUninit<u64>; 4] = [core::mem::MaybeUninit::uninit(); 4];
        unsafe { *out = *(&raw mut TILE).cast::<u64>() }
    }";
    write(&krate, taken);
    let error = builder.clone().build().unwrap_err();
    assert!(
        matches!(&error, BuildError::SharedAddress { names, .. } if *names == ["TILE"]),
        "{error}"
    );
    write(&krate, &taken.replace("&raw mut TILE", "&raw mut *TILE"));
    builder.clone().build().unwrap();

    // `unwrap` shows an error as it was written, and the macro refuses by what a type is.
    write(
        &krate,
        "type Hidden = (u8, u32);\n#[cuda_std::kernel]\npub unsafe fn k(pair: Hidden) {}\n",
    );
    let text = format!("{:?}", builder.build().unwrap_err());
    assert!(
        text.contains("\nerror[E0277]: `(u8, u32)` cannot be a kernel's parameter\n --> "),
        "{text}"
    );
    assert!(text.contains("3 | pub unsafe fn k(pair: Hidden) {}\n"), "{text}");
}
