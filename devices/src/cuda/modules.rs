// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels, each a module of its own, so that the driver translates only those that run: all of
//! them take it some ten seconds, one takes a fraction of a second.

use super::super::failed;
use cuda_driver::{Context, Function, Loaded};
use problem::Error;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use cuda_driver::Code;

/// The kernels of some PTX, translated when they are first asked for.
pub struct Modules {
    context: Context,
    ptx: Vec<String>,
    /// Kernels that this program carries, unpacked when one of them is asked for that none of the others is.
    carried: Option<Code>,
    unpacked: OnceCell<String>,
    /// Shared memory, in bytes, that one block can ask for.
    most_shared_bytes: u32,
    /// By name; never removed before the end.
    loaded: RefCell<BTreeMap<String, Box<Loaded>>>,
}

impl Modules {
    /// None of them translated yet.
    pub fn new(
        context: &Context,
        ptx: Vec<String>,
        carried: Option<Code>,
        most_shared_bytes: u32,
    ) -> Self {
        let (unpacked, loaded) = Default::default();
        Self { context: context.clone(), ptx, carried, unpacked, most_shared_bytes, loaded }
    }

    /// The PTX of a kernel.
    fn of_carried(&self, name: &str) -> Option<String> {
        let carried = self.carried?;
        entry(self.unpacked.get_or_init(|| carried.ptx()), name)
    }

    /// A kernel by its name. Its launches may take all shared memory of a block:
    /// the limit is the kernel's, not a launch's, so a launch that set its own would refuse those of
    /// others that need more.
    ///
    /// # Errors
    /// There is none of this name, or the driver refuses it.
    pub fn function(&self, name: &str) -> Result<Function<'_>, Error> {
        let mut loaded = self.loaded.borrow_mut();
        if !loaded.contains_key(name) {
            let ptx = self.ptx.iter().find_map(|ptx| entry(ptx, name));
            let ptx = ptx.or_else(|| self.of_carried(name));
            let ptx =
                ptx.ok_or_else(|| failed(&format!("find the kernel {name}"))("there is none"))?;
            let module = Loaded::new(&self.context, &ptx, kernels_gpu::MOST_REGISTERS);
            let module = module.map_err(failed("load a kernel"))?;
            let kernel = module.function(name).map_err(failed("find a kernel"))?;
            cuda_driver::set_max_dynamic_shared_memory(&kernel, self.most_shared_bytes)
                .map_err(failed("set a kernel's shared memory"))?;
            loaded.insert(name.to_owned(), Box::new(module));
        }
        // SAFETY: the box is neither dropped nor moved out of before `self` is dropped.
        let module: &Loaded = unsafe { &*std::ptr::from_ref::<Loaded>(&loaded[name]) };
        module.function(name).map_err(failed("find a kernel"))
    }
}

/// A PTX with only this kernel: what comes before all kernels, and the kernel. Ours call no functions.
pub fn entry(ptx: &str, name: &str) -> Option<String> {
    const ENTRY: &str = ".visible .entry ";
    let header = &ptx[..ptx.find(ENTRY)?];
    let start = ptx.find(&format!("{ENTRY}{name}("))?;
    let body = &ptx[start..];
    let end = body[ENTRY.len()..].find(ENTRY).map_or(body.len(), |next| ENTRY.len() + next);
    Some(format!("{header}{}", &body[..end]))
}

#[cfg(test)]
mod tests {
    use super::entry;

    const PTX: &str = "\
.version 8.6
.extern .shared .align 128 .b8 dynamic_shared[];
.visible .entry sweep_r1(
) { ret; }
.visible .entry sweep_r10(
) { trap; }
";

    #[test]
    fn a_kernel_is_taken_with_what_all_need_and_nothing_else() {
        let header = ".version 8.6\n.extern .shared .align 128 .b8 dynamic_shared[];\n";
        let first = format!("{header}.visible .entry sweep_r1(\n) {{ ret; }}\n");
        assert_eq!(entry(PTX, "sweep_r1"), Some(first));
        let last = format!("{header}.visible .entry sweep_r10(\n) {{ trap; }}\n");
        assert_eq!(entry(PTX, "sweep_r10"), Some(last));
        assert_eq!(entry(PTX, "sweep"), None);
        assert_eq!(entry("", "sweep"), None);
    }
}
