// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lane that takes more than its stack has ends the process: the stacks of other lanes lie beside it. So the
//! kernels run in a process of their own.

use cuda_sim::{LaunchConfig, Memory, launch, thread};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::process::Command;

/// Names the kernel to the process that runs it.
const KERNEL: &str = "CUDA_SIM_KERNEL";

/// One frame of 300 KiB, of which nothing is written, and a device function below it.
fn one_frame() {
    let frame = MaybeUninit::<[u8; 300 << 10]>::uninit();
    black_box(&frame);
    thread::sync_threads();
    black_box(&frame);
}

/// Frames of 1 KiB, all of it written, and no device function below them.
#[allow(clippy::only_used_in_recursion)]
fn many_frames(count: usize) -> u8 {
    let frame = black_box([1u8; 1 << 10]);
    if count == 0 { frame[0] } else { many_frames(count - 1).wrapping_add(frame[count % 1024]) }
}

#[test]
fn too_much_stack_ends_the_process() {
    for kernel in ["one frame", "many frames"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "in_a_process_of_its_own"]).env(KERNEL, kernel);
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let expected = "a kernel in the emulator takes more than 262144 bytes of stack";
        assert!(!output.status.success() && text.contains(expected), "{kernel}: {text}");
    }
}

/// What the test above starts; nothing by itself.
#[test]
fn in_a_process_of_its_own() {
    let Ok(kernel) = std::env::var(KERNEL) else { return };
    let config = LaunchConfig { threads: 64, ..LaunchConfig::default() };
    let result = launch("deep", config, &mut Memory::new(), || {
        if thread::thread_idx_x() == 0 {
            match &*kernel {
                "one frame" => one_frame(),
                _ => drop(black_box(many_frames(300))),
            }
        } else {
            thread::sync_threads();
        }
    });
    panic!("the process goes on: {result:?}");
}
