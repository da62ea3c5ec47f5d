// SPDX-License-Identifier: MIT OR Apache-2.0
// What stands below the kernel `product` of docs/explanation/rust-on-gpus.md in the same `main.rs`: operands, a launch, a test.

/// An example, as the kernel takes it and as a plain product.
#[host_only]
mod example {
    use cuda_mma::fragment::{Element::F16, LANES, M, M16N8K32 as MMA, N};
    use cuda_mma::number::bits;

    /// A's kept value `i` of a row; two of a group of four stand at places 0 and 1 to 2 and 3.
    fn kept(row: usize, i: usize) -> (usize, f64) {
        let first = (row + i / 2) % 3;
        (i / 2 * 4 + first + i % 2, ((row * 5 + i * 3) % 7) as f64 - 3.0)
    }

    fn b(row: usize, column: usize) -> f64 {
        ((row * 3 + column) % 5) as f64 - 2.0
    }

    pub fn operands() -> (Vec<u16>, Vec<u32>, Vec<u16>) {
        let f16 = |value| bits(F16, value) as u16;
        let mut metadata = vec![0; LANES];
        let mut values = Vec::new();
        for row in 0..M {
            for i in 0..MMA.kept() {
                let (column, value) = kept(row, i);
                let (lane, bit) = MMA.metadata(row, i);
                metadata[lane] |= (column as u32 % 4) << bit;
                values.push(f16(value));
            }
        }
        let columns = (0..N).flat_map(|x| (0..MMA.k).map(move |y| f16(b(y, x)))).collect();
        (values, metadata, columns)
    }

    pub fn product() -> Vec<f32> {
        let element = |y, x| {
            let products = (0..MMA.kept()).map(|i| kept(y, i)).map(|(k, value)| value * b(k, x));
            products.sum::<f64>() as f32
        };
        (0..M).flat_map(|y| (0..N).map(move |x| element(y, x))).collect()
    }
}

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    let gpu = cuda_driver::Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let (kept, metadata, columns) = example::operands();
    let (kept, metadata) = (gpu.upload(&kept)?, gpu.upload(&metadata)?);
    let columns = gpu.upload(&columns)?;
    let mut d = gpu.zeros::<f32>(example::product().len())?;
    let extents = cuda_driver::Extents { blocks: 1, threads: warp::SIZE, shared_bytes: 0 };
    let (a, b) = (kept.as_ptr().cast(), columns.as_ptr().cast());
    // SAFETY: the operands are as the kernel wants them.
    unsafe { kernels.launch::<product>(extents, (a, metadata.as_ptr(), b, d.as_mut_ptr()))? };
    assert_eq!(d.read()?, example::product());
    println!("{} and the CPU agree", gpu.name());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{example, product};
    use cuda_sim::{LaunchConfig, Memory, launch};

    #[test]
    fn the_product_is_that_of_the_matrices() {
        let (kept, metadata, columns) = example::operands();
        let mut memory = Memory::new();
        let (kept, columns) = (memory.input("kept", &kept), memory.input("columns", &columns));
        let metadata = memory.input("metadata", &metadata);
        let d = memory.output("d", example::product().len());
        // One block of one warp.
        launch("product", LaunchConfig::default(), &mut memory, || {
            let (a, b) = (kept.as_ptr().cast(), columns.as_ptr().cast());
            // SAFETY: the operands are as the kernel wants them.
            unsafe { product(a, metadata.as_ptr(), b, d.as_mut_ptr()) }
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(memory.read(d), example::product());
    }
}
