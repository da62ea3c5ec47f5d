// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program as several ranks.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::support::{Folder, ProgramOutput};

/// How long ranks may take, if the machine does other things besides.
const LIMIT: Duration = Duration::from_secs(120);

/// Whether ranks can be started here.
pub fn is_there() -> bool {
    let missing = if stencil::ranks::mpi_version().is_none() {
        "the program is built without MPI"
    } else if !Command::new("mpirun").arg("--version").output().is_ok_and(|it| it.status.success())
    {
        "there is no mpirun"
    } else {
        return true;
    };
    assert!(std::env::var_os("REQUIRE_MPI").is_none(), "{missing}");
    eprintln!("left out: {missing}");
    false
}

/// Whether it is Open MPI, of which we know what it does.
pub fn is_open_mpi() -> bool {
    stencil::ranks::mpi_version().is_some_and(|version| version.starts_with("Open MPI"))
}

/// Starts so many ranks of the command line for each of some arguments in a folder, blind to GPUs, with one thread each.
pub fn mpirun(folder: &Folder, ranks: &[(usize, &str)]) -> Command {
    mpirun_of(env!("CARGO_BIN_EXE_host-tested"), folder, ranks)
}

/// Starts so many ranks of a program for each of some arguments in a folder, blind to GPUs, with one thread each.
pub fn mpirun_of(program: &str, folder: &Folder, ranks: &[(usize, &str)]) -> Command {
    let mut command = Command::new("mpirun");
    for (at, (count, line)) in ranks.iter().enumerate() {
        if at > 0 {
            command.arg(":");
        }
        command.args(["-n", &count.to_string(), program]);
        command.args(line.split_whitespace());
    }
    command.current_dir(folder.path("")).env("CUDA_VISIBLE_DEVICES", "");
    command.env("RAYON_NUM_THREADS", "1").env("HOST_CACHE", "");
    // Open MPI refuses both unless it is told that they are meant; containers often forbid the last, which it then tries.
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
        ("OMPI_MCA_btl_sm_single_copy_mechanism", "none"),
    ] {
        command.env(name, value);
    }
    command
}

/// What ranks printed and returned.
pub fn outcome(mut command: Command) -> ProgramOutput {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    end_of(child.spawn().unwrap())
}

/// What ranks that run already print and return; they must end in time.
pub fn end_of(child: Child) -> ProgramOutput {
    let id = child.id().to_string();
    let (done, told) = channel();
    let waiting = thread::spawn(move || {
        let output = child.wait_with_output().unwrap();
        let _ = done.send(());
        output
    });
    if told.recv_timeout(LIMIT).is_err() {
        let _ = Command::new("kill").arg(&id).status();
        let outcome = ProgramOutput::from(waiting.join().unwrap());
        panic!("ranks did not end: {}", outcome.stderr);
    }
    ProgramOutput::from(waiting.join().unwrap())
}

/// Runs a command line on so many ranks, which must succeed.
pub fn succeed(folder: &Folder, ranks: usize, line: &str) -> ProgramOutput {
    let outcome = outcome(mpirun(folder, &[(ranks, line)]));
    assert_eq!(outcome.code, Some(0), "{ranks} ranks, {line}: {}", outcome.stderr);
    outcome
}

/// Runs a command line on so many ranks, which must fail with this code and these words, said once.
pub fn fail(folder: &Folder, ranks: &[(usize, &str)], code: i32, words: &str) {
    let outcome = outcome(mpirun(folder, ranks));
    assert_eq!(outcome.code, Some(code), "{ranks:?}: {}", outcome.stderr);
    assert_eq!(outcome.stderr.matches(words).count(), 1, "{ranks:?}: {}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("error: ").count(), 1, "{ranks:?}: {}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "{ranks:?}");
}
