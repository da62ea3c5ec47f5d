// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles a small kernel crate, where there is a device compiler.

use cuda_builder::{BuildError, Chip, Compiler, CudaBuilder};
use std::path::Path;

const MANIFEST: &str = r#"
[package]
name = "tiny-kernels"
version = "0.1.0"
edition = "2024"
[dependencies]
helper = { path = "helper" }
[workspace]
"#;

const HELPER_MANIFEST: &str = r#"
[package]
name = "helper"
version = "0.1.0"
edition = "2024"
"#;

const HELPER: &str = "
#![no_std]
pub const fn scale(x: u32) -> u32 { x.wrapping_mul(3) }
pub const MARK: u32 = match option_env!(\"CUDA_ARCH\") {
    Some(name) if name.len() == 5 => 7_000_080,
    Some(name) if name.len() == 6 => 7_000_090,
    _ => 0,
};
";

/// A kernel around `body`, which uses `i`, `n` and `out`.
fn kernel(body: &str) -> String {
    format!(
        r#"
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
mod thread {{ pub fn index() -> u32 {{ unsafe {{ core::arch::nvptx::_thread_idx_x() as u32 }} }} }}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn tiny(out: *mut u32, n: u32) {{
    let i = thread::index();
    {body}
}}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {{ loop {{}} }}
"#
    )
}

const GOOD: &str =
    "if i < n { unsafe { *out.add(i as usize) = helper::scale(i) / n + helper::MARK } }";

fn write(folder: &Path, body: &str) {
    for (file, text) in [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", &kernel(body)),
        ("helper/Cargo.toml", HELPER_MANIFEST),
        ("helper/src/lib.rs", HELPER),
    ] {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Whether to go on: without a device compiler the test is skipped, or fails where one is required.
fn has_compiler() -> bool {
    match Compiler::find() {
        Ok(_) => true,
        Err(error) if std::env::var_os("REQUIRE_DEVICE_COMPILER").is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            false
        }
    }
}

/// One test, because each folder compiles `core` anew.
#[test]
fn a_kernel_crate_becomes_ptx() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("tiny kernels");
    let target = folder.path().join("target");
    let copy = folder.path().join("tiny.ptx");
    let builder = CudaBuilder::new(&krate).arch(Chip::Sm80).target_dir(&target);
    let builder = builder.kept_in(folder.path().join("kept")).copy_to(&copy);

    write(&krate, GOOD);
    let built = builder.clone().build().unwrap();
    assert_eq!((built.ptx.as_path(), built.arch), (copy.as_path(), Chip::Sm80));
    assert!(built.compiler.starts_with("rustc 1."), "{}", built.compiler);
    let ptx = std::fs::read_to_string(&copy).unwrap();
    assert!(ptx.contains(".visible .entry tiny("), "{ptx}");
    assert!(ptx.contains(".target sm_80"), "{ptx}");
    assert!(ptx.contains(".version 8.6"), "{ptx}");
    let real = krate.canonicalize().unwrap();
    for file in ["src/lib.rs", "helper/src/lib.rs", "Cargo.toml", "helper/Cargo.toml"] {
        assert!(built.sources.contains(&real.join(file)), "{file}: {:?}", built.sources);
    }

    assert!(ptx.contains("7000080"), "the helper knows the chip: {ptx}");

    // Another chip leaves the first one's PTX alone, and comes to no other result after it.
    let other = folder.path().join("other.ptx");
    let for_sm_90a = builder.clone().arch(Chip::Sm90a).copy_to(&other);
    for _ in 0..2 {
        for_sm_90a.clone().build().unwrap();
        let ptx = std::fs::read_to_string(&other).unwrap();
        assert!(ptx.contains(".target sm_90a") && ptx.contains("7000090"), "{ptx}");
        builder.clone().build().unwrap();
    }
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), ptx);

    // For chips after sm_90 the compiler makes the same, but for the header.
    let plain = "if i < n { unsafe { *out.add(i as usize) = helper::scale(i) / n } }";
    write(&krate, plain);
    let without_header = |chip| {
        let built = builder.clone().arch(chip).copy_to(&other).build().unwrap();
        let ptx = std::fs::read_to_string(built.ptx).unwrap();
        let is_header = |line: &&str| line.starts_with(".version") || line.starts_with(".target");
        ptx.lines().filter(|line| !is_header(line)).collect::<Vec<_>>().join("\n")
    };
    let of_sm_90 = without_header(Chip::Sm90);
    for chip in Chip::ALL.into_iter().filter(|chip| *chip > Chip::Sm90) {
        assert_eq!(without_header(chip), of_sm_90, "{chip}");
    }
    write(&krate, GOOD);
    builder.clone().build().unwrap();

    // Unchanged sources leave the copy alone; a change in a dependency reaches it.
    let modified = || std::fs::metadata(&copy).unwrap().modified().unwrap();
    let before = modified();
    builder.clone().build().unwrap();
    assert_eq!(modified(), before);
    std::fs::write(krate.join("helper/src/lib.rs"), HELPER.replace("mul(3)", "mul(1234567)"))
        .unwrap();
    builder.clone().build().unwrap();
    assert!(std::fs::read_to_string(&copy).unwrap().contains("1234567"));

    // A compile error is shown whole.
    write(&krate, "let _: u32 = \"text\"; let _ = (i, n, out, helper::scale(1));");
    let text = builder.clone().build().unwrap_err().to_string();
    assert!(text.contains("does not compile for sm_80 with rustc 1."), "{text}");
    assert!(text.contains("error[E0308]: mismatched types"), "{text}");
    assert!(text.contains("src/lib.rs:8:"), "{text}");

    // A function that nobody defines is refused.
    write(
        &krate,
        "unsafe extern \"C\" { fn nowhere(x: u32) -> u32; }
         unsafe { *out = nowhere(i + n + helper::scale(1)) }",
    );
    let error = builder.build().unwrap_err();
    assert!(matches!(&error, BuildError::Unresolved { names, .. } if *names == ["nowhere"]));
    assert!(error.to_string().contains("do not exist on the device: nowhere"), "{error}");

    a_program_with_kernels_compiles_itself(&folder.path().join("program"), &target);
}

/// A program whose own build script compiles its kernels: `std` is there for the host only, the build
/// script does not run again, and what only the host needs is not compiled.
fn a_program_with_kernels_compiles_itself(krate: &Path, target: &Path) {
    write(krate, "");
    let host = format!(
        "{}\n[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\n\
         of-the-host = {{ path = \"host\" }}\n\
         [build-dependencies]\ncuda_builder = {{ package = \"cuda_builder_rustc\", path = {:?} }}\n",
        MANIFEST.replace("[workspace]", ""),
        env!("CARGO_MANIFEST_DIR"),
    );
    let program = kernel(GOOD).replace("#![no_std]", "").replace(
        "#[panic_handler]",
        "#[cfg(not(target_arch = \"nvptx64\"))] fn main() { println!(\"{}\", of_the_host::NAME) }\n\
         #[panic_handler]",
    );
    std::fs::remove_file(krate.join("src/lib.rs")).unwrap();
    for (file, text) in [
        ("Cargo.toml", &*format!("{host}[workspace]\n")),
        ("src/main.rs", &program),
        ("build.rs", "fn main() { panic!(\"the inner build runs the build script\") }"),
        ("host/Cargo.toml", &HELPER_MANIFEST.replace("helper", "of-the-host")),
        ("host/src/lib.rs", "pub const NAME: &str = \"host\"; compile_error!(\"for the host\");"),
    ] {
        std::fs::create_dir_all(krate.join(file).parent().unwrap()).unwrap();
        std::fs::write(krate.join(file), text).unwrap();
    }
    let built = CudaBuilder::new(krate).arch(Chip::Sm80).target_dir(target);
    let built = built.kept_in(target.join("kept")).build().unwrap();
    let ptx = std::fs::read_to_string(&built.ptx).unwrap();
    assert!(ptx.contains(".visible .entry tiny(") && ptx.contains("7000080"), "{ptx}");
    assert!(built.sources.contains(&krate.canonicalize().unwrap().join("src/main.rs")));
    assert!(built.sources.iter().all(|file| file.exists()), "{:?}", built.sources);
}

#[test]
fn a_missing_crate_is_named() {
    let error = CudaBuilder::new("/no/such/crate").build().unwrap_err();
    assert_eq!(error.to_string(), "no kernel crate: /no/such/crate/Cargo.toml does not exist");
}
