// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program sees where there is no driver. One test, because the driver is loaded for a whole
//! process.
#![allow(unsafe_code, reason = "calls a driver function directly")]

use cuda_driver::{Device, Gpu, is_loaded, load, synchronize};

#[test]
fn calls_fail_cleanly_without_a_driver() {
    if let Err(error) = load() {
        assert!(!is_loaded());
        let text = error.to_string();
        assert!(text.starts_with("no NVIDIA driver: libcuda.so.1 cannot be loaded"), "{text}");
        assert!(text.ends_with("or run on a machine that has it"), "{text}");
        assert_eq!(load().unwrap_err().to_string(), text, "the first answer stays");
        assert_eq!(Gpu::open().unwrap_err().to_string(), text);

        #[cfg(feature = "cust")]
        {
            use cuda_driver::cust::{CudaFlags, error::CudaError, init, sys};
            // SAFETY: `cuInit` has no precondition.
            let status = unsafe { sys::cuInit(0) };
            assert_eq!(status as u32, 34);
            let error = init(CudaFlags::empty()).unwrap_err();
            assert!(error.to_string().contains("driver is not loaded"), "{error}");
            assert_eq!(error, CudaError::UnknownError, "cust has no name of its own for 34");
        }
        let error = Device::count().unwrap_err();
        assert_eq!((error.call, error.status), ("cuInit", 34));
        let text = "cuCtxSynchronize failed with CUDA error 34: the CUDA driver is not loaded";
        assert_eq!(synchronize().unwrap_err().to_string(), text);
    } else {
        assert!(is_loaded());
    }
}
