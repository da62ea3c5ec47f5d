// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes PTX, instruction by instruction. A [`Module`] is read, and a [`Thread`] executes a kernel of it on a [`Machine`],
//! which has the memory and the other threads: `cuda_sim` is one, for kernels in Rust. The first instruction that is not known
//! is named.
//!
//! [`Program`] and [`Memory`] are another one, for a kernel of one entry that a program writes: its threads run one after the
//! other from barrier to barrier, and every access is checked, so that it is tested without a GPU.
//!
//! ```
//! use ptx_sim::{Memory, Program};
//!
//! let program = Program::read(
//!     ".entry double(.param .align 8 .b8 parameters[16])
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

mod comparison;
mod compute;
mod convert;
mod decode;
mod labels;
mod lines;
mod machine;
mod memory;
mod module;
mod operands;
mod parse;
mod program;
mod registers;
mod run;
mod scalar;
mod scan;
mod shared;
mod thread;
mod types;
mod variables;

pub use machine::Machine;
pub use memory::Memory;
pub use module::{Access, MemoryOrder, Module, Scope, Slot, Space, Special, Variable};
pub use program::Program;
pub use thread::{LOCAL, SHARED, Thread, space_of};
pub use variables::ParseError;

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
