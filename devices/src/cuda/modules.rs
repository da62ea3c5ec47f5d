// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, each a module of its own, so that the driver translates only those that run: all of
//! them take it some ten seconds, one takes a fraction of a second.

use super::super::carried::{Carried, entry};
use super::super::failed;
use cuda_driver::{Context, Function, Loaded};
use problem::Error;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The kernels of some PTX, and those that this program carries, translated when they are first asked for.
pub struct Modules {
    context: Context,
    ptx: Option<String>,
    /// Asked for what the PTX does not have.
    carried: Option<Carried>,
    /// Shared memory, in bytes, that one block can ask for.
    most_shared_bytes: u32,
    /// By name; never removed before the end.
    loaded: RefCell<BTreeMap<String, Box<Loaded>>>,
}

impl Modules {
    /// None of them translated yet.
    pub fn new(
        context: &Context,
        ptx: Option<String>,
        carried: Option<Carried>,
        most_shared_bytes: u32,
    ) -> Self {
        let loaded = RefCell::default();
        Self { context: context.clone(), ptx, carried, most_shared_bytes, loaded }
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
            let own = self.ptx.as_ref().and_then(|ptx| entry(ptx, name)).map(Into::into);
            let ptx = own.or_else(|| self.carried.as_ref()?.kernel(name));
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
