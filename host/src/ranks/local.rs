// SPDX-License-Identifier: MIT OR Apache-2.0
//! The session of a rank's part.

use super::ghosted::Ghosted;
use super::halo::Transfers;
use super::part::Part;
use super::post::Post;
use super::setup::{Setup, With};
use crate::engine::cpu::Cpu;
use crate::engine::fft::Fft;
use crate::engine::{Engine, Session};
use crate::problem::boundary::Side;
use crate::{Depth, Error, Job};
use std::rc::Rc;

/// That of a post's rank.
///
/// # Errors
/// The device refuses, or cannot compute the part.
pub fn session(
    setup: &Setup,
    parts: &[Part],
    post: &Rc<dyn Post>,
) -> Result<Box<dyn Session>, Error> {
    let part = &parts[post.rank()];
    let transfers = Transfers::new(&setup.partition()?, parts, part.rank);
    let whole = setup.job()?;
    // What lies where others' points go on is wrong sooner or later, whatever it is.
    let boundary = part.boundary(&whole.boundary, Side::Zero);
    let job = Job { shape: part.shape()?, boundary, steps: setup.period, ..whole };
    let inner = match &setup.with {
        With::Cpu => Cpu.prepare(&job)?,
        With::Fft => Fft.prepare(&Job { jump: Depth::Steps(setup.period), ..job })?,
        With::Emulated(_) | With::Gpu { .. } => todo!(),
    };
    Ok(Box::new(Ghosted::new(inner, Rc::clone(post), transfers, setup.period)))
}
