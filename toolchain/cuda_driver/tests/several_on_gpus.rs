// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events and copies of boxes on real GPUs: within one, and between two and their threads. Where
//! there is one GPU, both threads share it; where there is none, the tests are skipped, with the reason.
#![allow(unsafe_code, reason = "queues copies")]

use cuda_driver::cust::context::{Context, CurrentContext};
use cuda_driver::cust::device::Device;
use cuda_driver::cust::memory::{CopyDestination, DeviceBuffer};
use cuda_driver::cust::stream::StreamFlags;
use cuda_driver::cust::{CudaFlags, init};
use cuda_driver::{
    BoxExtent, BoxPlace, StreamEvent, can_access, copy_box, copy_box_peer, copy_peer,
    enable_access, load, non_blocking_stream,
};
use std::sync::mpsc::channel;

/// The first device and the second, or the first again; `None`, said aloud, if there is none.
fn devices() -> Option<[Device; 2]> {
    if let Err(error) = load() {
        eprintln!("skipped: {error}");
        return None;
    }
    let count = init(CudaFlags::empty()).and_then(|()| Device::num_devices());
    match count {
        Ok(0) | Err(_) => {
            eprintln!("skipped: there is a driver, but no GPU ({count:?})");
            None
        }
        Ok(count) => {
            eprintln!("{count} GPUs");
            Some([0, 1.min(count - 1)].map(|ordinal| Device::get_device(ordinal).unwrap()))
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
    CurrentContext::set_current(&contexts[1]).unwrap();
    let other = DeviceBuffer::<u8>::zeroed(1 << 15).unwrap();
    CurrentContext::set_current(&contexts[0]).unwrap();
    let stream = non_blocking_stream(0).unwrap();
    let values = pattern(1 << 15);
    let from = DeviceBuffer::from_slice(&values).unwrap();
    let to = DeviceBuffer::<u8>::zeroed(1 << 15).unwrap();
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
            let from = place(from.as_device_ptr().as_raw(), from_pitches);
            for (to, peer) in [(&to, false), (&other, true)] {
                CurrentContext::set_current(&contexts[usize::from(peer)]).unwrap();
                let mut whole = to.index(..);
                whole.set_8(0).unwrap();
                CurrentContext::synchronize().unwrap();
                CurrentContext::set_current(&contexts[0]).unwrap();
                let place = place(to.as_device_ptr().as_raw(), to_pitches);
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
                CurrentContext::set_current(&contexts[usize::from(peer)]).unwrap();
                to.copy_to(&mut found).unwrap();
                assert!(found == expected(&values, copy), "box {number}, peer {peer}");
            }
        }
    }
    CurrentContext::set_current(&contexts[1]).unwrap();
    drop(other);
    CurrentContext::set_current(&contexts[0]).unwrap();
}

#[test]
fn a_stream_is_beside_the_default_stream_with_its_priority() {
    let Some([device, _]) = devices() else { return };
    let _context = Context::new(device).unwrap();
    let range = CurrentContext::get_stream_priority_range().unwrap();
    eprintln!("priorities {} to {}", range.least, range.greatest);
    let stream = non_blocking_stream(range.greatest).unwrap();
    assert_eq!(stream.get_flags(), Ok(StreamFlags::NON_BLOCKING));
    assert_eq!(stream.get_priority(), Ok(range.greatest));
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
            CurrentContext::set_current(&contexts[0]).unwrap();
            let stream = non_blocking_stream(0).unwrap();
            let event = StreamEvent::new().unwrap();
            let mut source = DeviceBuffer::<u8>::zeroed(BYTES).unwrap();
            let result = DeviceBuffer::<u8>::zeroed(BYTES).unwrap();
            let (from, to) = (source.as_device_ptr().as_raw(), result.as_device_ptr().as_raw());
            for round in 0..ROUNDS {
                source.set_8(round as u8 + 1).unwrap();
                CurrentContext::synchronize().unwrap();
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
            CurrentContext::set_current(&contexts[1]).unwrap();
            if access {
                enable_access(&contexts[0]).unwrap();
            }
            let stream = non_blocking_stream(-1).unwrap();
            let fetched = DeviceBuffer::<u8>::zeroed(BYTES).unwrap();
            CurrentContext::synchronize().unwrap();
            let to = fetched.as_device_ptr().as_raw();
            let mut found = vec![0; BYTES];
            for round in 0..ROUNDS {
                let (from, event) = told.recv().unwrap();
                // SAFETY: the first thread keeps event and buffer until it has the answer.
                unsafe {
                    event.wait_on(&stream).unwrap();
                    copy_peer(to, &contexts[1], from, &contexts[0], BYTES, &stream).unwrap();
                }
                stream.synchronize().unwrap();
                fetched.copy_to(&mut found).unwrap();
                assert!(found.iter().all(|&byte| byte == round as u8 + 1), "round {round}");
                answer.send(()).unwrap();
            }
        });
    });
}
