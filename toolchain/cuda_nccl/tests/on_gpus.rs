// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges between the GPUs of this machine, each a thread's; one GPU exchanges with itself. Skipped, with
//! the reason, where there is no NCCL or no GPU.
#![allow(unsafe_code, reason = "exchanges")]

use cuda_driver::{Allocation, Context, Device, Stream, synchronize};
use cuda_nccl::{Communicator, Message, Nccl, UniqueId, load};

/// Bytes of a message: one and a bit, and several of NCCL's buffers.
const SIZES: [usize; 3] = [1, 4099, 32 << 20];
const ROUNDS: u8 = 10;

#[test]
fn gpus_exchange_with_their_neighbours() {
    let nccl = match load() {
        Ok(nccl) => nccl,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    if let Err(error) = cuda_driver::load() {
        return eprintln!("skipped: {error}");
    }
    let count = match Device::count() {
        Ok(count) if count > 0 => count,
        other => return eprintln!("skipped: there is a driver, but no GPU ({other:?})"),
    };
    eprintln!("NCCL {:?}, {count} GPUs", nccl.version().unwrap());
    let id = nccl.unique_id().unwrap();
    std::thread::scope(|scope| {
        for rank in 0..count {
            scope.spawn(move || ring(nccl, rank, count, id));
        }
    });
}

/// Sends to both neighbours in a ring, and looks at what comes from them.
fn ring(nccl: &'static Nccl, rank: u32, size: u32, id: UniqueId) {
    let context = Context::new(Device::nth(rank).unwrap()).unwrap();
    let stream = Stream::non_blocking(&context, -1).unwrap();
    let communicator = Communicator::new(nccl, rank, size, id).unwrap();
    let most = SIZES[SIZES.len() - 1];
    let buffer = || Allocation::zeroed(&context, most).unwrap();
    let (mut up, mut down, from_above, from_below) = (buffer(), buffer(), buffer(), buffer());
    let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
    let value =
        |rank: u32, round: u8| (rank as u8).wrapping_mul(2 * ROUNDS).wrapping_add(2 * round + 1);
    let mut found = vec![0; most];
    for bytes in SIZES {
        for round in 0..ROUNDS {
            up.fill(value(rank, round)).unwrap();
            down.fill(value(rank, round).wrapping_add(1)).unwrap();
            synchronize().unwrap();
            let message = |buffer: &Allocation, peer| {
                let address = buffer.address();
                Message { address, bytes, peer }
            };
            // With two ranks both neighbours are the same, and the orders on both sides have to agree.
            let sends = [message(&up, above), message(&down, below)];
            let receives = [message(&from_below, below), message(&from_above, above)];
            // SAFETY: the buffers are this rank's; they are used again after the stream is done.
            unsafe { communicator.exchange(&sends, &receives, stream.as_raw().cast()).unwrap() };
            stream.synchronize().unwrap();
            communicator.check().unwrap();
            for (buffer, expected) in [
                (&from_below, value(below, round)),
                (&from_above, value(above, round).wrapping_add(1)),
            ] {
                buffer.read(&mut found).unwrap();
                let same = found[..bytes].iter().all(|&byte| byte == expected);
                assert!(same, "rank {rank} of {size}, {bytes} bytes, round {round}: {}", found[0]);
            }
        }
    }
}
