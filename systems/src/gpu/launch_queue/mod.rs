// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems side by side on one GPU: each has a session of its own, whose launches wait until all systems have some, and then
//! those of all systems are one launch.
//!
//! ```text
//! a thread for each system           a thread that has the GPU
//! steps queued ... wait       ---->  so many launches of system 0
//! steps queued ... wait       ---->  so many launches of system 1   all wait: launch, launch, ...
//! ```
//!
//! What a system reads or writes without having queued anything is done at once. So a system that does something else than
//! the others for a while (it is compared, or has ended) is not in their launches, and nothing else changes.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cuda_driver::{Entry, Extents};
use kernels_gpu::wide2d::finished::Parameters;

use super::emulated::Emulated;
use super::kernel::GeneratedKernel;
use super::target::LaunchTarget;
use super::{OnTarget, device};
use crate::checked::System;
use crate::session::StepSession;
use crate::start::StartValues;
use compute::device::MemoryRows;
use compute::device::generated::MOST_ADDRESSES;
use owner::Owner;
use problem::Error;

mod owner;

/// Launches that are queued until all systems have some, at most.
const MOST_QUEUED: usize = 1024;

/// What a system asks for, after the launches that it has queued.
enum QueueRequest {
    Describe,
    Allocate(&'static str, usize),
    Write(usize, MemoryRows, Vec<u8>),
    Read(usize, MemoryRows, usize),
    Copies([usize; 2], usize, usize),
    /// To begin steps with the others.
    Begin,
    /// To have launched what is queued.
    Launch,
    /// To have waited for that.
    Wait,
}

/// An answer to it.
enum Answer {
    /// What launches, and its engine's name if it is not that of cores.
    Described(String, Option<&'static str>),
    /// The number of an array, and its address.
    Allocated(usize, u64),
    Bytes(Vec<u8>),
    Time(Duration),
    Done,
}

/// A message of a system, by its number.
enum Message {
    Ask(usize, Queue, QueueRequest),
    Leaves(usize),
}

/// Launches in their order.
#[derive(Default)]
struct Queue {
    /// Of each the stage, the extents, and how many parameters of all come before its own.
    launches: Vec<(usize, Extents, usize)>,
    parameters: Vec<u64>,
}

/// The place of a system among others. Whoever drops it leaves them.
pub struct BatchPlace {
    number: usize,
    asks: Sender<Message>,
    answers: Mutex<Receiver<Result<Answer, Error>>>,
    /// The thread that launches, which ends when all have left.
    _launching: Arc<LaunchingThread>,
}

/// A thread that has the GPU. Whoever drops the last of these waits until the GPU has been given back.
struct LaunchingThread(Option<JoinHandle<()>>);

impl Drop for LaunchingThread {
    fn drop(&mut self) {
        // What it failed with was told to those who asked.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl Drop for BatchPlace {
    fn drop(&mut self) {
        // Without anybody who launches nobody waits.
        let _ = self.asks.send(Message::Leaves(self.number));
    }
}

impl BatchPlace {
    fn ask(&self, queue: Queue, what: QueueRequest) -> Result<Answer, Error> {
        let gone = || Error::Driver {
            action: "launch steps of several systems".into(),
            reason: "the thread that launches them has ended".into(),
        };
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.asks.send(Message::Ask(self.number, queue, what)).map_err(|_| gone())?;
        answers.recv().map_err(|_| gone())?
    }
}

/// Places for so many systems, whose kernel is executed on the CPU or launched on the first GPU.
pub fn places(kernel: &GeneratedKernel, members: usize, is_emulated: bool) -> Vec<Arc<BatchPlace>> {
    let (asks, asked) = channel();
    let (answering, answers): (Vec<_>, Vec<_>) = (0..members).map(|_| channel()).unzip();
    let kernel = kernel.clone();
    let launching = std::thread::spawn(move || {
        if is_emulated {
            let open = || Ok::<_, Error>(Emulated::new(&kernel));
            return Owner::new(open, &kernel, answering).serve(&asked);
        }
        let open = || device::DeviceTarget::open(&kernel.ptx());
        Owner::new(open, &kernel, answering).serve(&asked);
    });
    let launching = Arc::new(LaunchingThread(Some(launching)));
    let place = |(number, answers)| {
        let _launching = Arc::clone(&launching);
        Arc::new(BatchPlace {
            number,
            asks: asks.clone(),
            answers: Mutex::new(answers),
            _launching,
        })
    };
    answers.into_iter().enumerate().map(place).collect()
}

/// A system at its place, by the kernel of all.
///
/// # Errors
/// The GPU refuses.
pub fn session(
    system: System,
    kernel: GeneratedKernel,
    beginning: StartValues,
    place: &Arc<BatchPlace>,
) -> Result<Box<dyn StepSession>, Error> {
    let member = Member::new(Arc::clone(place), &kernel)?;
    Ok(Box::new(OnTarget::new(system, kernel, beginning, member)?))
}

/// What launches for one system of several.
struct Member {
    place: Arc<BatchPlace>,
    addresses: Vec<u64>,
    queue: RefCell<Queue>,
    /// Parameters of the kernel of each stage, and of that of totals.
    parameters: Vec<usize>,
    of_totals: usize,
    described: (String, Option<&'static str>),
}

impl Member {
    fn new(place: Arc<BatchPlace>, kernel: &GeneratedKernel) -> Result<Self, Error> {
        let Answer::Described(what, engine) =
            place.ask(Queue::default(), QueueRequest::Describe)?
        else {
            unreachable!("it is asked what it is")
        };
        let parameters = [kernel].into_iter().chain(&kernel.after).map(|it| it.parameters);
        Ok(Self {
            place,
            addresses: Vec::new(),
            queue: RefCell::default(),
            parameters: parameters.collect(),
            of_totals: kernel.totals.as_ref().map_or(0, |it| it.kernel.parameters),
            described: (what, engine),
        })
    }

    fn ask(&self, what: QueueRequest) -> Result<Answer, Error> {
        self.place.ask(self.queue.take(), what)
    }
}

impl LaunchTarget for Member {
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
        let Answer::Allocated(array, address) = self.ask(QueueRequest::Allocate(what, bytes))?
        else {
            unreachable!("it is asked for an array")
        };
        // Numbers of arrays are those of all systems.
        self.addresses.resize(self.addresses.len().max(array + 1), 0);
        self.addresses[array] = address;
        Ok(array)
    }

    fn address(&self, array: usize) -> u64 {
        self.addresses[array]
    }

    fn write(&mut self, array: usize, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        self.ask(QueueRequest::Write(array, rows, bytes.to_vec())).map(drop)
    }

    fn read(&self, array: usize, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        let Answer::Bytes(read) = self.ask(QueueRequest::Read(array, rows, bytes.len()))? else {
            unreachable!("it is asked for bytes")
        };
        bytes.copy_from_slice(&read);
        Ok(())
    }

    fn launch(
        &mut self,
        stage: usize,
        extents: Extents,
        addresses: [u64; MOST_ADDRESSES],
    ) -> Result<(), Error> {
        let count = self.parameters.get(stage).copied().unwrap_or(self.of_totals);
        let queue = self.queue.get_mut();
        queue.launches.push((stage, extents, queue.parameters.len()));
        queue.parameters.extend(&addresses[..count]);
        if queue.launches.len() < MOST_QUEUED {
            return Ok(());
        }
        self.ask(QueueRequest::Launch).map(drop)
    }

    fn begin(&self) -> Result<(), Error> {
        self.ask(QueueRequest::Begin).map(drop)
    }

    fn sweep(&mut self, _: Entry<Parameters>, _: Extents, _: Parameters) -> Result<(), Error> {
        unreachable!("systems side by side have no sweeps")
    }

    fn time_copies(
        &mut self,
        pair: [usize; 2],
        bytes: usize,
        count: usize,
    ) -> Result<Duration, Error> {
        let Answer::Time(time) = self.ask(QueueRequest::Copies(pair, bytes, count))? else {
            unreachable!("it is asked for a time")
        };
        Ok(time)
    }

    fn wait(&self) -> Result<(), Error> {
        self.ask(QueueRequest::Wait).map(drop)
    }

    fn describe(&self) -> String {
        self.described.0.clone()
    }

    fn engine(&self) -> Option<&'static str> {
        self.described.1
    }
}
