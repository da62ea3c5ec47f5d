// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether this process was started as one of several, by `mpirun`, `mpiexec` or `srun`: variables of the environment say so.

/// Variables with the number of processes, and with this one's among them. The first that is set decides: an inner
/// launcher's before those of the one that started it.
const LAUNCHERS: [[&str; 2]; 5] = [
    // Open MPI.
    ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
    // MVAPICH.
    ["MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"],
    // MPICH, Intel MPI, and Slurm with PMI 1 or 2.
    ["PMI_SIZE", "PMI_RANK"],
    // MPICH, of this machine only.
    ["MPI_LOCALNRANKS", "MPI_LOCALRANKID"],
    // Slurm.
    ["SLURM_STEP_NUM_TASKS", "SLURM_PROCID"],
];
/// Of a launcher with PMIx only, which tells the number of processes in no variable.
const PMIX: &str = "PMIX_RANK";

/// A start as one of several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLaunch {
    /// The variable that says so.
    pub variable: &'static str,
    /// How many there are, if it tells.
    pub ranks: Option<usize>,
    /// Which one this is, if something tells.
    pub rank: Option<usize>,
}

impl ProcessLaunch {
    /// What the environment says; none of a process that is alone.
    pub fn found(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        for [size, rank] in LAUNCHERS {
            if let Some(ranks) = number(size) {
                let launch = Self { variable: size, ranks: Some(ranks), rank: number(rank) };
                return (ranks > 1).then_some(launch);
            }
        }
        let rank = number(PMIX)?;
        Some(Self { variable: PMIX, ranks: None, rank: Some(rank) })
    }

    /// Whether this process speaks for all.
    pub fn is_first(self) -> bool {
        self.rank.is_none_or(|rank| rank == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<ProcessLaunch> {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        ProcessLaunch::found(value)
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let launch = |variable, ranks, rank| Some(ProcessLaunch { variable, ranks, rank });
        let open_mpi = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3")];
        assert_eq!(found(&open_mpi), launch("OMPI_COMM_WORLD_SIZE", Some(4), Some(3)));
        assert!(!found(&open_mpi).unwrap().is_first());
        let mpich = [("PMI_SIZE", "2"), ("PMI_RANK", "0"), ("MPI_LOCALNRANKS", "1")];
        assert_eq!(found(&mpich), launch("PMI_SIZE", Some(2), Some(0)));
        assert!(found(&mpich).unwrap().is_first());
        let slurm = [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "1"), ("PMIX_RANK", "1")];
        assert_eq!(found(&slurm), launch("SLURM_STEP_NUM_TASKS", Some(8), Some(1)));
        assert_eq!(found(&[("PMIX_RANK", "0")]), launch("PMIX_RANK", None, Some(0)));
    }

    #[test]
    fn one_process_is_alone() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]), None);
        // A batch script, and a launcher's one process within one of several.
        assert_eq!(found(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(found(&[("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "8")]), None);
        assert_eq!(found(&[("PMI_SIZE", "many")]), None);
    }
}
