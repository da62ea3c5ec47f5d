// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `#[kernel]` makes of a function on the host.

use cuda_sim::{Chip, FaultKind, LaunchConfig, Memory, OnChip as _, launch};
use cuda_std::{
    AnyCall, Entry, Kernel, Parameter, Slice, SliceMut, address_space, global, kernel,
    shared_array, thread,
};
use std::mem::MaybeUninit;

/// Reads a word too far.
///
/// # Safety
/// Never.
#[kernel]
pub unsafe fn too_far(words: *const u32, n: u32) {
    // SAFETY: the emulator reports it.
    let _ = unsafe { global::load(words.add(n as usize)) };
}
const LINE: u32 = line!() - 2;

#[test]
fn a_fault_names_its_line_in_the_kernel() {
    let mut memory = Memory::new();
    let words = memory.input("words", &[1, 2, 3]);
    let fault = launch("too_far", LaunchConfig::default(), &mut memory, || {
        // SAFETY: the emulator reports what is wrong.
        unsafe { too_far(words.as_ptr(), 3) }
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    let location = fault.site.location;
    assert!(location.file().ends_with("kernel.rs") && location.line() == LINE, "{fault}");
}

#[test]
fn a_kernel_is_launched_by_its_name_with_its_parameters() {
    fn is<K: Kernel<Parameters = P>, P>(name: &str) -> bool {
        K::NAME == name
    }
    assert!(is::<too_far, (*const u32, u32)>("too_far"));
}

/// Writes a number.
///
/// # Safety
/// `at` is valid.
#[kernel(registers = 40)]
pub unsafe fn set(at: *mut u32, number: u32) {
    // SAFETY: as the caller promises.
    unsafe { global::store(at, number) };
}

#[test]
fn a_kernel_is_a_value_that_an_emulator_runs_with_its_parameters() {
    const ENTRY: Entry<(*mut u32, u32)> = Entry::of::<set>();
    assert_eq!((ENTRY.name(), ENTRY.registers()), ("set", Some(40)));
    assert_eq!(Entry::of::<too_far>().registers(), None);
    let mut memory = Memory::new();
    let word = memory.output("word", 1);
    let call = ENTRY.with((word.as_mut_ptr(), 7));
    let call: &dyn AnyCall = &call;
    let one = || {
        // SAFETY: the emulator checks every access.
        unsafe { call.run() }
    };
    let fault = launch(call.name(), LaunchConfig::default(), &mut memory, one).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "32 threads write it: {fault}");
    let mut parameters = 0;
    call.with_pointers(&mut |at| parameters = at.len());
    assert_eq!(parameters, 2);
}

/// `c = a + b`, with slices that live differently long.
///
/// # Safety
/// `c` has as many numbers as the others.
#[kernel]
pub unsafe fn sum<'a>(a: &'a [f32], b: &'static [f32], mut c: &mut [f32], scale: &f32) {
    let i = thread::index_1d() as usize;
    c = &mut c[..b.len()];
    if i < c.len() {
        c[i] = scale * (a[i] + b[i]);
    }
}

#[test]
fn a_slice_is_two_parameters_and_arrives_whole() {
    fn parameters<K: Kernel<Parameters = P>, P>() {}
    parameters::<sum, (Slice<f32>, Slice<f32>, SliceMut<f32>, *const f32)>();
    let mut memory = Memory::new();
    let (a, b) = (memory.input("a", &[1.0f32; 70]), memory.input("b", &[2.0f32; 70]));
    let (c, scale) = (memory.output::<f32>("c", 70), memory.input("scale", &[2.0f32]));
    let slice = |start, len| Slice { start, len };
    let call = Entry::of::<sum>().with((
        slice(a.as_ptr(), 70),
        slice(b.as_ptr(), 70),
        SliceMut { start: c.as_mut_ptr(), len: 70 },
        scale.as_ptr(),
    ));
    call.with_pointers(&mut |at| assert_eq!(at.len(), 7));
    // Not whole warps.
    let config = LaunchConfig { blocks: 2, threads: 40, ..LaunchConfig::default() };
    launch("sum", config, &mut memory, || {
        // SAFETY: the buffers are as the kernel wants them.
        unsafe { call.run() }
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(memory.read(c), [6.0; 70]);
}

/// A structure by value.
#[derive(Clone, Copy, Parameter)]
#[repr(C)]
pub struct Pair<T> {
    first: T,
    second: [u16; 2],
}

/// Writes what it gets.
///
/// # Safety
/// `at` is valid.
#[kernel]
pub unsafe fn keep(at: *mut u32, Pair { first, second }: Pair<u32>) {
    if thread::first() {
        // SAFETY: as the caller promises.
        unsafe { global::store(at, first + u32::from(second[0]) + u32::from(second[1])) };
    }
}

#[test]
fn a_structure_is_passed_as_it_is() {
    let mut memory = Memory::new();
    let word = memory.output("word", 1);
    let call = Entry::of::<keep>().with((word.as_mut_ptr(), Pair { first: 1, second: [2, 3] }));
    launch("keep", LaunchConfig::default(), &mut memory, || {
        // SAFETY: the emulator checks the access.
        unsafe { call.run() }
    })
    .unwrap();
    assert_eq!(memory.read(word), [6]);
}

/// Turns the rows of each block's tile around, by static shared memory.
///
/// # Safety
/// There is a number for each thread of a grid of blocks of 8 by 4.
#[kernel]
pub unsafe fn turn(numbers: *mut u32) {
    #[address_space(shared)]
    static mut TILE: [[MaybeUninit<u32>; 8]; 4] = [[const { MaybeUninit::uninit() }; 8]; 4];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let at = thread::index() as usize;
    let sums = shared_array![u32; 4];
    // SAFETY: each thread has a place of its own until the barrier.
    unsafe {
        TILE[y][x].write(*numbers.add(at));
        if x == 0 {
            *sums.add(y) = 100 * y as u32;
        }
        thread::sync_threads();
        *numbers.add(at) = TILE[y][7 - x].assume_init() + *sums.add(y);
    }
}

#[test]
fn each_block_has_its_own_static_shared_memory() {
    let before: Vec<u32> = (0..32 * 6).collect();
    let after = |at: u32| at / 8 * 8 + 7 - at % 8 + at / 8 % 4 * 100;
    let after: Vec<u32> = before.iter().map(|&at| after(at)).collect();
    for seed in 0..8 {
        let mut memory = Memory::new();
        let numbers = memory.in_out("numbers", &before);
        let config = LaunchConfig {
            blocks: 3,
            blocks_yz: [2, 1],
            threads: 8,
            threads_yz: [4, 1],
            seed,
            ..LaunchConfig::default()
        };
        launch("turn", config, &mut memory, || {
            // SAFETY: as many numbers as threads.
            unsafe { turn(numbers.as_mut_ptr()) }
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(memory.read(numbers), after);
    }
}

#[test]
fn more_static_shared_memory_than_a_block_has_is_refused() {
    let kernel = || {
        let _ = shared_array![u64; 4096];
        let _ = shared_array![u64; 4096];
    };
    let fault = launch("large", LaunchConfig::default(), &mut Memory::new(), kernel).unwrap_err();
    let text = "kernel large: the driver refuses the launch: its blocks have 65536 bytes of static shared memory; 49152 are \
                possible";
    assert_eq!(fault.to_string(), text);
}

#[test]
fn static_and_dynamic_shared_memory_are_of_one_block() {
    let kernel = || {
        let _ = shared_array![u64; 5 << 10];
    };
    let run = |shared_bytes, memory: &mut Memory| {
        let config = LaunchConfig { shared_bytes, ..LaunchConfig::default() };
        launch("both", config, memory, kernel).map(|_| ()).map_err(|fault| fault.to_string())
    };
    let text = |bytes, most| {
        Err(format!(
            "kernel both: the driver refuses the launch: its blocks have 40960 bytes of static and {bytes} of dynamic \
             shared memory; {most} are possible together"
        ))
    };
    let mut memory = Memory::new();
    assert_eq!(run(8 << 10, &mut memory), Ok(()));
    assert_eq!(run(40 << 10, &mut memory), text(40 << 10, 48 << 10));
    // A kernel that is allowed more has what the chip has.
    let most = Chip::current().resources().shared_bytes_per_block();
    memory.allow_shared("both", most).unwrap();
    assert_eq!(run(most - (40 << 10), &mut memory), Ok(()));
    assert_eq!(run(most - (40 << 10) + 4, &mut memory), text(most - (40 << 10) + 4, most));
}

/// A module of the kernel's file's name beside the kernel: `pub use` brings the function only.
mod named_alike {
    pub mod alike;
    pub use alike::alike;
}

#[test]
fn a_kernel_may_have_the_name_of_its_module() {
    assert_eq!(named_alike::alike::alike_kernel::NAME, "alike");
    let mut memory = Memory::new();
    let word = memory.output::<u32>("word", 1);
    let one = LaunchConfig { threads: 1, ..LaunchConfig::default() };
    // SAFETY: the emulator checks the access.
    launch("alike", one, &mut memory, || unsafe { named_alike::alike(word.as_mut_ptr()) }).unwrap();
    assert_eq!(memory.read(word), [1]);
}

#[test]
fn an_assertion_that_fails_ends_the_launch_with_its_values() {
    let kernel = || {
        let lane = cuda_std::warp::lane_id();
        cuda_std::assert_ne!(lane, 32);
        cuda_std::println!("lane {lane}");
        cuda_std::assert_eq!(lane / 32, lane % 2);
    };
    let fault = launch("odd", LaunchConfig::default(), &mut Memory::new(), kernel).unwrap_err();
    let FaultKind::Assertion(text) = &fault.kind else { panic!("{fault}") };
    assert!(
        text.starts_with("lane / 32 == lane % 2, ") && text.ends_with("left 0, right 1"),
        "{text}"
    );
    assert!(text.contains("kernel.rs:"), "{text}");
    assert!(fault.site.location.file().ends_with("kernel.rs"), "{fault}");
}
