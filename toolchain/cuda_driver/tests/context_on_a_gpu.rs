// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wrappers on a real GPU; skipped, with the reason, where there is none.

use cuda_driver::{
    Allocation, Attribute, Context, Device, ElementType, L2Promotion, Loaded, StreamEvent, Swizzle,
    TensorMap2d, driver_version, free_memory, load, set_max_dynamic_shared_memory,
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
    let context = match Device::nth(0).and_then(Context::new) {
        Ok(context) => context,
        Err(error) => {
            eprintln!("skipped: there is a driver, but no GPU ({error})");
            return;
        }
    };
    let device = Device::nth(0).unwrap();
    assert!(driver_version().unwrap() >= (12, 0));
    assert!(!device.name().unwrap().is_empty());
    assert!(free_memory().unwrap() <= device.total_memory().unwrap());
    let limit = device.attribute(Attribute::MaxSharedMemoryPerBlockOptin).unwrap();
    assert!((48 * 1024..1 << 20).contains(&limit), "{limit} bytes of shared memory");
    assert!(device.attribute(Attribute::MaxBlocksPerMultiprocessor).unwrap() >= 16);

    let module = Loaded::new(&context, PTX, 64).unwrap();
    assert_eq!(module.function("something").unwrap_err().status, 500);
    let kernel = module.function("nothing").unwrap();
    let blocks = |bytes| kernel.resident_blocks(128, bytes);
    set_max_dynamic_shared_memory(&kernel, limit).unwrap();
    assert_eq!(blocks(limit), Ok(1));
    let error = set_max_dynamic_shared_memory(&kernel, limit + 1).unwrap_err();
    assert_eq!((error.call, error.status), ("cuFuncSetAttribute", 1));
    assert!(error.to_string().contains("invalid argument"), "{error}");

    let buffer = Allocation::zeroed(&context, 2048 * 64).unwrap();
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
        map.encode(buffer.address()).unwrap();
    }
    let values: Vec<u32> = (0..1000).collect();
    let mut copy = vec![0; 4000];
    Allocation::of(&context, &values).unwrap().read(&mut copy).unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, u32>(&copy), values);
    let [start, end] = [(); 2].map(|()| StreamEvent::timed(&context).unwrap());
    let stream = cuda_driver::Stream::new(&context, 0).unwrap();
    start.record(&stream).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    assert!(end.milliseconds_since(&start).unwrap() >= 0.0);
    // The context goes first, and the rest on another thread.
    drop((context, module));
    std::thread::spawn(|| drop((buffer, start, end, stream))).join().unwrap();
}
