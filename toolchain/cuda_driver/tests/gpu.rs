// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Gpu`, `Buffer` and `Module` against a library that stands for the driver. The test starts itself
//! again with that library in its path, because a driver is loaded for a whole process.
#![allow(unsafe_code, reason = "launches kernels, and asks the library")]

use cuda_driver::{CallError, Error, Extents, Extents3d, Gpu, Kernel, Kernels};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use std::process::Command;

/// A kernel of the stand-in: `out = a + b`.
#[allow(non_camel_case_types)]
struct add {}

// SAFETY: the stand-in's kernel takes these.
unsafe impl Kernel for add {
    type Parameters = (*const f32, *const f32, *mut f32, u32);
    const NAME: &'static str = "add";
}

/// A kernel of the stand-in that writes down how many blocks and threads it has along each dimension.
#[allow(non_camel_case_types)]
struct extents {}

// SAFETY: the stand-in's kernel takes this.
unsafe impl Kernel for extents {
    type Parameters = (*mut u32,);
    const NAME: &'static str = "extents";
}

/// A kernel of the stand-in that fails once it runs, and one that it does not have.
struct Nothing<const EXISTS: bool>;

// SAFETY: the stand-in's kernel takes nothing.
unsafe impl<const EXISTS: bool> Kernel for Nothing<EXISTS> {
    type Parameters = ();
    const NAME: &'static str = if EXISTS { "fail" } else { "missing" };
}

/// As `cuda_builder` leaves it in a program.
fn packed(ptx: &str) -> &'static [u8] {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(ptx.as_bytes()).unwrap();
    encoder.finish().unwrap().leak()
}

fn for_chips<const N: usize>(code: [(&'static str, &str); N]) -> Kernels {
    let code = code.map(|(chip, ptx)| (chip, packed(ptx)));
    Kernels::new(("rustc", code.to_vec().leak()))
}

#[test]
fn everything_reaches_the_driver_and_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_in/driver.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", source, "-o"])
        .arg(folder.path().join("libcuda.so.1"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "in_a_process_with_the_stand_in"])
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "started by the test above"]
fn in_a_process_with_the_stand_in() {
    let gpu = Gpu::open().unwrap();
    assert_eq!((gpu.name(), gpu.compute_capability()), ("Stand-In", (8, 9)));

    // An 8.9 takes the code for sm_80.
    let kernels = gpu.load(for_chips([("sm_80", ".version 8.6"), ("sm_90", "wrong")])).unwrap();
    assert_eq!(
        text(gpu.load(for_chips([("sm_90", "wrong")]))),
        "the kernels are for sm_90; they do not run on Stand-In, of compute capability 8.9"
    );
    assert_eq!(
        text(gpu.load(Kernels::new(("no compiler", &[])))),
        "this program was built without GPU kernels: no compiler"
    );
    let refused = text(gpu.load_ptx("wrong"));
    assert!(refused.starts_with("cuModuleLoadDataEx failed with CUDA error 218"), "{refused}");
    assert!(refused.ends_with("\nptxas fatal: no version"), "{refused}");

    let (a, b) = (gpu.upload(&[1.0, 2.0, 3.0]).unwrap(), gpu.upload(&[0.5f32; 3]).unwrap());
    let mut sums = gpu.zeros::<f32>(3).unwrap();
    assert_eq!(sums.read().unwrap(), [0.0; 3]);
    let one = |shared_bytes| Extents { blocks: 1, threads: 32, shared_bytes };
    let mut launch = |shared_bytes| {
        // SAFETY: three arrays of three numbers.
        unsafe {
            let parameters = (a.as_ptr(), b.as_ptr(), sums.as_mut_ptr(), 3);
            kernels.launch::<add>(one(shared_bytes), parameters)
        }
    };
    launch(0).unwrap();
    launch(64 << 10).unwrap();
    let error = launch(300 << 10).unwrap_err();
    let Error::Call(CallError { call, status, .. }) = &error else { panic!("{error}") };
    assert_eq!((*call, *status), ("cuFuncSetAttribute", 1));
    assert_eq!(error.to_string(), "cuFuncSetAttribute failed with CUDA error 1: from the library");
    assert_eq!(sums.read().unwrap(), [1.5, 2.5, 3.5]);
    assert_eq!(gpu.milliseconds(|| gpu.wait()).unwrap(), 1.0);

    let mut found = gpu.zeros::<u32>(7).unwrap();
    for (grid, block, expected) in [
        (5.into(), 96.into(), [5, 1, 1, 96, 1, 1]),
        ((5, 4).into(), (32, 8).into(), [5, 4, 1, 32, 8, 1]),
        ((5, 4, 3).into(), (7, 2, 3).into(), [5, 4, 3, 7, 2, 3]),
    ] {
        let launched = Extents3d { grid, block, shared_bytes: 16 };
        // SAFETY: room for seven numbers.
        unsafe { kernels.launch::<extents>(launched, (found.as_mut_ptr(),)).unwrap() };
        assert_eq!(found.read().unwrap(), [&expected[..], &[16]].concat());
    }
    drop(found);

    // SAFETY: they take nothing.
    let (failing, missing) = unsafe {
        (kernels.launch::<Nothing<true>>(one(0), ()), kernels.launch::<Nothing<false>>(one(0), ()))
    };
    assert!(failing.is_ok(), "it fails when it runs");
    assert_eq!(text(gpu.wait()), "cuCtxSynchronize failed with CUDA error 700: another error");
    assert_eq!(text(missing), "there is no kernel `missing` among those loaded");

    assert!(gpu.upload::<u8>(&[]).unwrap().read().unwrap().is_empty());
    assert!(text(gpu.zeros::<u8>(1 << 41)).contains("cuMemAlloc_v2"));
    assert!(text(gpu.zeros::<u64>((1 << 61) + 1)).contains("cuMemAlloc_v2"));

    // The context, the module and three buffers; then nothing.
    assert_eq!(live(), 5);
    drop((a, b, sums, kernels));
    assert_eq!(live(), 1);
    drop(gpu);
    assert_eq!(live(), 0);
}

fn text<T>(found: Result<T, Error>) -> String {
    found.map(|_| ()).unwrap_err().to_string()
}

/// What the stand-in has given out.
fn live() -> u32 {
    // SAFETY: the library is loaded already; the function takes nothing and returns a number.
    unsafe {
        let library = libloading::Library::new("libcuda.so.1").unwrap();
        library.get::<extern "C" fn() -> u32>(b"standInLive").unwrap()()
    }
}
