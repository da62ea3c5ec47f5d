// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers that an instruction uses.

use crate::module::{Op, OperandSource};

/// The register that a value comes from.
fn register(source: &OperandSource) -> Option<u32> {
    match source {
        OperandSource::Register(register) | OperandSource::Not(register) => Some(*register),
        _ => None,
    }
}

impl Op {
    /// Gives each register that is read to a function, but those of an asynchronous product's sums.
    pub fn each_read(&self, mut act: impl FnMut(u32)) {
        let mut all =
            |sources: &[OperandSource]| sources.iter().filter_map(register).for_each(&mut act);
        match self {
            Self::Compute { from, .. } | Self::Carry { from, .. } => all(from),
            Self::Compare { from, joined, .. } => {
                all(from);
                all(joined.map(|(_, with)| with).as_slice());
            }
            Self::ConvertPair { from, .. } => all(from),
            Self::Pack { from, .. } | Self::StoreParameter { from, .. } => all(from),
            Self::Load { address, .. } => all(&[address.base]),
            Self::Store { from, address, .. } => {
                all(from);
                all(&[address.base]);
            }
            Self::Atomic { from, address, .. } => {
                all(from);
                all(&[address.base]);
            }
            Self::Convert { from, .. }
            | Self::Unpack { from, .. }
            | Self::ToGeneric { from, .. }
            | Self::FromGeneric { from, .. }
            | Self::IsSpace { from, .. }
            | Self::JumpIndexed { index: from, .. } => all(&[*from]),
            Self::Other { from, .. } => from.iter().for_each(|list| all(list)),
            Self::Product(product) => product.from.iter().for_each(|list| all(list)),
            _ => {}
        }
    }

    /// Gives each register that is written to a function, but those of an asynchronous product's sums.
    pub fn each_written(&self, mut act: impl FnMut(u32)) {
        match self {
            Self::Compute { to, .. }
            | Self::Carry { to, .. }
            | Self::Convert { to, .. }
            | Self::ConvertPair { to, .. }
            | Self::Pack { to, .. }
            | Self::ToGeneric { to, .. }
            | Self::FromGeneric { to, .. }
            | Self::IsSpace { to, .. } => act(*to),
            Self::Compare { to, opposite, .. } => to.iter().chain(opposite).copied().for_each(act),
            Self::Atomic { to, .. } => to.iter().copied().for_each(act),
            Self::Load { to, .. }
            | Self::LoadParameter { to, .. }
            | Self::Unpack { to, .. }
            | Self::Other { to, .. } => to.iter().flatten().copied().for_each(act),
            _ => {}
        }
    }
}
