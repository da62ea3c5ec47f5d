// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels compute the products in the emulator: their own code, and what the compiler made of it for a GPU.

use crate::kernel::{DENSE, MatrixProduct, SPARSE, THREADS, TileShape, dense, sparse};
use crate::operands::Operands;
use cuda_sim::{Chip, LaunchConfig, Memory, Module, OnChip as _, Swizzle, TensorMap, launch};

/// Runs something with the operands of a product, that many blocks and two orders of events; checks all elements.
fn check(
    shape: TileShape,
    size: [usize; 3],
    blocks: u32,
    run: impl Fn(LaunchConfig, &mut Memory, MatrixProduct),
) {
    let operands = Operands::random(size, shape);
    let mut memory = Memory::new();
    let mut map = |at: usize, values: &[u16], swizzle| {
        let [width, height, box_width, box_height] = operands.boxes()[at];
        let address = memory.input(["a", "b"][at], values).as_ptr().cast();
        let (dims, strides) = (vec![width.into(), height.into()], vec![2 * u64::from(width)]);
        let box_dims = vec![box_width, box_height];
        let map = TensorMap { address, element_bytes: 2, dims, strides, box_dims, swizzle };
        memory.tensor_map(map).unwrap()
    };
    let a = map(0, &operands.kept, shape.swizzle());
    let b = map(1, &operands.b, Swizzle::Bytes128);
    let metadata = memory.input("metadata", &operands.metadata).as_ptr().cast();
    let [height, width, steps] = operands.extents;
    let (threads, shared_bytes) = (THREADS, shape.shared_bytes());
    for name in ["product", "dense", "sparse"] {
        memory.allow_shared(name, shared_bytes).unwrap();
    }
    for seed in 0..2 {
        let out = memory.output::<u16>("c", size[0] * size[1]);
        let c = out.as_mut_ptr().cast();
        let work = MatrixProduct { a, b, metadata, c, height, width, steps, band: 2 };
        let config =
            LaunchConfig { blocks, threads, shared_bytes, seed, ..LaunchConfig::default() };
        Chip::Sm90a.with(|| run(config, &mut memory, work));
        operands.check(&memory.read(out), None);
    }
}

/// More tiles than blocks, and more stages than the ring has.
#[test]
fn products_are_those_of_the_matrices() {
    for (shape, size) in [(DENSE, [768, 256, 320]), (SPARSE, [384, 512, 384])] {
        check(shape, size, 2, |config, memory, work| {
            // SAFETY: the operands are laid out as the kernels have it.
            let kernel = || unsafe { if shape.sparse { sparse(work) } else { dense(work) } };
            launch("product", config, memory, kernel).unwrap_or_else(|fault| panic!("{fault}"));
        });
    }
}

/// Two tiles of one block, with more stages than the ring has. Without a compiler for the GPU there is nothing to run.
#[test]
fn so_are_those_of_the_ptx() {
    let Some(code) = cuda_driver::kernels!().codes().next() else { return };
    let module = Module::read(&code.ptx()).expect("PTX");
    for (shape, size) in [(DENSE, [512, 128, 320]), (SPARSE, [256, 256, 384])] {
        check(shape, size, 1, |config, memory, work| {
            let result = match shape.sparse {
                true => module.launch::<sparse>(config, memory, (work,)),
                false => module.launch::<dense>(config, memory, (work,)),
            };
            result.unwrap_or_else(|fault| panic!("{fault}"));
        });
    }
}
