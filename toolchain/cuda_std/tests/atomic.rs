// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic numbers of every type, order and scope, in the emulator and outside of it.

use cuda_sim::{FaultKind, LaunchConfig, Memory, launch};
use cuda_std::atomic::mid::*;
use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, Ordering, SystemAtomicF32,
    SystemAtomicF64, intrinsics,
};
use cuda_std::kernel;

const TWO_BLOCKS: LaunchConfig = LaunchConfig {
    blocks: 2,
    threads: 32,
    blocks_yz: [1; 2],
    threads_yz: [1; 2],
    shared_bytes: 0,
    seed: 3,
    registers: 32,
    cooperative: false,
    overlapping: false,
    steps: 1 << 22,
};

/// Adds 1.5 for each thread.
///
/// # Safety
/// `sum` is a number, and if `narrow` is not 0, there is one block.
#[kernel]
pub unsafe fn add(sum: *mut f32, narrow: u32) {
    // SAFETY: as the caller promises.
    unsafe {
        if narrow != 0 {
            BlockAtomicF32::from_ptr(sum).fetch_add(1.5, Ordering::Relaxed);
        } else {
            AtomicF32::from_ptr(sum).fetch_add(1.5, Ordering::Relaxed);
        }
    }
}
const LINE: u32 = line!() - 6;

#[test]
fn a_sum_of_two_blocks_is_theirs_and_a_narrow_one_is_reported() {
    let mut memory = Memory::new();
    let sum = memory.zeros::<f32>("sum", 1);
    // SAFETY: the number is there.
    let run = |narrow| unsafe { add(sum.as_mut_ptr(), narrow) };
    launch("add", TWO_BLOCKS, &mut memory, || run(0)).unwrap();
    assert_eq!(memory.read(sum), [96.0]);
    let one = LaunchConfig { blocks: 1, ..TWO_BLOCKS };
    launch("add", one, &mut memory, || run(1)).unwrap();
    assert_eq!(memory.read(sum), [144.0]);
    let fault = launch("add", TWO_BLOCKS, &mut memory, || run(1)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::NarrowScope { .. }), "{fault}");
    let location = fault.site.location;
    assert!(location.file().ends_with("atomic.rs") && location.line() == LINE, "{fault}");
}

/// What every operation gives and leaves, for one type and scope.
macro_rules! operations {
    ($of:ident: $and:ident $or:ident $xor:ident $add:ident $sub:ident $exch:ident $cas:ident) => {{
        let mut number: $of = 6 as $of;
        let at = &raw mut number;
        let bits = |from: $of| {
            u64::from_le_bytes({
                let mut all = [0; 8];
                all[..size_of::<$of>()].copy_from_slice(&from.to_le_bytes());
                all
            })
        };
        let orders = [
            Ordering::Relaxed,
            Ordering::Acquire,
            Ordering::Release,
            Ordering::AcqRel,
            Ordering::SeqCst,
        ];
        for order in orders {
            let (six, two, five) = (6 as $of, 2 as $of, 5 as $of);
            // SAFETY: nobody else has the number.
            unsafe {
                at.write(six);
                assert_eq!(
                    [$add(at, order, two), $sub(at, order, five), $exch(at, order, five)],
                    [six, 8 as $of, 3 as $of]
                );
                assert_eq!([$cas(at, six, two, order), $cas(at, five, six, order)], [five, five]);
                assert_eq!($and(at, order, two), six);
                assert_eq!(bits(at.read()), bits(six) & bits(two));
                at.write(six);
                let _ = $or(at, order, five);
                assert_eq!(bits(at.read()), bits(six) | bits(five));
                at.write(six);
                let _ = $xor(at, order, five);
                assert_eq!(bits(at.read()), bits(six) ^ bits(five));
            }
        }
    }};
}

#[test]
fn every_operation_does_what_its_name_says() {
    operations! { u32: atomic_fetch_and_u32_block atomic_fetch_or_u32_block atomic_fetch_xor_u32_block
    atomic_fetch_add_u32_block atomic_fetch_sub_u32_block atomic_fetch_exch_u32_block
    atomic_compare_and_swap_u32_block }
    operations! { i32: atomic_fetch_and_i32_device atomic_fetch_or_i32_device atomic_fetch_xor_i32_device
    atomic_fetch_add_i32_device atomic_fetch_sub_i32_device atomic_fetch_exch_i32_device
    atomic_compare_and_swap_i32_device }
    operations! { u64: atomic_fetch_and_u64_system atomic_fetch_or_u64_system atomic_fetch_xor_u64_system
    atomic_fetch_add_u64_system atomic_fetch_sub_u64_system atomic_fetch_exch_u64_system
    atomic_compare_and_swap_u64_system }
    operations! { i64: atomic_fetch_and_i64_block atomic_fetch_or_i64_block atomic_fetch_xor_i64_block
    atomic_fetch_add_i64_block atomic_fetch_sub_i64_block atomic_fetch_exch_i64_block
    atomic_compare_and_swap_i64_block }
    operations! { f32: atomic_fetch_and_f32_device atomic_fetch_or_f32_device atomic_fetch_xor_f32_device
    atomic_fetch_add_f32_device atomic_fetch_sub_f32_device atomic_fetch_exch_f32_device
    atomic_compare_and_swap_f32_device }
    operations! { f64: atomic_fetch_and_f64_system atomic_fetch_or_f64_system atomic_fetch_xor_f64_system
    atomic_fetch_add_f64_system atomic_fetch_sub_f64_system atomic_fetch_exch_f64_system
    atomic_compare_and_swap_f64_system }
    let (mut small, mut long, mut word) = (-3i32, -3i64, 3u32);
    // SAFETY: nobody else has the numbers.
    unsafe {
        let order = Ordering::AcqRel;
        assert_eq!(atomic_fetch_min_i32_block(&raw mut small, order, -4), -3);
        assert_eq!(atomic_fetch_max_i64_device(&raw mut long, order, 4), -3);
        assert_eq!(atomic_fetch_min_u32_system(&raw mut word, order, u32::MAX), 3);
        assert_eq!((small, long, word), (-4, 4, 3));
        let count = |_| atomic_inc_bounded_relaxed_u32_device(&raw mut word, 4);
        assert_eq!([0; 3].map(count), [3, 4, 0]);
        let count = |_| atomic_dec_bounded_relaxed_u32_device(&raw mut word, 4);
        assert_eq!([0; 3].map(count), [1, 0, 4]);
        atomic_store_64_block(&raw mut long as *mut u64, Ordering::Release, 9);
        assert_eq!(atomic_load_64_system(&raw mut long as *mut u64, Ordering::Acquire), 9);
        atomic_store_32_device(&raw mut word, Ordering::SeqCst, 8);
        assert_eq!(atomic_load_32_block(&raw mut word, Ordering::SeqCst), 8);
        intrinsics::membar_device();
        intrinsics::fence_sc_block();
        intrinsics::fence_acqrel_system();
    }
    device_thread_fence(Ordering::AcqRel);
    block_thread_fence(Ordering::Relaxed);
    system_thread_fence(Ordering::SeqCst);
}

#[test]
fn the_types_of_each_scope_are_numbers() {
    let order = Ordering::SeqCst;
    let number = SystemAtomicF64::new(2.0);
    assert_eq!([number.fetch_add(1.0, order), number.fetch_sub(2.0, order)], [2.0, 3.0]);
    assert_eq!([number.fetch_max(5.0, order), number.fetch_min(4.0, order)], [1.0, 5.0]);
    number.store(8.0, Ordering::Release);
    assert_eq!(number.load(Ordering::Acquire), 8.0);
    assert_eq!((number.swap(9.0, order), number.into_inner()), (8.0, 9.0));
    let number = SystemAtomicF32::new(f32::from_bits(12));
    let bits =
        [number.fetch_and(f32::from_bits(6), order), number.fetch_or(f32::from_bits(3), order)];
    assert_eq!(
        (bits.map(f32::to_bits), number.fetch_xor(f32::from_bits(1), order).to_bits()),
        ([12, 4], 7)
    );
    assert_eq!(number.into_inner().to_bits(), 6);
    let (wide, narrow) = (AtomicF64::new(1.0), BlockAtomicF64::new(1.0));
    assert_eq!(wide.fetch_add(1.5, order), 1.0);
    // SAFETY: no other thread has it.
    assert_eq!(unsafe { [narrow.fetch_add(1.5, order), narrow.load(order)] }, [1.0, 2.5]);
}

#[test]
#[should_panic(expected = "a load releases nothing")]
fn a_load_that_would_release_is_refused() {
    let _ = AtomicF32::new(1.0).load(Ordering::Release);
}

#[test]
#[should_panic(expected = "a store acquires nothing")]
fn a_store_that_would_acquire_is_refused() {
    AtomicF32::new(1.0).store(2.0, Ordering::AcqRel);
}
