// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written on the way.

use std::fs;

use super::support::Folder;

const RUN: &str = "run star2d1r --size 12x16 --dtype f32 --engine cpu --quiet --verify off";

#[test]
fn every_some_steps_a_file_is_what_a_run_of_so_many_steps_gives() {
    let folder = Folder::new();
    folder.succeed(&format!("{RUN} --steps 25 --every 10 --output u_{{step:03}}.npy"));
    let files = ["u_000.npy", "u_010.npy", "u_020.npy", "u_025.npy"];
    assert_eq!(folder.files(), files);
    for (file, steps) in files.into_iter().zip([0, 10, 20, 25]) {
        folder.succeed(&format!("{RUN} --steps {steps} --output one.npy"));
        let [own, one] = [file, "one.npy"].map(|name| fs::read(folder.path(name)).unwrap());
        assert!(own == one, "{file}");
    }
}

/// Packed on the device, and fetched while the next steps are taken.
#[test]
fn what_a_device_sends_on_the_way_is_what_it_computed() {
    let folder = Folder::new();
    let run = RUN.replace("--engine cpu", "--engine emulate").replace("f32", "f16");
    folder.succeed(&format!("{run} --steps 9 --every 2 --stride 3 -o u_{{step}}.npy"));
    for steps in [0, 2, 4, 6, 8, 9] {
        folder.succeed(&format!("{run} --steps {steps} --stride 3 --fuse 1 --chain 1 -o one.npy"));
        let file = format!("u_{steps}.npy");
        let [own, one] = [&*file, "one.npy"].map(|name| fs::read(folder.path(name)).unwrap());
        assert!(own == one, "{file}");
    }
}

#[test]
fn a_report_tells_what_snapshots_cost() {
    let folder = Folder::new();
    let run = RUN.replace("--quiet ", "");
    let run = format!("{run} --steps 25 --every 10 -o u_{{step}}.npy --time off --json run.json");
    let text = folder.succeed(&run).stdout;
    assert!(text.contains("snapshots  3 on the way, 0.001 MB each; steps waited "), "{text}");
    let json = fs::read_to_string(folder.path("run.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["snapshots"]["snapshots"], 3);
    assert_eq!(report["snapshots"]["bytes"], 12 * 16 * 4);
}

#[test]
fn a_series_for_paraview_has_a_list_of_its_files() {
    let folder = Folder::new();
    let example =
        "example gray-scott --size 20x24 --steps 30 --engine cpu --quiet --verify off --every 10";
    folder.succeed(&format!("{example} --output all_{{step:03}}.vti --stride 2"));
    let files = ["all.pvd", "all_000.vti", "all_010.vti", "all_020.vti", "all_030.vti"];
    assert_eq!(folder.files(), files);
    let list = fs::read_to_string(folder.path("all.pvd")).unwrap();
    let named = files[1..].iter().all(|file| list.contains(&format!("file=\"{file}\"")));
    assert!(named && list.matches("<DataSet ").count() == 4, "{list}");
    let bytes = fs::read(folder.path("all_030.vti")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("WholeExtent=\"0 11 0 9 0 0\""), "{text}");
    assert!(text.contains("Name=\"u\"") && text.contains("Name=\"v\""), "{text}");

    folder.succeed(&format!("{example} --output {{field}}.{{step}}.vti --fields v"));
    assert!(folder.path("v.pvd").exists() && !folder.path("u.pvd").exists());
}

#[test]
fn an_animation_has_a_picture_for_each_look() {
    let folder = Folder::new();
    let frames = |options: &str| {
        folder.succeed(&format!("{RUN} --steps 45 --every 10 --output film.png{options}"));
        folder.pictures("film.png")
    };
    let (all, each, fixed) = (frames(""), frames(" --range each"), frames(" --range 0:1"));
    assert_eq!([all.len(), each.len(), fixed.len()], [6; 3]);
    let one = |options: &str| {
        folder.succeed(&format!("{RUN} --steps 30 --output one.png{options}"));
        folder.pictures("one.png").remove(0)
    };
    let (own, of_fixed) = (one(""), one(" --range 0:1"));
    assert!(each[3] == own && each[4] != own);
    assert!(fixed[3] == of_fixed);
    // The colours span the values of all pictures, not those of each.
    assert!(all[3] != own);
    assert_eq!(folder.files(), ["film.png", "one.png"]);
}

#[test]
fn a_steady_state_ends_a_run() {
    let folder = Folder::new();
    let run = "run heat-2d --size 20 --dtype f64 --engine cpu --start gauss --steps 1e6 --time off";
    let report = folder.succeed(&format!("{run} --until 1e-6,50 --output u_{{step}}.npy")).stdout;
    assert!(report.contains("\nsteady     after step "), "{report}");
    let name = folder.files().into_iter().find(|name| name.ends_with(".npy")).unwrap();
    let step: usize = name.trim_start_matches("u_").trim_end_matches(".npy").parse().unwrap();
    assert!(step.is_multiple_of(50) && (100..100_000).contains(&step), "{step}");
    assert!(report.contains(&format!(" {step} steps")), "{report}");
    let (_, last) = folder.read::<f64>(&name);
    folder.succeed(&run.replace("1e6", &format!("{} --output before.npy --quiet", step - 50)));
    let (_, before) = folder.read::<f64>("before.npy");
    let change = last.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / 50.0;
    assert!(change < 1e-6, "{change}");
    let run = RUN.replace("12x16", "4000x4000");
    let outcome = folder.host(&format!("{run} --every 1 --steps 1e9 -o u_{{step}}.npy"));
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(" of disk; "), "{}", outcome.stderr);
}

/// A folder that is gone in the middle ends the run, and the checkpoint elsewhere is of its last step.
#[test]
fn a_folder_that_is_gone_loses_nothing_that_was_kept() {
    let folder = Folder::new();
    fs::create_dir(folder.path("out")).unwrap();
    let run =
        format!("{RUN} --steps 1e9 --every 1000 --output out/u_{{step}}.npy --checkpoint state");
    let mut command = folder.command(&run);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    while !folder.path("out/u_1000.npy").exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    fs::rename(folder.path("out"), folder.path("away")).unwrap();
    let outcome = super::support::ProgramOutput::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    let start = "error: cannot write out/u_";
    assert!(outcome.stderr.starts_with(start), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("; state holds the state after step "), "{}", outcome.stderr);
    assert!(folder.path("away/u_0.npy").exists());
}
