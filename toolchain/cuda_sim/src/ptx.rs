// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels as PTX: what the compiler made of them for the GPU, instruction by instruction. So every access is seen, also
//! those through plain pointers, slices and references.

mod instructions;
mod machine;
mod wgmma;

use crate::config::{LaunchConfig, Stats};
use crate::fault::Fault;
use crate::launch::launch_with;
use crate::limits::check_kernel;
use crate::memory::Memory;
use crate::site::Site;
use crate::source::SourceLine;
use cuda_kernel::{AnyCall, Entry, Kernel};
use machine::Lane;
pub use ptx_sim::ParseError;
use ptx_sim::Thread;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The module that `cuda_builder::embed_lines` left in this crate's build script: a `Result<Module, String>`, whose error
/// says why there is none.
#[macro_export]
macro_rules! module {
    () => {{
        let ptx: ::core::result::Result<&str, &str> =
            ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/lines.rs"));
        $crate::Module::of(ptx)
    }};
}

/// Bytes between static variables of shared memory, which belong to none.
const GAP: u32 = 256;

/// The PTX of a kernel crate. [`Module::launch`] is to it what [`crate::launch`] is to the kernel's own code.
///
/// Lines are told where the PTX names them: `cuda_builder` adds them (`CudaBuilder::debug`, `DebugInfo::LineTables`).
#[derive(Debug)]
pub struct Module {
    program: ptx_sim::Module,
    /// By the numbers that instructions have for them.
    sources: Vec<Option<SourceLine>>,
    /// Another one for each module.
    number: usize,
}

impl Module {
    /// Reads PTX.
    ///
    /// # Errors
    /// What is not PTX. An instruction that is not known is reported by the launch that comes to it.
    pub fn read(ptx: &str) -> Result<Self, ParseError> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let program = ptx_sim::Module::read(ptx)?;
        let source = |number: u32| {
            let (file, line, column) = program.line(number)?;
            Some(SourceLine::named(file, line, column))
        };
        let sources = (0..program.lines() as u32).map(source).collect();
        Ok(Self { program, sources, number: COUNT.fetch_add(1, Ordering::Relaxed) })
    }

    /// What [`module!`](crate::module!) finds.
    #[doc(hidden)]
    pub fn of(ptx: Result<&str, &str>) -> Result<Self, String> {
        Self::read(ptx?).map_err(|error| error.to_string())
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program.kernels()
    }

    /// Runs a kernel, with parameters that lead to buffers of `memory`.
    ///
    /// # Errors
    /// The driver would refuse the launch, or the first mistake of the kernel.
    ///
    /// # Panics
    /// Where the module has no such kernel or one of other parameters, or the system no memory for the lanes' stacks.
    #[track_caller]
    pub fn launch<K: Kernel>(
        &self,
        config: LaunchConfig,
        memory: &mut Memory,
        parameters: K::Parameters,
    ) -> Result<Stats, Fault> {
        self.launch_call(&Entry::of::<K>().with(parameters), config, memory)
    }

    /// Runs a kernel that is given with its parameters, which lead to buffers of `memory`.
    ///
    /// # Errors
    /// The driver would refuse the launch, or the first mistake of the kernel.
    ///
    /// # Panics
    /// Where the module has no such kernel, or the system no memory for the lanes' stacks.
    #[track_caller]
    pub fn launch_call(
        &self,
        call: &impl AnyCall,
        config: LaunchConfig,
        memory: &mut Memory,
    ) -> Result<Stats, Fault> {
        let name = call.name();
        let Some(kernel) = self.program.kernel(name) else {
            panic!("the module has no kernel {name}");
        };
        let parameters = self.parameters(call, kernel);
        if let Err(refusal) = check_kernel(&config, call.registers(), parameters.len()) {
            let site = Site { block: 0, warp: 0, lane: 0, location: SourceLine::present() };
            return Err(Fault { kernel: name.into(), site, kind: refusal.into() });
        }
        let statics = self.statics(&config);
        let places: Vec<Range<u32>> = statics.iter().filter(|it| !it.is_empty()).cloned().collect();
        let globals = self.globals(memory);
        launch_with(name, config, &places, memory, || {
            let sources = &self.sources;
            let mut lane = Lane::new(sources, &globals, &statics);
            // A mistake ends the launch, and the lane with it.
            let _ = Thread::new(&self.program, kernel, &parameters).run(&mut lane);
        })
    }

    /// The bytes of a kernel's parameters, each where the kernel has it.
    fn parameters(&self, call: &impl AnyCall, kernel: usize) -> Vec<u8> {
        let slots = self.program.parameters(kernel);
        let (mut own, name) = (Vec::new(), call.name());
        call.sizes(&mut |size| own.push(size));
        let wanted: Vec<usize> = slots.iter().map(|slot| slot.bytes).collect();
        assert_eq!(
            own, wanted,
            "bytes of each parameter of {name}: of the launch, and in this module"
        );
        let mut bytes = vec![0; slots.last().map_or(0, |last| last.start + last.bytes)];
        call.with_pointers(&mut |pointers| {
            for (slot, pointer) in slots.iter().zip(pointers) {
                let to = &mut bytes[slot.start..slot.start + slot.bytes];
                // SAFETY: the parameter has this size, and `with_pointers` gives a pointer to each.
                unsafe { pointer.cast::<u8>().copy_to_nonoverlapping(to.as_mut_ptr(), slot.bytes) };
            }
        });
        bytes
    }

    /// Where each static variable of shared memory is; dynamic shared memory is at 0.
    fn statics(&self, config: &LaunchConfig) -> Vec<Range<u32>> {
        let mut end = config.shared_bytes;
        let place = |variable: &ptx_sim::Variable| {
            if variable.is_dynamic {
                return 0..0;
            }
            let start = (end + GAP).next_multiple_of(variable.alignment.max(16) as u32);
            end = start + variable.bytes.len() as u32;
            start..end
        };
        self.program.shared.iter().map(place).collect()
    }

    /// The addresses of the module's variables in global memory, where they stay from launch to launch.
    fn globals(&self, memory: &mut Memory) -> Vec<u64> {
        if let Some(found) = memory.variables.get(&self.number) {
            return found.clone();
        }
        let variables = &self.program.globals;
        let buffers: Vec<_> = variables
            .iter()
            .map(|it| match it.is_constant {
                true => memory.input(&it.name, &it.bytes),
                false => memory.in_out(&it.name, &it.bytes),
            })
            .collect();
        let addresses: Vec<u64> = buffers.iter().map(|it| it.as_ptr() as u64).collect();
        for (variable, buffer) in variables.iter().zip(&buffers) {
            for (at, to) in &variable.addresses {
                memory.fill_new(*buffer, *at, &addresses[*to].to_le_bytes());
            }
        }
        memory.variables.insert(self.number, addresses.clone());
        addresses
    }
}
