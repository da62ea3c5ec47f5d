// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes PTX that a program writes: a kernel of one entry is read, and its threads run one after the other from
//! barrier to barrier. Every access is checked, so that a kernel is tested without a GPU.
//!
//! It knows the instructions that generated kernels have, and names the first one that it does not know.
//!
//! ```
//! use ptx_sim::{Memory, Program};
//!
//! let program = Program::read(
//!     ".entry double(
//! )
//! {
//! .reg .b64 %at<2>;
//! .reg .b32 %x<2>;
//! ld.param.u64 %at0, [parameters+0];
//! ld.param.u64 %at1, [parameters+8];
//! ld.global.nc.f32 %x0, [%at0];
//! add.f32 %x1, %x0, %x0;
//! st.global.f32 [%at1], %x1;
//! ret;
//! }
//! ",
//! );
//! let mut memory = Memory::new(&program, vec![1.5f32.to_le_bytes().to_vec(), vec![0; 4]]);
//! memory.begin([1]);
//! memory.begin_block(0);
//! let addresses = [Memory::address(0), Memory::address(1)];
//! program.run_block(&mut memory, &addresses, [0, 1]).unwrap();
//! assert_eq!(memory.bytes(1), 3f32.to_le_bytes());
//! ```

mod compute;
mod convert;
mod decode;
mod execute;
mod lines;
mod memory;
mod module;
mod operands;
mod parse;
mod read;
mod scan;
mod thread;
mod types;

pub use memory::Memory;
pub use module::{Access, Module, Order, Slot, Space, Special, Variable};
pub use parse::Misread;
pub use read::Program;
pub use thread::{LOCAL, Machine, SHARED, Thread, space_of};

/// The first mistake of a kernel, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {block}, thread {thread}, at `{instruction}`: {what}")]
pub struct Fault {
    /// The block.
    pub block: u32,
    /// The thread in its block.
    pub thread: u32,
    /// The instruction, as it is written.
    pub instruction: String,
    /// What is wrong.
    pub what: String,
}

#[cfg(test)]
mod tests;
