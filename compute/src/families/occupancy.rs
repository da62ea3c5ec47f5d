// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many blocks of a kernel run at once.

use crate::device::Device;
use cuda_chip::RESERVED_SHARED_BYTES;
use cuda_driver::Entry;
use problem::Error;

/// How many blocks of a kernel, each with so many bytes of shared memory, run on the device at once, with at
/// most `most` on each multiprocessor.
///
/// # Errors
/// Not even one does, or the device refuses.
pub fn resident_blocks<P>(
    device: &dyn Device,
    kernel: &Entry<P>,
    threads: u32,
    shared_bytes: u32,
    most: u32,
) -> Result<u32, Error> {
    let all = resident(device, kernel.name(), kernel.registers(), threads, shared_bytes)?;
    Ok(all.min(most.saturating_mul(device.multiprocessors())))
}

/// How many blocks of a kernel are resident on the GPU at once, by the kernel's name and the most registers of a
/// thread that it states.
///
/// # Errors
/// Not even one block is, or the device refuses.
pub fn resident(
    device: &dyn Device,
    name: &'static str,
    registers: Option<u32>,
    threads: u32,
    shared_bytes: u32,
) -> Result<u32, Error> {
    let resident = device.resident_blocks(name, registers, threads, shared_bytes)?;
    if resident == 0 {
        let reason = format!(
            "a block of {threads} threads and {shared_bytes} bytes of shared memory does not fit"
        );
        return Err(Error::Driver { action: format!("launch {name}"), reason });
    }
    Ok(device.multiprocessors() * resident)
}

/// Shared memory, in bytes, with which no more than `blocks` fit a multiprocessor. Launches overlap:
/// a block of the next one must find its place only where one of this launch has ended, or the
/// blocks, which stay to the end, would be spread unevenly (r = 3: 0.73 of copy instead of 0.90).
pub fn exclusive_bytes(device: &dyn Device, blocks: u32) -> u32 {
    let most = device.shared_bytes();
    ((most + RESERVED_SHARED_BYTES) / (blocks + 1) - RESERVED_SHARED_BYTES + 16)
        .next_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Chip, Emulator, Limits};
    use cuda_mma::fragment::Element;
    use kernels_gpu::product::Form;

    #[test]
    fn the_emulator_has_what_an_h200_has() {
        let device = Emulator::new();
        assert_eq!((device.chip(), device.multiprocessors()), (Some(Chip::Sm90), 132));
        assert_eq!(device.shared_bytes(), Limits::H200.shared_bytes);
        let kernel = kernels_gpu::wide2d::kernel(Form::Sparse, Element::F16, 1).unwrap();
        let threads = kernels_gpu::wide2d::threads(Form::Sparse, 1);
        let resident = |shared_bytes, most| {
            resident_blocks(&device, &kernel, threads, shared_bytes, most).unwrap()
        };
        // 9 warps put 3 on one of four partitions, whose registers are for that many of 168.
        assert_eq!(resident(0, u32::MAX), 132);
        assert_eq!(resident(exclusive_bytes(&device, 1), u32::MAX), 132);
        let error = resident_blocks(&device, &kernel, threads, 1 << 20, 1).unwrap_err();
        let text = "a block of 288 threads and 1048576 bytes of shared memory does not fit";
        assert!(error.to_string().contains(text), "{error}");
    }
}
