// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that owns a computation. A GPU's context belongs to a thread, and Python's threads are many: so whoever
//! wants something of a computation asks its thread, and waits without Python's lock. Ctrl-C ends the wait.
//!
//! A process that `fork` made, as `multiprocessing` may, has none of its parent's threads ([`crate::process`]): there a
//! computation is made with a pool of threads of its own, and one that the parent made is refused.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use stencil::Error;
use stencil::control::{Control, Meter, Progress, Stop, Work};

use crate::{errors, process};

/// Between two looks at Ctrl-C.
pub const LOOK: Duration = Duration::from_millis(50);

/// How long a thread looks for what comes before it sleeps.
const SOON: Duration = Duration::from_micros(100);

type Task<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A computation on its own thread, which ends with this.
pub struct Worker<T> {
    /// None once it is to end.
    tasks: Option<Sender<Task<T>>>,
    thread: Option<JoinHandle<()>>,
    /// Asks the computation to stop.
    stop: Arc<AtomicBool>,
    /// How many steps of those that were asked for are done.
    reached: Arc<AtomicUsize>,
    /// The process that has the thread.
    process: u32,
}

/// Notes how far steps have come.
struct StepProgress(Arc<AtomicUsize>);

/// Notes it for one piece of work.
struct StepMeter(Option<Arc<AtomicUsize>>);

impl Progress for StepProgress {
    fn begin(&self, work: Work, _: usize) -> Box<dyn Meter> {
        let own = (work == Work::Computing).then(|| Arc::clone(&self.0));
        if let Some(reached) = &own {
            reached.store(0, Ordering::Relaxed);
        }
        Box::new(StepMeter(own))
    }
}

impl Meter for StepMeter {
    fn reached(&mut self, done: usize) {
        if let Some(reached) = &self.0 {
            reached.store(done, Ordering::Relaxed);
        }
    }
}

impl<T: 'static> Worker<T> {
    /// Makes the computation on its thread, and waits until it is there.
    pub fn start(
        py: Python<'_>,
        make: impl FnOnce(Control) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let reached = Arc::new(AtomicUsize::new(0));
        let told: Arc<dyn Progress> = Arc::new(StepProgress(Arc::clone(&reached)));
        let control = Control { stop: Stop::from(Arc::clone(&stop)), progress: Some(told) };
        let (tasks, queue) = mpsc::channel::<Task<T>>();
        let (made, answer) = mpsc::channel();
        let work = move || match make(control) {
            Ok(mut computation) => {
                let _ = made.send(Ok(()));
                while let Some(task) = next(&queue) {
                    task(&mut computation);
                }
            }
            Err(error) => drop(made.send(Err(error))),
        };
        let thread = thread::Builder::new().name("stencil".into());
        let thread = match process::own_pool()? {
            None => thread.spawn(work)?,
            Some(pool) => thread.spawn(move || pool.install(work))?,
        };
        let process = std::process::id();
        let worker = Self { tasks: Some(tasks), thread: Some(thread), stop, reached, process };
        wait(py, &worker.stop, answer, |_| Ok(()))?;
        Ok(worker)
    }

    /// Has the thread do something with the computation, and waits for the answer.
    pub fn ask<R: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut T) -> Result<R, Error> + Send + 'static,
    ) -> PyResult<R> {
        self.ask_with_progress(py, task, |_| Ok(()))
    }

    /// As [`Worker::ask`]; meanwhile `told` hears now and then how many steps are done, and ends them if it raises.
    pub fn ask_with_progress<R: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut T) -> Result<R, Error> + Send + 'static,
        mut told: impl FnMut(usize) -> PyResult<()>,
    ) -> PyResult<R> {
        if !self.is_here() {
            let text = format!(
                "the simulation belongs to the process {} that made it, and this is a copy of that process by fork\n\
                 help: make the simulation in the process that uses it, or give it the arrays of field()",
                self.process
            );
            return Err(PyRuntimeError::new_err(text));
        }
        let own = self.thread.as_ref().map(|thread| thread.thread().id());
        if own == Some(thread::current().id()) {
            let text = "a function that is called while the system computes asks the system for something, and would wait for ever\n\
                 help: use the function's arguments: a misfit is given the fields and the records";
            return Err(PyRuntimeError::new_err(text));
        }
        let (done, answer) = mpsc::channel();
        let task: Task<T> = Box::new(move |computation| drop(done.send(task(computation))));
        // Where the thread is gone, so is the answer.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
        self.reached.store(0, Ordering::Relaxed);
        wait(py, &self.stop, answer, |_| told(self.reached.load(Ordering::Relaxed)))
    }
}

impl<T> Worker<T> {
    /// Whether its thread is one of this process.
    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            // Nobody would end a wait for a thread of another process, or for a lock that it held.
            mem::forget((self.tasks.take(), self.thread.take()));
            return;
        }
        self.tasks = None;
        // It has nothing to do now, and asks nothing of Python.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Does something on a thread of its own, once.
pub fn once<R: Send + 'static>(
    py: Python<'_>,
    task: impl FnOnce(Control) -> Result<R, Error> + Send + 'static,
) -> PyResult<R> {
    let stop = Arc::new(AtomicBool::new(false));
    let control = Control { stop: Stop::from(Arc::clone(&stop)), progress: None };
    let (done, answer) = mpsc::channel();
    let pool = process::pool(py)?;
    let thread = thread::Builder::new().name("stencil".into()).spawn(move || {
        let work = move || task(control);
        // Where nobody waits any more, nobody is told.
        let _ = done.send(match pool {
            None => work(),
            Some(pool) => pool.install(work),
        });
    })?;
    let outcome = wait(py, &stop, answer, |_| Ok(()));
    let _ = thread.join();
    outcome
}

/// The next task: looked for a little before the thread sleeps, since to wake takes as long as short work does.
fn next<T>(queue: &Receiver<T>) -> Option<T> {
    soon(queue).map_or_else(|| queue.recv().ok(), Some)
}

/// What comes within a little while.
fn soon<T>(queue: &Receiver<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match queue.try_recv() {
            Ok(found) => return Some(found),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) if begun.elapsed() > SOON => return None,
            Err(TryRecvError::Empty) => thread::yield_now(),
        }
    }
}

/// Waits for an answer without Python's lock. Ctrl-C, or whatever else a handler of a signal raises, asks for an end,
/// to which the computation comes within about a tenth of a second.
fn wait<R: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    mut answer: Receiver<Result<R, Error>>,
    mut told: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<R> {
    let mut raised = None;
    loop {
        // It goes to and fro, since a receiver is of one thread at a time.
        let received = py.detach(move || {
            let found = soon(&answer).map_or_else(|| answer.recv_timeout(LOOK), Ok);
            (found, answer)
        });
        let outcome = match received {
            (Err(RecvTimeoutError::Timeout), again) => {
                answer = again;
                if raised.is_none() {
                    raised = py.check_signals().and_then(|()| told(py)).err();
                    stop.store(raised.is_some(), Ordering::Relaxed);
                }
                continue;
            }
            (Err(RecvTimeoutError::Disconnected), _) => None,
            (Ok(outcome), _) => Some(outcome),
        };
        stop.store(false, Ordering::Relaxed);
        return match (raised, outcome) {
            (Some(raised), _) => Err(raised),
            (None, Some(outcome)) => outcome.map_err(|error| errors::raised(py, &error)),
            (None, None) => {
                let text = "the computation's thread ended; what it printed says why";
                Err(PyRuntimeError::new_err(text))
            }
        };
    }
}
