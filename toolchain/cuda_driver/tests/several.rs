// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers, events, streams and copies of boxes against a library that stands for the driver and two GPUs.
//! The test starts itself again with that library in its path, because a driver is loaded for a whole
//! process.
#![allow(unsafe_code, reason = "queues copies, and asks the library")]

use cuda_driver::{
    Allocation, BoxExtent, BoxPlace, Context, Device, Loaded, Stream, StreamEvent, can_access,
    copy_box, copy_box_peer, copy_peer, enable_access, synchronize,
};
use std::process::Command;

#[test]
fn calls_reach_the_driver_with_their_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_in/several.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc)
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            "-Cpanic=abort",
            "--cfg=own_events",
            source,
            "-o",
        ])
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
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

#[test]
#[ignore = "started by the test above"]
fn in_a_process_with_the_stand_in() {
    assert!(Device::count().unwrap() > 0);
    let error = synchronize().unwrap_err();
    assert_eq!((error.call, error.status), ("cuCtxSynchronize", 201));

    let devices = [0, 1].map(|ordinal| Device::nth(ordinal).unwrap());
    let [first, second] = devices.map(|device| Context::new(device).unwrap());
    assert_ne!(first.as_raw(), second.as_raw());
    let ways = [(0, 0), (0, 1), (1, 0)].map(|(a, b)| can_access(devices[a], devices[b]));
    assert_eq!(ways, [Ok(true), Ok(true), Ok(false)]);

    first.make_current().unwrap();
    for peer in [&first, &second, &second] {
        enable_access(peer).unwrap();
    }
    assert_eq!(calls(), "enable 0xc1 0\nenable 0xc1 0\n");

    let stream = Stream::non_blocking(&first, -2).unwrap();
    let name = stream.as_raw();
    assert_eq!(calls(), format!("create {name:?} 1 -2\n"));
    events(&first, &stream);
    copies(&stream, [&first, &second]);

    // A stream and two contexts; then nothing, although the stream is dropped last.
    assert_eq!(live(), 3);
    drop((first, second, stream));
    assert_eq!(live(), 0);
    contexts_last_as_long_as_what_is_in_them(devices);
}

/// Whatever goes first, and wherever it goes.
fn contexts_last_as_long_as_what_is_in_them(devices: [Device; 2]) {
    assert_eq!(synchronize().unwrap_err().status, 709, "the thread's context has ended");
    let [first, second] = devices.map(|device| Context::open(device).unwrap());
    first.make_current().unwrap();
    let in_second = (
        Allocation::of(&second, &[1u8, 2, 3]).unwrap(),
        Allocation::uninit(&second, 0).unwrap(),
        StreamEvent::new(&second).unwrap(),
        StreamEvent::timed(&second).unwrap(),
        Stream::new(&second, 0).unwrap(),
    );
    let kernels = Loaded::new(&second, ".version 8.6", 64).unwrap();
    // Two contexts, and six things.
    assert_eq!(live(), 8);
    drop(second);
    assert_eq!(live(), 8);

    // A thread without a context, which has none afterwards.
    let kept = std::thread::spawn(move || {
        let (mut memory, empty, event, timed, stream) = in_second;
        memory.fill(7).unwrap();
        let mut read = [0; 3];
        memory.read(&mut read).unwrap();
        assert_eq!(read, [7; 3]);
        drop((empty, event, timed, stream));
        assert_eq!(synchronize().unwrap_err().status, 201);
        memory
    });
    let kept = kept.join().unwrap();
    assert_eq!(live(), 4);

    // One with another context, which is its own afterwards.
    drop((kept, kernels));
    assert_eq!(live(), 1);
    assert_eq!(synchronize(), Ok(()));
    {
        let _current = first.enter().unwrap();
        drop(first);
        assert_eq!((live(), synchronize()), (1, Ok(())));
    }
    assert_eq!(live(), 0);
}

fn events(context: &Context, stream: &Stream) {
    let event = StreamEvent::new(context).unwrap();
    event.record(stream).unwrap();
    assert_eq!([event.is_done(), event.is_done()], [Ok(false), Ok(true)]);
    let handle = event.handle();
    std::thread::scope(|scope| {
        // SAFETY: the event lives until the thread has ended.
        scope.spawn(move || unsafe {
            let _current = context.enter().unwrap();
            handle.wait_on(stream).unwrap();
            assert!(handle.is_done().unwrap());
        });
    });
    event.wait_on(stream).unwrap();
    assert_eq!(live(), 4);
    drop(event);
    assert_eq!(live(), 3);
    let stream = stream.as_raw();
    let calls = calls();
    let event = calls.split_whitespace().nth(1).unwrap();
    let wait = format!("wait {stream:?} {event} 0\n");
    assert_eq!(calls, format!("event {event} 2\nrecord {event} {stream:?}\n{wait}{wait}"));
}

fn copies(stream: &Stream, [first, second]: [&Context; 2]) {
    let from: Vec<u8> = (0..240).collect();
    let address = |bytes: &[u8]| bytes.as_ptr() as u64;
    let name = stream.as_raw();

    // 3 rows of 4 bytes in 2 planes.
    let extent = BoxExtent { width: 4, rows: 3, planes: 2 };
    let source = BoxPlace { address: address(&from) + 5, row_pitch: 10, plane_pitch: 120 };
    let mut expected = vec![0u8; 60];
    for (plane, row) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let start = 5 + 120 * plane + 10 * row;
        expected[30 * plane + 6 * row..][..4].copy_from_slice(&from[start..start + 4]);
    }
    let copied = |copy: &dyn Fn(BoxPlace)| {
        let mut to = vec![0u8; 60];
        let address = to.as_mut_ptr() as u64;
        copy(BoxPlace { address, row_pitch: 6, plane_pitch: 30 });
        (to, calls())
    };
    // SAFETY: both boxes lie in their arrays, and the stand-in copies at once.
    let (to, made) = copied(&|to| unsafe { copy_box(extent, source, to, stream).unwrap() });
    assert_eq!((to, made), (expected.clone(), format!("box 4x3x2 {name:?}\n")));
    let between = |to, to_context| {
        // SAFETY: as above.
        unsafe { copy_box_peer(extent, (source, first), (to, to_context), stream).unwrap() }
    };
    let (to, made) = copied(&|to| between(to, second));
    assert_eq!((to, made), (expected.clone(), format!("peer box 0xc1 0xc0 4x3x2 {name:?}\n")));
    let (to, made) = copied(&|to| between(to, first));
    assert_eq!((to, made), (expected, format!("box 4x3x2 {name:?}\n")));

    // Without gaps, and a line.
    let line = BoxExtent { width: 10, rows: 3, planes: 1 };
    let (to, made) = copied(&|to| {
        let to = BoxPlace { row_pitch: 10, ..to };
        // SAFETY: as above.
        unsafe {
            copy_box(line, source, to, stream).unwrap();
            copy_box_peer(line, (source, first), (to, second), stream).unwrap();
        }
    });
    assert_eq!(to[..30], from[5..35]);
    assert_eq!(made, format!("copy 30 {name:?}\npeer 0xc1 0xc0 30 {name:?}\n"));
    let (to, made) = copied(&|to| {
        let (to, from) = (to.address, address(&from));
        // SAFETY: as above.
        unsafe {
            copy_peer(to, first, from, second, 7, stream).unwrap();
            copy_peer(to + 7, first, from + 7, first, 2, stream).unwrap();
            copy_peer(to, first, from, second, 0, stream).unwrap();
        }
    });
    assert_eq!(to[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    assert_eq!(made, format!("peer 0xc0 0xc1 7 {name:?}\ncopy 2 {name:?}\n"));
}

/// The calls since the last time.
fn calls() -> String {
    let mut text = vec![0u8; 1 << 12];
    // SAFETY: the library is loaded already; the function writes at most as many bytes.
    let bytes = unsafe {
        let library = libloading::Library::new("libcuda.so.1").unwrap();
        let calls = library.get::<extern "C" fn(*mut u8, usize) -> usize>(b"standInCalls");
        calls.unwrap()(text.as_mut_ptr(), text.len())
    };
    String::from_utf8(text[..bytes].to_vec()).unwrap()
}

/// What the stand-in has given out.
fn live() -> u32 {
    // SAFETY: the library is loaded already; the function takes nothing and returns a number.
    unsafe {
        let library = libloading::Library::new("libcuda.so.1").unwrap();
        library.get::<extern "C" fn() -> u32>(b"standInLive").unwrap()()
    }
}
