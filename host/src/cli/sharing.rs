// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options about GPUs and ranks that share a grid.

use std::str::FromStr;

use clap::Args;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use super::Failure;
use super::choice::one_of;
use super::number::steps;
use compute::device;
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::Carrier;
use compute::ranks::engine::Ranks;
use problem::{Depth, Error, Shape};

/// Who shares the grid
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct SharingArgs {
    /// GPUs of this machine that share the grid: how many, all, or their numbers with commas, such as 0,2 [default:
    /// one GPU]
    #[arg(long, value_name = "N|all|LIST")]
    gpus: Option<Gpus>,
    /// Number of slices of each axis for GPUs or ranks, slowest axis first, such as 2x4 [default: the cut where
    /// parts exchange least]
    #[arg(long, value_name = "[NZx]NYxNX")]
    split: Option<String>,
    /// What carries points between GPUs. peer: copies from memory to memory. nccl: NVIDIA's library. host: this
    /// machine's memory. auto: peer within a process, nccl between processes, host where there is neither
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = one_of::<Carrier>())]
    exchange: Carrier,
    /// Time steps between two exchanges, at least. Points are copied from neighbours as deep as these steps reach.
    /// auto takes what is predicted to cost least
    #[arg(long, value_name = "T|auto", default_value_t, value_parser = steps)]
    halo: Depth,
    /// When GPUs compute the edges of their parts. first: before the rest, so that edges travel meanwhile. never:
    /// with the rest. auto: first where edges are little work
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = one_of::<Edges>())]
    edges: Edges,
}

/// When edges are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
enum Edges {
    /// Edges first, where they are little work beside the rest
    #[default]
    Auto,
    /// Edges before the rest
    First,
    /// Edges with the rest
    Never,
}

/// Which GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gpus {
    All,
    Count(usize),
    Numbers(Vec<usize>),
}

impl FromStr for Gpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "give a number of GPUs from 1 on, all, or numbers with commas, such as 0,2".to_owned()
        };
        if text == "all" {
            return Ok(Self::All);
        }
        if !text.contains(',') {
            return text.parse().ok().filter(|&count| count > 0).map(Self::Count).ok_or_else(wrong);
        }
        let numbers = text.trim_end_matches(',').split(',').map(|one| one.trim().parse());
        let numbers: Vec<usize> = numbers.collect::<Result<_, _>>().map_err(|_| wrong())?;
        match numbers.iter().enumerate().find(|(at, number)| numbers[..*at].contains(number)) {
            Some((_, number)) => Err(format!("GPU {number} is named twice")),
            None => Ok(Self::Numbers(numbers)),
        }
    }
}

impl SharingArgs {
    /// Whether GPUs of this process share the grid.
    pub fn is_asked(&self) -> bool {
        self.gpus.is_some()
    }

    /// What is asked for, among processes or GPUs of this one; nothing if one device is to compute alone.
    ///
    /// # Errors
    /// There are not so many GPUs, or the options do not fit each other.
    pub fn sharing(
        &self,
        engine: EngineRequest,
        dims: usize,
        processes: Option<Ranks>,
    ) -> Result<Option<Sharing>, Failure> {
        let split = self.split.as_deref().map(|text| split(text, dims)).transpose()?;
        let Some(gpus) = &self.gpus else {
            return match (processes, &self.split) {
                (Some(ranks), _) => Ok(Some(self.among(ranks, split, None))),
                (None, Some(_)) => Err(Failure::NobodyShares { option: "--split" }),
                (None, None) => match self.given() {
                    Some(option) => Err(Failure::NobodyShares { option }),
                    None => Ok(None),
                },
            };
        };
        if processes.is_some() {
            return Err(Failure::GpusOfProcesses);
        }
        if engine == EngineRequest::Cpu {
            return Err(Failure::NotOnGpus { engine: engine.to_string() });
        }
        let devices = devices(gpus, engine)?;
        let ranks = Ranks::Threads(devices.len());
        Ok(Some(self.among(ranks, split, Some(devices))))
    }

    /// What is asked for besides.
    fn among(
        &self,
        ranks: Ranks,
        split: Option<[usize; 3]>,
        devices: Option<Vec<usize>>,
    ) -> Sharing {
        let period = if let Depth::Steps(steps) = self.halo { Some(steps) } else { None };
        let edges = match self.edges {
            Edges::Auto => None,
            when => Some(when == Edges::First),
        };
        Sharing { ranks, split, devices, carrier: self.exchange, period, edges }
    }

    /// An option that means nothing without ranks.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("--exchange", self.exchange != Carrier::Auto),
            ("--halo", self.halo != Depth::Auto),
            ("--edges", self.edges != Edges::Auto),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// The numbers of GPUs that there are, or of emulated ones, of which there is any number.
fn devices(gpus: &Gpus, engine: EngineRequest) -> Result<Vec<usize>, Error> {
    let there = match engine {
        EngineRequest::Emulate => None,
        _ => Some(device::count()?),
    };
    let numbers: Vec<usize> = match gpus {
        Gpus::All => (0..there.unwrap_or(1)).collect(),
        Gpus::Count(count) => (0..*count).collect(),
        Gpus::Numbers(numbers) => numbers.clone(),
    };
    match (there, numbers.iter().find(|&&number| there.is_some_and(|there| number >= there))) {
        (Some(there), Some(_)) => {
            let reason = match gpus {
                Gpus::Count(count) => {
                    format!("{count} GPUs are asked for; the driver lists {there}")
                }
                _ => format!("the driver lists {there} GPUs, numbered from 0"),
            };
            Err(Error::NoGpu { reason })
        }
        _ => Ok(numbers),
    }
}

/// Slices of the axes (z, y, x).
fn split(text: &str, dims: usize) -> Result<[usize; 3], Failure> {
    let wrong = || Failure::Split { text: text.to_owned(), dims };
    let counts: Shape = text.parse().map_err(|_| wrong())?;
    if counts.dims() == dims { Ok(counts.extents()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_a_number_all_or_a_list() {
        let parse = |text: &str| text.parse::<Gpus>();
        assert_eq!(parse("all"), Ok(Gpus::All));
        assert_eq!(parse("2"), Ok(Gpus::Count(2)));
        assert_eq!(parse("0,2"), Ok(Gpus::Numbers(vec![0, 2])));
        assert_eq!(parse("3,"), Ok(Gpus::Numbers(vec![3])));
        for wrong in ["0", "", "-1", "a", "1,b", ",", "1.5"] {
            assert!(parse(wrong).unwrap_err().starts_with("give a number"), "{wrong}");
        }
        assert_eq!(parse("1,1").unwrap_err(), "GPU 1 is named twice");
    }

    #[test]
    fn options_that_need_ranks_are_refused_without() {
        let args = SharingArgs { split: Some("2x1".into()), ..SharingArgs::default() };
        let refused = args.sharing(EngineRequest::Auto, 2, None).err().unwrap();
        assert!(refused.to_string().contains("--split"), "{refused}");
        let args = SharingArgs { gpus: Some(Gpus::Count(2)), ..SharingArgs::default() };
        assert!(args.sharing(EngineRequest::Cpu, 2, None).is_err());
        let shared = args.sharing(EngineRequest::Emulate, 2, None).unwrap().unwrap();
        assert_eq!((shared.ranks.count(), shared.devices), (2, Some(vec![0, 1])));
        let args = SharingArgs { split: Some("2".into()), ..args };
        assert!(args.sharing(EngineRequest::Emulate, 2, None).is_err());
    }
}
