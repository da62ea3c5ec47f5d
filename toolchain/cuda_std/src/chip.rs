// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the chip can do that the code is for: known when it is compiled, so that what it cannot do is
//! compiled away; in the emulator, that of the launch.

/// Whether it is Hopper or later (sm_90), with a copy engine (bulk copies, TMA), barriers that count
/// bytes, overlapping launches and `stmatrix`. Else it is Ampere or Ada (sm_80 to sm_89).
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
#[must_use]
pub const fn is_sm_90() -> bool {
    const SM_90: bool = match option_env!("CUDA_ARCH") {
        Some(name) => number(name) >= 90,
        None => cfg!(target_feature = "sm_90"),
    };
    SM_90
}

/// Whether it is Hopper or later (sm_90), with a copy engine (bulk copies, TMA), barriers that count
/// bytes, overlapping launches and `stmatrix`. Else it is Ampere or Ada (sm_80 to sm_89).
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn is_sm_90() -> bool {
    cuda_sim::Chip::current() >= cuda_sim::Chip::Sm90
}

/// The number in a name such as `sm_90a`.
#[cfg(target_arch = "nvptx64")]
const fn number(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let (mut number, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at].is_ascii_digit() {
            number = 10 * number + (bytes[at] - b'0') as u32;
        }
        at += 1;
    }
    number
}
