// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wrappers on a real GPU; skipped, with the reason, where there is none.

use cuda_driver::cust::device::Device;
use cuda_driver::cust::memory::DeviceBuffer;
use cuda_driver::cust::module::Module;
use cuda_driver::{
    Attribute, ElementType, L2Promotion, Swizzle, TensorMap2d, attribute, load,
    set_max_dynamic_shared_memory,
};

const PTX: &str = "
.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry nothing() { ret; }
";

#[test]
fn the_wrappers_work_on_a_gpu() {
    if let Err(error) = load() {
        eprintln!("skipped: {error}");
        return;
    }
    let context = match cuda_driver::cust::quick_init() {
        Ok(context) => context,
        Err(error) => {
            eprintln!("skipped: there is a driver, but no GPU ({error})");
            return;
        }
    };
    let device = Device::get_device(0).unwrap();
    let limit = attribute(device, Attribute::MaxSharedMemoryPerBlockOptin).unwrap();
    assert!((48 * 1024..1 << 20).contains(&limit), "{limit} bytes of shared memory");
    assert!(attribute(device, Attribute::MaxBlocksPerMultiprocessor).unwrap() >= 16);

    let module = Module::from_ptx(PTX, &[]).unwrap();
    let kernel = module.get_function("nothing").unwrap();
    let blocks = |bytes| kernel.max_active_blocks_per_multiprocessor(128.into(), bytes);
    set_max_dynamic_shared_memory(&kernel, limit).unwrap();
    assert_eq!(blocks(limit as usize), Ok(1));
    let error = set_max_dynamic_shared_memory(&kernel, limit + 1).unwrap_err();
    assert_eq!((error.call, error.status), ("cuFuncSetAttribute", 1));
    assert!(error.to_string().contains("invalid argument"), "{error}");

    let buffer = DeviceBuffer::<u16>::zeroed(1024 * 64).unwrap();
    for element in [ElementType::F16, ElementType::Bf16, ElementType::F32, ElementType::F64] {
        let map = TensorMap2d {
            element,
            width: 2048 / element.bytes() - 1,
            height: 64,
            row_bytes: 2048,
            box_width: (16 / element.bytes()) as u32,
            box_height: 64,
            l2_promotion: L2Promotion::Bytes128,
            swizzle: Swizzle::None,
        };
        map.encode(buffer.as_device_ptr()).unwrap();
    }
    drop(context);
}
