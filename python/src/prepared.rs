// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps of `stencil.run` that are kept, since to plan them takes longer than a step of a small array. They read an array of
//! numpy where it lies, and write the one that is given back.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use pyo3::prelude::*;
use rayon::ThreadPool;
use stencil::engine::{EngineRequest, Sweeps};
use stencil::error::InterruptedWork;
use stencil::families::Family;
use stencil::run::{checked, sweeps};
use stencil::{Depth, Dtype, Error, Shape, with_dtype};

use crate::arrays::{HostArray, StoredType, filled};
use crate::choices::{Choices, Weights};
use crate::{errors, process, worker};

/// Sweeps that are kept, at most. Each has some bytes for each weight, whatever the arrays have.
const MOST: usize = 64;
/// Weights of those that are kept, at most.
const MOST_TAPS: usize = 4096;
/// Products that Python's lock is kept for, if no other thread is waited for: to have it again, after it was given up, may take
/// longer.
const SHORT: usize = 1 << 20;

/// All that decides how something is computed.
#[derive(PartialEq)]
struct Key {
    weights: Weights,
    boundary: String,
    dtype: Option<Dtype>,
    engine: EngineRequest,
    kernel: Option<&'static str>,
    depths: [Depth; 3],
    shape: Shape,
    own: Dtype,
    steps: usize,
}

/// What is kept of a key; nothing where no sweeps are taken.
type CachedSweeps = (Key, Option<Arc<Sweeps>>);

/// The least recently used first. Whoever has it locked has Python's lock, too, so that no `fork` finds it locked.
static KEPT: Mutex<Vec<CachedSweeps>> = Mutex::new(Vec::new());

/// The sweeps that take so many steps of arrays of a shape and type, kept or planned now; none where the steps are not taken
/// by sweeps.
pub fn find(
    py: Python<'_>,
    weights: &Weights,
    choices: &Choices,
    (shape, own): (Shape, Dtype),
    steps: usize,
) -> PyResult<Option<Arc<Sweeps>>> {
    let &Choices { dtype, engine, kernel, fuse, chain, jump, .. } = choices;
    let (boundary, kernel) = (choices.boundary.clone(), kernel.map(Family::name));
    let depths = [fuse, chain, jump];
    let weights = weights.clone();
    let key = Key { weights, boundary, dtype, engine, kernel, depths, shape, own, steps };
    if let Some(found) = kept(&key) {
        return Ok(found);
    }
    let stencil = key.weights.stencil(py)?;
    let (choices, taps) = (choices.clone(), stencil.taps().len());
    // On a thread of its own, as whatever may ask for a GPU.
    let planned = worker::once(py, move |_| {
        sweeps(&checked(choices.job(stencil, shape, own, steps)?)?, engine)
    })?;
    let planned = planned.map(Arc::new);
    // Another thread may have planned it meanwhile; and large weights would take more memory than their plan takes time.
    if taps > MOST_TAPS || kept(&key).is_some() {
        return Ok(planned);
    }
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= MOST {
        all.remove(0);
    }
    all.push((key, planned.clone()));
    Ok(planned)
}

fn kept(key: &Key) -> Option<Option<Arc<Sweeps>>> {
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = all.iter().rposition(|(known, _)| known == key)?;
    all[place..].rotate_left(1);
    all.last().map(|(_, sweeps)| sweeps.clone())
}

/// Takes the steps of an array of the sweeps' shape into a new one. An array of another type is converted first.
pub fn take(py: Python<'_>, sweeps: &Sweeps, array: &HostArray<'_>) -> PyResult<Py<PyAny>> {
    let (dtype, shape) = (sweeps.job().dtype, sweeps.job().shape);
    sweeps.check_memory().map_err(|error| errors::raised(py, &error))?;
    with_dtype!(dtype, T => filled::<T, ()>(py, shape.axes(), |to| {
        if array.dtype == dtype.stored() {
            return array.values(|from: &[T]| into(py, sweeps, from, to))?;
        }
        let grid = array.grid()?;
        let stored = {
            let pool = process::pool(py)?;
            py.detach(|| pooled(pool.as_deref(), || grid.stored_as(dtype)))
        };
        let stored = stored.map_err(|error| errors::raised(py, &error))?;
        into(py, sweeps, stored.as_slice().expect("values of the type"), to)
    }))
}

/// Takes the steps of values in C order into others. Long work leaves Python's lock to others, and Ctrl-C ends it.
pub fn into<T: StoredType>(
    py: Python<'_>,
    sweeps: &Sweeps,
    from: &[T],
    to: &mut [T],
) -> PyResult<()> {
    if sweeps.is_serial() && sweeps.products() <= SHORT {
        let taken = sweeps.take(from, to, &mut || Ok(()));
        return taken.map_err(|error| errors::raised(py, &error));
    }
    if let Some(pool) = process::pool(py)? {
        return in_a_child(py, &pool, |go_on| sweeps.take(from, to, go_on));
    }
    let (mut raised, mut looked) = (None, Instant::now());
    let taken = py.detach(|| {
        let mut go_on = || {
            if looked.elapsed() < worker::LOOK {
                return Ok(());
            }
            looked = Instant::now();
            raised = Python::attach(|py| py.check_signals()).err();
            match raised {
                Some(_) => Err(Error::Stopped { during: InterruptedWork::Computing }),
                None => Ok(()),
            }
        };
        sweeps.take(from, to, &mut go_on)
    });
    match raised {
        Some(raised) => Err(raised),
        None => taken.map_err(|error| errors::raised(py, &error)),
    }
}

/// Asks whether to go on.
type ContinueCheck<'a> = &'a mut dyn FnMut() -> Result<(), Error>;

/// Takes steps by the threads of a process that `fork` made, while the thread that Python has looks for Ctrl-C.
fn in_a_child(
    py: Python<'_>,
    pool: &ThreadPool,
    take: impl FnOnce(ContinueCheck<'_>) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let stop = AtomicBool::new(false);
    let mut raised = None;
    let taken = py.detach(|| {
        let (done, ended) = mpsc::channel();
        thread::scope(|scope| {
            let stop = &stop;
            let steps = scope.spawn(move || {
                let mut go_on = || match stop.load(Relaxed) {
                    true => Err(Error::Stopped { during: InterruptedWork::Computing }),
                    false => Ok(()),
                };
                let taken = pool.install(|| take(&mut go_on));
                // Nobody listens after an end.
                let _ = done.send(());
                taken
            });
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(worker::LOOK) {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                    stop.store(raised.is_some(), Relaxed);
                }
            }
            steps.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    });
    match raised {
        Some(raised) => Err(raised),
        None => taken.map_err(|error| errors::raised(py, &error)),
    }
}

/// Does something with the threads that this process has.
fn pooled<R: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        None => work(),
        Some(pool) => pool.install(work),
    }
}
