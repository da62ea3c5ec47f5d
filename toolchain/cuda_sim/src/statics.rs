// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static shared memory: each block has its own. What a kernel reads and writes there is not checked.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// The most bytes of a block's static shared memory.
pub const MOST_STATIC_BYTES: u32 = 48 << 10;

/// What nothing has initialised: no number in any floating-point type.
const FILL: u8 = 0xff;

/// The memory of a static in a block.
pub struct Static {
    start: *mut u8,
    layout: Layout,
}

impl Static {
    pub fn new(layout: Layout) -> Self {
        // A static without size has an address, too.
        let bytes = layout.size().max(1);
        let layout = Layout::from_size_align(bytes, layout.align()).expect("as before, but for 0");
        // SAFETY: it has a size.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: just allocated.
        unsafe { start.write_bytes(FILL, bytes) };
        Self { start, layout }
    }

    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Static {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`. The lanes that know the address are gone.
        unsafe { dealloc(self.start, self.layout) };
    }
}
