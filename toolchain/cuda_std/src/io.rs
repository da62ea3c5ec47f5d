// SPDX-License-Identifier: MIT OR Apache-2.0
//! Printing from a kernel, and assertions that say what failed: the macros [`print!`](crate::print),
//! [`println!`](crate::println), [`assert_eq!`](crate::assert_eq) and [`assert_ne!`](crate::assert_ne).
//!
//! The text is put together in the thread's own memory, at most [`MOST`] bytes at a time, and handed to the driver's
//! `vprintf`, which keeps it in a buffer (1 MiB, unless the host sets it otherwise; older text is lost) until the host waits
//! for the GPU. Pieces of up to [`MOST`] bytes are not torn apart by other threads' text. A failed assertion prints and ends
//! the kernel with an error that the host sees.

#[cfg(target_arch = "nvptx64")]
use core::fmt::{self, Write};

/// Bytes that are printed at a time.
pub const MOST: usize = 256;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// The driver provides it to every kernel.
    fn vprintf(format: *const u8, arguments: *const *const u8) -> i32;
}

/// Text on its way.
#[cfg(target_arch = "nvptx64")]
struct Buffer {
    /// The last byte stays for the end.
    text: [u8; MOST + 1],
    len: usize,
}

#[cfg(target_arch = "nvptx64")]
impl Buffer {
    fn flush(&mut self) {
        self.text[self.len] = 0;
        let text = self.text.as_ptr();
        // SAFETY: the format takes one text, which ends with a zero.
        unsafe { vprintf(b"%s\0".as_ptr(), &raw const text) };
        self.len = 0;
    }
}

#[cfg(target_arch = "nvptx64")]
impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len == MOST {
                self.flush();
            }
            self.text[self.len] = byte;
            self.len += 1;
        }
        Ok(())
    }
}

/// Prints.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
#[inline(never)]
pub fn print(text: fmt::Arguments<'_>) {
    let mut buffer = Buffer { text: [0; MOST + 1], len: 0 };
    let _ = buffer.write_fmt(text);
    if buffer.len > 0 {
        buffer.flush();
    }
}

/// Ends the kernel.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
#[inline(never)]
pub fn fail(text: fmt::Arguments<'_>) -> ! {
    print(format_args!("assertion failed: {text}\n"));
    // SAFETY: `trap` ends the kernel with an error that the host sees; it has no precondition.
    unsafe { core::arch::nvptx::trap() }
}

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use cuda_sim::io::{fail, print};

/// Prints a text from a kernel, as `std::print!` does. See [`io`](crate::io).
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {
        $crate::io::print(::core::format_args!($($text)*))
    };
}

/// Prints a line from a kernel, as `std::println!` does. See [`io`](crate::io).
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($text:tt)*) => {
        $crate::io::print(::core::format_args!("{}\n", ::core::format_args!($($text)*)))
    };
}

/// Ends the kernel with a message unless two values are equal. See [`io`](crate::io).
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left == *right) {
                    $crate::io::fail(::core::format_args!(
                        "{} == {}, {}:{}: left {:?}, right {:?}",
                        ::core::stringify!($left),
                        ::core::stringify!($right),
                        ::core::file!(),
                        ::core::line!(),
                        left,
                        right
                    ));
                }
            }
        }
    };
}

/// Ends the kernel with a message if two values are equal. See [`io`](crate::io).
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => {
                if *left == *right {
                    $crate::io::fail(::core::format_args!(
                        "{} != {}, {}:{}: both {:?}",
                        ::core::stringify!($left),
                        ::core::stringify!($right),
                        ::core::file!(),
                        ::core::line!(),
                        left
                    ));
                }
            }
        }
    };
}
