// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events and copies of boxes on real GPUs: within one, and between two and their threads. Where
//! there is one GPU, both threads share it; where there is none, the tests are skipped, with the reason.
#![allow(unsafe_code, reason = "queues copies")]

use cuda_driver::{
    Allocation, BoxExtent, BoxPlace, Context, Device, Stream, StreamEvent, can_access, copy_box,
    copy_box_peer, copy_peer, enable_access, load, stream_priorities, synchronize,
};
use std::sync::mpsc::channel;

/// The first device and the second, or the first again; `None`, said aloud, if there is none.
fn devices() -> Option<[Device; 2]> {
    if let Err(error) = load() {
        eprintln!("skipped: {error}");
        return None;
    }
    let count = Device::count();
    match count {
        Ok(0) | Err(_) => {
            eprintln!("skipped: there is a driver, but no GPU ({count:?})");
            None
        }
        Ok(count) => {
            eprintln!("{count} GPUs");
            Some([0, 1.min(count - 1)].map(|ordinal| Device::nth(ordinal).unwrap()))
        }
    }
}

/// Bytes that differ from their neighbours.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Boxes of every form that is cut in another way, with pitches that no allocator would choose.
const BOXES: [(BoxExtent, [usize; 2], [usize; 2]); 8] = [
    (BoxExtent { width: 1000, rows: 1, planes: 1 }, [0, 0], [0, 0]),
    (BoxExtent { width: 100, rows: 9, planes: 7 }, [100, 900], [100, 900]),
    (BoxExtent { width: 34, rows: 9, planes: 7 }, [102, 1020], [70, 700]),
    (BoxExtent { width: 34, rows: 9, planes: 7 }, [102, 1021], [70, 777]),
    (BoxExtent { width: 2, rows: 50, planes: 30 }, [10, 500], [6, 300]),
    (BoxExtent { width: 7, rows: 1, planes: 33 }, [1, 451], [99, 333]),
    (BoxExtent { width: 48, rows: 8, planes: 1 }, [1000, 1], [48, 1]),
    (BoxExtent { width: 33, rows: 3, planes: 4 }, [2000, 200], [40, 120]),
];

/// What the destination of a copy holds afterwards, if it was zeros.
fn expected(
    from: &[u8],
    (extent, from_pitches, to_pitches): (BoxExtent, [usize; 2], [usize; 2]),
) -> Vec<u8> {
    let mut to = vec![0; from.len()];
    for plane in 0..extent.planes {
        for row in 0..extent.rows {
            let start =
                |[row_pitch, plane_pitch]: [usize; 2]| 3 + row * row_pitch + plane * plane_pitch;
            let (from_start, to_start) = (start(from_pitches), start(to_pitches));
            to[to_start..][..extent.width].copy_from_slice(&from[from_start..][..extent.width]);
        }
    }
    to
}

fn place(address: u64, [row_pitch, plane_pitch]: [usize; 2]) -> BoxPlace {
    BoxPlace { address: address + 3, row_pitch, plane_pitch }
}

#[test]
fn boxes_are_copied_within_a_gpu_and_between_two() {
    let Some(devices) = devices() else { return };
    let contexts = devices.map(|device| Context::new(device).unwrap());
    let mut other = Allocation::zeroed(&contexts[1], 1 << 15).unwrap();
    contexts[0].make_current().unwrap();
    let stream = Stream::non_blocking(&contexts[0], 0).unwrap();
    let values = pattern(1 << 15);
    let from = Allocation::of(&contexts[0], &values).unwrap();
    let mut to = Allocation::zeroed(&contexts[0], 1 << 15).unwrap();
    let mut found = vec![0; values.len()];
    // First as it comes, then with direct access where there is such.
    for direct in [false, true] {
        if direct {
            if !can_access(devices[0], devices[1]).unwrap() {
                eprintln!("no direct access: skipped");
                continue;
            }
            enable_access(&contexts[1]).unwrap();
            enable_access(&contexts[1]).unwrap();
        }
        for (number, copy) in BOXES.into_iter().enumerate() {
            let (extent, from_pitches, to_pitches) = copy;
            let from = place(from.address(), from_pitches);
            for (to, peer) in [(&mut to, false), (&mut other, true)] {
                contexts[usize::from(peer)].make_current().unwrap();
                to.fill(0).unwrap();
                synchronize().unwrap();
                contexts[0].make_current().unwrap();
                let place = place(to.address(), to_pitches);
                // SAFETY: the boxes lie in the buffers, which nobody else uses.
                unsafe {
                    if peer {
                        let (from, to) = ((from, &contexts[0]), (place, &contexts[1]));
                        copy_box_peer(extent, from, to, &stream).unwrap();
                    } else {
                        copy_box(extent, from, place, &stream).unwrap();
                    }
                }
                stream.synchronize().unwrap();
                to.read(&mut found).unwrap();
                assert!(found == expected(&values, copy), "box {number}, peer {peer}");
            }
        }
    }
}

#[test]
fn a_stream_is_beside_the_default_stream_with_its_priority() {
    let Some([device, _]) = devices() else { return };
    let context = Context::new(device).unwrap();
    let [least, most] = stream_priorities().unwrap();
    eprintln!("priorities {least} to {most}");
    let stream = Stream::non_blocking(&context, most).unwrap();
    assert_eq!(asked(c"cuStreamGetFlags", &stream), 1, "CU_STREAM_NON_BLOCKING");
    assert_eq!(asked(c"cuStreamGetPriority", &stream), most);
    assert_eq!(asked(c"cuStreamGetFlags", &Stream::new(&context, 0).unwrap()), 0);
}

/// What the driver says of a stream.
fn asked(function: &std::ffi::CStr, stream: &Stream) -> i32 {
    type Ask = unsafe extern "C" fn(cuda_driver::Handle, *mut i32) -> u32;
    let mut value = 0;
    // SAFETY: both functions that are asked for have this signature; the library is loaded already.
    unsafe {
        let library = libloading::Library::new("libcuda.so.1").unwrap();
        let ask = library.get::<Ask>(function.to_bytes_with_nul()).unwrap();
        assert_eq!(ask(stream.as_raw(), &mut value), 0);
    }
    value
}

#[test]
fn threads_order_their_streams_by_events() {
    let Some(devices) = devices() else { return };
    const BYTES: usize = 64 << 20;
    const ROUNDS: usize = 20;
    let contexts = devices.map(|device| Context::new(device).unwrap());
    let access = can_access(devices[1], devices[0]).unwrap();
    let (tell, told) = channel();
    let (answer, answered) = channel::<()>();
    std::thread::scope(|scope| {
        let contexts = &contexts;
        // One copies within its GPU, and says where the result will be.
        scope.spawn(move || {
            contexts[0].make_current().unwrap();
            let stream = Stream::non_blocking(&contexts[0], 0).unwrap();
            let event = StreamEvent::new(&contexts[0]).unwrap();
            let mut source = Allocation::zeroed(&contexts[0], BYTES).unwrap();
            let result = Allocation::zeroed(&contexts[0], BYTES).unwrap();
            let (from, to) = (source.address(), result.address());
            for round in 0..ROUNDS {
                source.fill(round as u8 + 1).unwrap();
                synchronize().unwrap();
                // SAFETY: the other thread is done with the buffers when it has answered.
                unsafe { copy_peer(to, &contexts[0], from, &contexts[0], BYTES, &stream).unwrap() };
                event.record(&stream).unwrap();
                tell.send((to, event.handle())).unwrap();
                answered.recv().unwrap();
                assert_eq!(event.is_done(), Ok(true));
            }
        });
        // The other lets its stream wait for that, and fetches it.
        scope.spawn(move || {
            contexts[1].make_current().unwrap();
            if access {
                enable_access(&contexts[0]).unwrap();
            }
            let stream = Stream::non_blocking(&contexts[1], -1).unwrap();
            let fetched = Allocation::zeroed(&contexts[1], BYTES).unwrap();
            synchronize().unwrap();
            let to = fetched.address();
            let mut found = vec![0; BYTES];
            for round in 0..ROUNDS {
                let (from, event) = told.recv().unwrap();
                // SAFETY: the first thread keeps event and buffer until it has the answer.
                unsafe {
                    event.wait_on(&stream).unwrap();
                    copy_peer(to, &contexts[1], from, &contexts[0], BYTES, &stream).unwrap();
                }
                stream.synchronize().unwrap();
                fetched.read(&mut found).unwrap();
                assert!(found.iter().all(|&byte| byte == round as u8 + 1), "round {round}");
                answer.send(()).unwrap();
            }
        });
    });
}
