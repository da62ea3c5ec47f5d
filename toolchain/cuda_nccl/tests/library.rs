// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything against a library that stands for NCCL, and against what is no NCCL. Each test starts itself
//! again with such a library in NCCL_LIBRARY, because NCCL is loaded for a whole process.
#![allow(unsafe_code, reason = "exchanges, and asks the library")]

use cuda_nccl::{Communicator, Error, LoadError, Message, Nccl, UniqueId, load};
use libloading::Library;
use std::ffi::{CString, OsStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles C to a shared library in a folder.
fn library(folder: &Path, source: &Path, options: &[&str]) -> PathBuf {
    let path = folder.join("nccl.so");
    let output = Command::new(std::env::var_os("CC").unwrap_or("gcc".into()))
        .args(["-shared", "-fPIC", "-pthread", "-Wall", "-Werror"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// Runs a test of this file in a process with a library in NCCL_LIBRARY.
fn run(test: &str, library: impl AsRef<OsStr>) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env("NCCL_LIBRARY", library)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

fn run_with_stand_in(test: &str, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/nccl.c");
    run(test, library(folder.path(), &source, options));
}

#[test]
fn a_missing_library_is_named_with_a_remedy() {
    run("missing", "/nowhere/libnccl.so.2");
}

#[test]
#[ignore = "started by the test above"]
fn missing() {
    let error = load().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("no NCCL: /nowhere/libnccl.so.2 cannot be loaded (/now"), "{text}");
    assert!(text.contains("No such file or directory"), "{text}");
    assert!(text.contains("install NCCL"), "{text}");
    assert!(text.ends_with("or name its library in NCCL_LIBRARY"), "{text}");
    assert_eq!(load().unwrap_err(), error, "the first answer stays");
}

#[test]
fn a_library_that_is_no_nccl_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("no_nccl.c");
    std::fs::write(&source, "int ncclGetVersion(int *v) { *v = 2604; return 0; }").unwrap();
    run("unusable", library(folder.path(), &source, &[]));
}

#[test]
#[ignore = "started by the test above"]
fn unusable() {
    let error = load().unwrap_err();
    assert!(matches!(error, LoadError::Unusable { function: "ncclGetUniqueId", .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("nccl.so is no usable NCCL: it has no function ncclGetUniqueId"),
        "{text}"
    );
    assert!(text.contains("install NCCL 2.7 or later"), "{text}");
}

#[test]
fn an_exchange_is_one_group_in_order() {
    run_with_stand_in("exchanges", &["-DLAST_ERROR"]);
}

#[test]
#[ignore = "started by the test above"]
fn exchanges() {
    let nccl = load().unwrap();
    assert_eq!(nccl.version(), Ok((2, 23, 4)));
    let communicator = alone(nccl);
    assert_eq!((communicator.rank(), communicator.size()), (0, 1));
    assert_eq!(calls(), "version\nid\njoin 0 of 1, id 1\n");

    let message = |address, bytes, peer| Message { address, bytes, peer };
    let sends = [message(0x1000, 64, 2), message(0x2000, 8, 1), message(0x3000, 0, 3)];
    let receives = [message(0x4000, 64, 2), message(0x5000, 0, 1), message(0x6000, 16, 0)];
    exchange(&communicator, &sends, &receives).unwrap();
    let expected = "start
send 0x1000 64 of 1 to 2, 0x100 0x77
send 0x2000 8 of 1 to 1, 0x100 0x77
receive 0x4000 64 of 1 from 2, 0x100 0x77
receive 0x6000 16 of 1 from 0, 0x100 0x77
end
";
    assert_eq!(calls(), expected);
    exchange(&communicator, &sends[2..], &receives[1..2]).unwrap();
    assert_eq!(calls(), "", "no bytes, no group");
    exchange(&communicator, &[], &receives[2..]).unwrap();
    assert_eq!(calls(), "start\nreceive 0x6000 16 of 1 from 0, 0x100 0x77\nend\n");

    communicator.check().unwrap();
    state(7);
    communicator.check().unwrap();
    drop(communicator);
    assert_eq!(calls(), "state 0x100\nstate 0x100\ndestroy 0x100\n");
    let communicator = alone(nccl);
    communicator.abort().unwrap();
    assert_eq!(calls(), "id\njoin 0 of 1, id 1\nabort 0x100\n");
}

#[test]
fn failures_are_described_and_end_in_an_abort() {
    run_with_stand_in("failures", &["-DLAST_ERROR"]);
}

#[test]
#[ignore = "started by the test above"]
fn failures() {
    let nccl = load().unwrap();
    let debug = "(run with NCCL_DEBUG=WARN for details)";
    for (name, code, expected) in [
        ("id", 4, format!("NCCL cannot make an identifier: invalid argument {debug} (error 4)")),
        ("join", 4, format!("NCCL cannot join as rank 0 of 1: invalid argument {debug} (error 4)")),
    ] {
        fail(name, code);
        let made = nccl.unique_id().and_then(|id| Communicator::new(nccl, 0, 1, id));
        assert_eq!(made.unwrap_err().to_string(), expected);
    }
    fail("", 0);

    let message = Message { address: 0x10, bytes: 64, peer: 1 };
    let rest = "; run with NCCL_DEBUG=WARN in the environment to learn more";
    for (name, action, made) in [
        ("start", "begin an exchange", "start"),
        ("send", "send 64 bytes to rank 1", "start send end"),
        ("receive", "receive 64 bytes from rank 1", "start send receive end"),
        ("end", "queue an exchange", "start send receive end"),
    ] {
        let communicator = alone(nccl);
        calls();
        fail(name, 5);
        let error = exchange(&communicator, &[message], &[message]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("NCCL cannot {action}: another error (error 5){rest}")
        );
        drop(communicator);
        let calls = calls();
        let names: Vec<_> = calls.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(names.join(" "), format!("{made} abort"));
        fail("", 0);
    }

    // A rank that is gone.
    let communicator = alone(nccl);
    fail("no call", 6);
    state(6);
    let error = communicator.check().unwrap_err();
    let expected = Error {
        action: "finish an exchange".into(),
        code: 6,
        reason: "remote process exited: link 3 is down".into(),
    };
    assert_eq!(error, expected);
    calls();
    drop(communicator);
    assert_eq!(calls(), "abort 0x100\n");

    // A thread that panics.
    state(0);
    let panicking = std::thread::spawn(move || {
        let _communicator = alone(nccl);
        panic!("on purpose");
    });
    panicking.join().unwrap_err();
    assert!(calls().ends_with("abort 0x100\n"));
}

#[test]
fn an_older_nccl_describes_errors_too() {
    run_with_stand_in("older", &[]);
}

#[test]
#[ignore = "started by the test above"]
fn older() {
    let nccl = load().unwrap();
    fail("version", 6);
    let error = nccl.version().unwrap_err();
    assert_eq!((error.code, &*error.reason), (6, "remote process exited"));
}

#[test]
fn threads_join_at_the_same_time() {
    run_with_stand_in("threads", &[]);
}

#[test]
#[ignore = "started by the test above"]
fn threads() {
    let id = load().unwrap().unique_id().unwrap();
    let join = |rank| move || Communicator::new(load().unwrap(), rank, 3, id).unwrap();
    let threads = [0, 1, 2].map(|rank| std::thread::spawn(join(rank)));
    let ranks = threads.map(|thread| thread.join().unwrap().rank());
    assert_eq!(ranks, [0, 1, 2]);
}

#[test]
fn an_identifier_is_its_bytes() {
    let bytes = std::array::from_fn(|at| at as u8);
    let id = UniqueId::from_bytes(bytes);
    assert_eq!((id.to_bytes(), format!("{id:?}")), (bytes, "UniqueId { .. }".into()));
}

fn alone(nccl: &'static Nccl) -> Communicator {
    Communicator::new(nccl, 0, 1, nccl.unique_id().unwrap()).unwrap()
}

fn exchange(
    communicator: &Communicator,
    sends: &[Message],
    receives: &[Message],
) -> Result<(), Error> {
    // SAFETY: the stand-in follows no address.
    unsafe { communicator.exchange(sends, receives, std::ptr::without_provenance_mut(0x77)) }
}

/// The stand-in, which is loaded already.
fn stand_in() -> Library {
    // SAFETY: it has no initialisers.
    unsafe { Library::new(std::env::var_os("NCCL_LIBRARY").unwrap()).unwrap() }
}

/// The calls since the last time.
fn calls() -> String {
    let mut text = vec![0u8; 4096];
    // SAFETY: the function writes at most as many bytes.
    unsafe {
        let library = stand_in();
        let calls = library.get::<unsafe extern "C" fn(*mut u8, usize)>(b"standInCalls").unwrap();
        calls(text.as_mut_ptr(), text.len());
    }
    let end = text.iter().position(|&byte| byte == 0).unwrap();
    String::from_utf8(text[..end].to_vec()).unwrap()
}

/// Lets calls of a name fail from now on.
fn fail(name: &str, code: c_int) {
    let name = CString::new(name).unwrap();
    // SAFETY: the function reads a text and a number.
    unsafe {
        let library = stand_in();
        let fail = library.get::<unsafe extern "C" fn(*const c_char, c_int)>(b"standInFail");
        fail.unwrap()(name.as_ptr(), code);
    }
}

/// The state that communicators tell from now on.
fn state(code: c_int) {
    // SAFETY: the function takes a number.
    unsafe { stand_in().get::<unsafe extern "C" fn(c_int)>(b"standInState").unwrap()(code) }
}
