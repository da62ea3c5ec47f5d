// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Python package `stencil`: the library's simulations on numpy arrays, and on arrays of a GPU.
//!
//! Python sees `python/stencil/`, which takes over what is here; its types stand in `__init__.pyi` there.

use pyo3::prelude::*;

mod arrays;
mod choices;
mod computation;
mod device_array;
mod dlpack;
mod errors;
mod gradient;
mod help;
mod ndimage;
mod ndimage_on_gpu;
mod numbers;
mod planning;
mod prepared;
mod process;
mod recipe;
mod simulation;
mod state;
mod system;
mod worker;

/// What `import stencil` takes over.
#[pymodule]
fn _stencil(module: &Bound<'_, PyModule>) -> PyResult<()> {
    process::loaded();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<computation::Computation>()?;
    module.add_class::<simulation::PySimulation>()?;
    module.add_class::<system::PySystem>()?;
    module.add_class::<device_array::DeviceArray>()?;
    module.add_class::<state::KeptState>()?;
    module.add_function(wrap_pyfunction!(simulation::run, module)?)?;
    module.add_function(wrap_pyfunction!(recipe::described, module)?)?;
    module.add_function(wrap_pyfunction!(recipe::current_folder, module)?)?;
    module.add_function(wrap_pyfunction!(recipe::outline, module)?)?;
    module.add_function(wrap_pyfunction!(recipe::dtype_name, module)?)?;
    module.add_function(wrap_pyfunction!(ndimage::filter, module)?)?;
    module.add_class::<ndimage_on_gpu::DeviceFilter>()?;
    module.add_class::<ndimage_on_gpu::DeviceInput>()?;
    module.add_function(wrap_pyfunction!(ndimage_on_gpu::filter_on_gpu, module)?)?;
    module.add_function(wrap_pyfunction!(planning::plan, module)?)?;
    module.add_function(wrap_pyfunction!(planning::catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(planning::weights, module)?)?;
    module.add_function(wrap_pyfunction!(planning::examples, module)?)
}
