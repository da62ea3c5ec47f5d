// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel's own code does without a device function, and what the host does: found after the launch.

use super::*;

#[test]
fn a_plain_store_beyond_a_buffer_is_found_by_its_canaries() {
    for (at, offset) in [(64, 256), (70, 280)] {
        let mut memory = Memory::new();
        let out = memory.output::<u32>("out", 64);
        let kernel = || {
            let start: *mut u32 = std::ptr::with_exposed_provenance_mut(out.as_mut_ptr() as usize);
            if is_first() {
                // SAFETY: within the guards of the buffer.
                unsafe { start.add(at).write(7) };
            }
        };
        let fault = launch("tiny", SHAPE, &mut memory, kernel).unwrap_err();
        let place = MemoryBytes::Global { buffer: "out".into(), offset };
        assert_eq!(fault.kind, FaultKind::Trampled { place, size: 256 });
        assert!(fault.to_string().starts_with("kernel tiny: out of bounds"), "{fault}");
    }
}

#[test]
fn what_a_plain_store_has_written_may_be_read() {
    let mut memory = Memory::new();
    let out = memory.output::<f32>("out", 64);
    let kernel = || {
        let i = thread::thread_idx_x() as usize;
        let start: *mut f32 = std::ptr::with_exposed_provenance_mut(out.as_mut_ptr() as usize);
        // SAFETY: a place for each thread.
        unsafe { start.add(i).write(i as f32) };
        let read = global::load_f32(out.as_ptr().wrapping_add(i));
        assert_eq!(read, i as f32);
    };
    launch("tiny", SHAPE, &mut memory, kernel).unwrap();
    assert_eq!(memory.read(out), (0..64).map(|i| i as f32).collect::<Vec<_>>());
}

#[test]
fn the_host_reads_what_no_thread_has_written() {
    let mut memory = Memory::new();
    let out = memory.output::<u32>("out", 64);
    let kernel = || {
        let i = thread::thread_idx_x() as usize;
        if i != 17 {
            global::store(out.as_mut_ptr().wrapping_add(i), 1);
        }
    };
    launch("tiny", SHAPE, &mut memory, kernel).unwrap();
    assert_eq!(memory.unwritten(out), Some(17));
    assert_eq!(memory.read_at(out, 18, 46), [1; 46]);
    let read = std::panic::AssertUnwindSafe(|| memory.read(out));
    let panic = std::panic::catch_unwind(read).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    let expected =
        "unwritten: the host reads byte 68 of buffer `out` (element 17), which nothing has written";
    assert_eq!(text, expected);
}

#[test]
fn a_missing_barrier_is_named_whichever_thread_comes_first() {
    let line = line!() + 4;
    let kernel = || {
        let thread = thread::thread_idx_x();
        shared::store(4 * thread, thread);
        let _ = shared::load(4 * (63 - thread));
    };
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Race { .. }, line);
    let fault = &faults(SHAPE, &mut Memory::new(), kernel)[0];
    assert!(fault.to_string().contains(": missing barrier: data race"), "{fault}");
}

#[test]
fn a_loop_that_never_ends() {
    let shape = LaunchConfig { steps: 1000, ..SHAPE };
    let line = line!() + 3;
    let kernel = || {
        loop {
            if shared::dynamic() == 1 {
                break;
            }
        }
    };
    let fault = launch("tiny", shape, &mut Memory::new(), kernel).unwrap_err();
    assert_eq!((fault.kind, fault.site.location.line()), (FaultKind::Endless(1000), line));
}

#[test]
fn shuffles_from_lanes_that_there_are_not() {
    let line = line!() + 1;
    let kernel = || _ = warp::shuffle(7, lane() + 1);
    assert_faults!(&mut Memory::new(), kernel, FaultKind::NoLane(32), line);
    let line = line!() + 1;
    let kernel = || _ = warp::shuffle_down(7, 32);
    assert_faults!(&mut Memory::new(), kernel, FaultKind::NoLane(32), line);
    let line = line!() + 1;
    let kernel = || _ = warp::shuffle_idx_of(u32::MAX, 7, 40, 32);
    assert_faults!(&mut Memory::new(), kernel, FaultKind::NoLane(40), line);
}
