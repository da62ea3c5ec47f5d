// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that are ended, killed and gone on with.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::support::{Folder, ProgramOutput, hang_ups_are_ignored};

const RUN: &str =
    "run star2d1r --size 60x70 --dtype f32 --boundary periodic --engine cpu --quiet --verify off";
const WAVE: &str = "example layered-wave --size 24x28 --engine cpu --quiet --verify off";

/// Waits for a file.
fn wait_for(folder: &Folder, name: &str) {
    let start = Instant::now();
    while !folder.path(name).exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "there is no {name}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// How many kills a test makes, if the run is not done before.
fn kills() -> u32 {
    std::env::var("HOST_TEST_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(3)
}

/// Starts a command line, kills it at some moment after its next checkpoint, goes on from that, and so on, to its end.
fn killed(folder: &Folder, line: &str) {
    let state = || fs::metadata(folder.path("state")).and_then(|about| about.modified()).ok();
    let kept = format!("{line} --checkpoint state");
    let (mut resume, mut killed) = ("", 0);
    for kill in 0..kills() {
        let mut command = folder.command(&format!("{kept}{resume}"));
        let before = state();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while state() == before && child.try_wait().unwrap().is_none() {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "{line}: no checkpoint after kill {kill}"
            );
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_micros(u64::from(kill * 7919 % 23) * 1000));
        child.kill().unwrap();
        // One that a signal ends has no code.
        match child.wait().unwrap().code() {
            None => (resume, killed) = (" --resume state", killed + 1),
            Some(0) => break,
            Some(code) => panic!("{line}: it ended with {code} before kill {kill}"),
        }
    }
    assert!(killed > 0, "{line}: it ended before it could be killed");
    eprintln!("killed {killed} times");
    folder.succeed(&format!("{kept}{resume}"));
}

fn same(folder: &Folder, one: &str, other: &str) {
    let [one, other] = [one, other].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(one == other);
}

#[test]
fn a_run_that_is_killed_at_random_ends_with_the_same_bits() {
    let folder = Folder::new();
    let run = format!("{RUN} --steps {}", 6000 * kills()).replace("60x70", "24x28");
    killed(&folder, &format!("{run} --checkpoint-every 80 --output killed.npy"));
    folder.succeed(&format!("{run} --output whole.npy"));
    same(&folder, "killed.npy", "whole.npy");
}

#[test]
fn a_system_that_is_killed_at_random_ends_with_the_same_bits_and_records() {
    let folder = Folder::new();
    let line = |name: &str| {
        let output = format!("--output {name}-{{field}}.npy --receivers {name}.csv");
        format!("{WAVE} {output} --steps {}", 400 * kills())
    };
    killed(&folder, &format!("{} --checkpoint-every 10", line("killed")));
    folder.succeed(&line("whole"));
    same(&folder, "killed.csv", "whole.csv");
    same(&folder, "killed-p.npy", "whole-p.npy");
}

#[cfg(unix)]
#[test]
fn signals_leave_a_checkpoint() {
    let folder = Folder::new();
    for (signal, code, name) in
        [("-TERM", 143, " by SIGTERM"), ("-HUP", 129, " by SIGHUP"), ("-INT", 130, "")]
    {
        if signal == "-HUP" && hang_ups_are_ignored() {
            continue;
        }
        let line =
            format!("{RUN} --steps 1e9 --output u_{{step}}.npy --every 1e8 --checkpoint state");
        let mut command = folder.command(&line);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&folder, "u_0.npy");
        thread::sleep(Duration::from_millis(50));
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let outcome = ProgramOutput::from(child.wait_with_output().unwrap());
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        let start = format!("error: interrupted{name}; state holds the state after step ");
        let end = "\n  help: go on with the same command line and --resume state\n";
        let step = outcome.stderr.strip_prefix(&start).and_then(|rest| rest.strip_suffix(end));
        let step: u32 = step.unwrap_or_else(|| panic!("{}", outcome.stderr)).parse().unwrap();
        // A few steps on are the same as without the interruption.
        let steps = step + 10;
        folder.succeed(&format!("{RUN} --steps {steps} --resume state --output resumed.npy"));
        folder.succeed(&format!("{RUN} --steps {steps} --output whole.npy"));
        let bytes = |name: &str| fs::read(folder.path(name)).unwrap();
        assert!(bytes("resumed.npy") == bytes("whole.npy"));
        fs::remove_file(folder.path("u_0.npy")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn files_of_earlier_steps_are_kept_without_a_checkpoint_too() {
    let folder = Folder::new();
    let line = format!("{RUN} --steps 1e9 --output u_{{step}}.npy --every 1e8");
    let mut command = folder.command(&line);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&folder, "u_0.npy");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let outcome = ProgramOutput::from(child.wait_with_output().unwrap());
    let text = "error: interrupted\n  help: the files of earlier steps are written; of a run with --checkpoint \
                the rest can be computed, too\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (text, Some(130)));
    assert_eq!(folder.files(), ["u_0.npy"]);
}

/// With an option for when, without, and where enough is seen: the checkpoint of the end is there, and goes on.
#[test]
fn the_end_of_a_run_is_kept_and_gone_on_from() {
    for (line, output, name) in
        [(RUN.to_owned(), "u.npy", "u.npy"), (WAVE.to_owned(), "{field}.npy", "p.npy")]
    {
        let file = |folder: &Folder| fs::read(folder.path(name)).unwrap();
        let whole = Folder::new();
        whole.succeed(&format!("{line} --steps 50 -o {output}"));
        for every in ["", " --checkpoint-every 12", " --checkpoint-every 1h"] {
            let folder = Folder::new();
            folder.succeed(&format!("{line} --steps 30 --checkpoint state{every}"));
            let resume = format!("{line} --resume state -o {output}");
            folder.succeed(&format!("{resume} --steps 50 --checkpoint state"));
            assert!(file(&folder) == file(&whole), "{line}{every}");
            // Nothing is left: the files are those of the end, and a warning says so.
            fs::remove_file(folder.path(name)).unwrap();
            let outcome = folder.host(&format!("{resume} --steps 50"));
            let text = "warning: state holds the end: all 50 steps are done, and nothing is left to compute";
            assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            assert!(file(&folder) == file(&whole), "{line}{every}");
        }
    }
    let folder = Folder::new();
    let steady =
        format!("{RUN} --steps 1e6 --until 1e-3,10 --checkpoint state --checkpoint-every 1h");
    let report = folder.succeed(&steady.replace(" --quiet", " --time off")).stdout;
    let step = report.split("after step ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    let outcome = folder.host(&format!("{RUN} --resume state --steps 1"));
    let text = format!("error: state: {step} steps are done, and 1 are asked for");
    assert!(outcome.stderr.starts_with(&text), "{}", outcome.stderr);
}

/// The result is kept first; that its checkpoint is missing is an error.
#[test]
fn a_checkpoint_of_the_end_that_cannot_be_written_loses_no_result() {
    for (line, output) in [(RUN, "u.npy"), (WAVE, "{field}.npy")] {
        let folder = Folder::new();
        let shell = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
        let line = line.replace("60x70", "9x9").replace("24x28", "9x9");
        let run = format!("{line} --steps 4 --stride 4 -o {output} --checkpoint state");
        let host = folder.command(&run);
        let mut command = Command::new("sh");
        command.args(["-c", shell, "sh"]).arg(host.get_program()).args(host.get_args());
        command.current_dir(folder.path("")).env("CUDA_VISIBLE_DEVICES", "");
        let outcome = ProgramOutput::from(command.stdin(Stdio::null()).output().unwrap());
        assert!(outcome.stderr.contains("cannot write state: "), "{}", outcome.stderr);
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        assert!(!folder.path("state").exists());
        assert!(folder.path(&output.replace("{field}", "p")).exists());
    }
}

#[test]
fn checkpoints_that_are_cut_or_of_something_else_are_refused() {
    let folder = Folder::new();
    folder.succeed(&format!("{RUN} --steps 20 --checkpoint state --checkpoint-every 10"));
    let whole = fs::read(folder.path("state")).unwrap();
    let refused = |line: &str, text: &str| folder.fail(line, 2, &format!("error: state: {text}"));
    let other = "\n  help: take another checkpoint, or leave --resume out to start anew";
    let foreign = "\n  help: give the command line that it was written by, or leave --resume out to start anew";
    let resume = "--resume state --steps 30";

    refused(
        &format!("{RUN} --resume state --steps 10"),
        &format!("20 steps are done, and 10 are asked for{foreign}"),
    );
    let line = format!("{RUN} {resume}").replace("star2d1r", "box2d1r");
    let text = "this is a checkpoint of star2d1r on 60x70 f32 values, boundary periodic, not of box2d1r on 60x70 f32 \
                values, boundary periodic";
    refused(&line, &format!("{text}{foreign}"));
    let line = format!("{RUN} {resume}").replace("periodic", "reflect");
    let text = "this is a checkpoint of star2d1r on 60x70 f32 values, boundary periodic, not of star2d1r on 60x70 f32 \
                values, boundary reflect";
    refused(&line, &format!("{text}{foreign}"));

    for cut in [whole.len() - 1, whole.len() / 2, 40] {
        fs::write(folder.path("state"), &whole[..cut]).unwrap();
        let outcome = folder.host(&format!("{RUN} {resume}"));
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.starts_with("error: state: the checkpoint "), "{}", outcome.stderr);
        assert!(outcome.stderr.ends_with(&format!("{other}\n")), "{}", outcome.stderr);
        // It is as it was.
        assert_eq!(fs::read(folder.path("state")).unwrap(), whole[..cut]);
    }
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(folder.path("state"), damaged).unwrap();
    refused(
        &format!("{RUN} {resume}"),
        &format!("the checkpoint is damaged: its checksum is not that of its values{other}"),
    );
}

#[test]
fn values_that_are_not_finite_end_a_run_and_leave_the_last_good_checkpoint() {
    let folder = Folder::new();
    folder.write("grow.npy", &[3], &[0.0, 2.0, 0.0]);
    folder.write("one.npy", &[5], &[0.0f32, 0.0, 1.0, 0.0, 0.0]);
    // 2^128 is none of f32's.
    let run =
        "run --weights grow.npy --input one.npy --engine cpu --steps 1e6 --quiet --verify off";
    let outcome =
        folder.host(&format!("{run} --check-finite 10 --checkpoint state --checkpoint-every 50"));
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    let text = "error: after step 128 the grid holds inf at (x) = (2); after step 127 all values were finite; \
                state holds the state after step 100\n  help: the values outgrew the element type";
    assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    let outcome = folder.host(&format!("{run} --output u_{{step:03}}.npy --every 60"));
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert_eq!(
        folder.files(),
        ["grow.npy", "one.npy", "state", "u_000.npy", "u_060.npy", "u_120.npy"]
    );
}

#[test]
fn a_resumed_run_compares_what_it_computed() {
    let folder = Folder::new();
    let run = RUN.replace(" --quiet --verify off", " --time off");
    folder.succeed(&format!("{run} --steps 800 --checkpoint state"));
    let report =
        folder.succeed(&format!("{run} --steps 1000 --resume state --json report.json")).stdout;
    assert!(report.contains("200 steps after 800 of an earlier run"), "{report}");
    assert!(report.contains("verified   "), "{report}");
    let json = fs::read_to_string(folder.path("report.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["steps"], &json["resumed_after"]), (&200.into(), &800.into()));
    assert_eq!(json["verification"]["passed"], true, "{report}");
    let wave = WAVE.replace(" --quiet --verify off", "");
    folder.succeed(&format!("{wave} --steps 40 --checkpoint wave.state"));
    let report = folder.succeed(&format!("{wave} --steps 50 --resume wave.state")).stdout;
    assert!(report.contains("10 steps after 40 of an earlier run"), "{report}");
    assert!(report.contains("verified   steps 41, 50, "), "{report}");
    // Another engine goes on, and says so.
    let fft = run.replace("--engine cpu", "--engine fft");
    let outcome = folder.host(&format!("{fft} --steps 1000 --resume state --quiet"));
    let text = "warning: cpu computed the checkpoint, and fft (";
    assert!(outcome.code == Some(0) && outcome.stderr.starts_with(text), "{}", outcome.stderr);
}

#[test]
fn a_checkpoint_of_another_system_says_what_differs() {
    let folder = Folder::new();
    let text = "[grid]\nsize = [6, 8]\n[time]\ndt = 0.25\nsteps = 4\n[fields.u]\nstart = 1\nnext = \"u + dt\"\n";
    let write = |text: &str| fs::write(folder.path("own.toml"), text).unwrap();
    write(text);
    folder.succeed("run own.toml --checkpoint state --checkpoint-every 2 --until 1e30,2");
    let title = "a system of u on 6x8 f32 values, steps of 0.25";
    let other = |from: &str, to: &str| {
        format!("this is a checkpoint of {title}, not of {}", title.replace(from, to))
    };
    let besides = format!(
        "this is a checkpoint of {title}, but its spacing, equations, starts, boundaries, stencils, tables, sources \
         or receivers or the version of the program differ"
    );
    for (from, to, what) in [
        ("0.25", "0.125", other("0.25", "0.125")),
        ("[6, 8]", "[6, 9]", other("6x8", "6x9")),
        ("steps = 4", "steps = 4\n[constants]\nc = 1", String::new()),
        ("u + dt", "u - dt", besides.clone()),
        ("start = 1", "start = 2", besides),
    ] {
        write(&text.replace(from, to));
        let help =
            "give the command line that it was written by, or leave --resume out to start anew";
        let line = "run own.toml --resume state";
        match what.as_str() {
            "" => drop(folder.succeed(line)),
            what => folder.fail(line, 2, &format!("error: state: {what}\n  help: {help}")),
        }
    }
}
