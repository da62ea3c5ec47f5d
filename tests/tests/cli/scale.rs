// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan NAME --gpus N`: the page, its JSON, and what is refused.

use std::fs;

use serde_json::Value;

use super::support::Folder;

const PLAN: &str = "plan star3d1r --size 1024 --dtype f32 --machine h200";

/// `INSTA_UPDATE=always cargo test -p tests --test cli scale` takes over what was meant.
#[test]
fn the_page_of_many_gpus() {
    let text = Folder::new().succeed(&format!("{PLAN} --gpus 64 --nodes 16")).stdout;
    insta::assert_snapshot!("plan_on_many_gpus", text);
}

#[test]
fn programs_get_all_numbers() {
    let folder = Folder::new();
    let text = folder.succeed(&format!("{PLAN} --gpus 16 --weak --json plan.json")).stdout;
    assert!(text.starts_with("star3d1r on 4096x2048x2048 in f32, on 16 GPUs of "), "{text}");
    assert!(text.contains("weak scaling"), "{text}");
    let json = fs::read_to_string(folder.path("plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(plan["offsets"].as_array().unwrap().len(), 7);
    let scale = &plan["scale"];
    assert_eq!(scale["network"]["fabric_bytes_per_s"], 50e9);
    assert_eq!((&scale["asked"]["gpus"], &scale["asked"]["nodes"]), (&16.into(), &2.into()));
    for curve in ["strong", "weak"] {
        let rows = scale[curve].as_array().unwrap();
        let gpus: Vec<u64> = rows.iter().map(|row| row["gpus"].as_u64().unwrap()).collect();
        assert_eq!(gpus, (0..=12).map(|power| 1 << power).collect::<Vec<_>>());
        let first = rows[0]["prediction"]["after"]["efficiency"].as_f64().unwrap();
        assert!((first - 1.0).abs() < 1e-9, "{first}");
    }
    assert_eq!(scale["weak"][4]["prediction"], scale["asked"]);
}

#[test]
fn another_network_gives_other_times() {
    let folder = Folder::new();
    let own = "name = \"ours\"\nsource = \"made up\"\nlink_bytes_per_s = 1e9\nlink_latency_s = 1\n\
               fabric_bytes_per_s = 1e9\nfabric_latency_s = 1\nmessage_s = 0\n\
               pack_bytes_per_s = 1e12\nexchange_s = 0\n";
    fs::write(folder.path("ours.toml"), own).unwrap();
    let text = folder.succeed(&format!("{PLAN} --gpus 2 --network ours.toml")).stdout;
    assert!(text.contains("\n  ours\n  (made up)\n"), "{text}");
    let exposed = |line: &&str| line.trim_start_matches(['>', ' ']).starts_with("exchange beside");
    assert!(text.lines().any(|line| exposed(&line)), "{text}");

    let help = "a network is TOML, as the file that docs/benchmarks/scaling.md links to: name, source, \
                link_bytes_per_s, link_latency_s, fabric_bytes_per_s, fabric_latency_s, message_s, \
                pack_bytes_per_s, exchange_s";
    fs::write(folder.path("ours.toml"), own.replace("exchange_s = 0", "exchange_s = -1")).unwrap();
    let text = format!(
        "error: ours.toml: exchange_s is -1; give a number from 0e0 to 1e6\n  help: {help}"
    );
    folder.fail(&format!("{PLAN} --gpus 2 --network ours.toml"), 2, &text);
    fs::write(folder.path("ours.toml"), "name = 3\n").unwrap();
    let text = format!(
        "error: ours.toml: line 1, column 8: invalid type: integer `3`, expected a string\n  help: {help}"
    );
    folder.fail(&format!("{PLAN} --gpus 2 --network ours.toml"), 2, &text);
    let outcome = folder.host(&format!("{PLAN} --gpus 2 --network none.toml"));
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
}

#[test]
fn gpus_that_cannot_share_the_grid_are_refused() {
    let folder = Folder::new();
    let text = "error: 1000 GPUs cannot be spread evenly over 256 nodes\n  \
                help: give --nodes a number that divides that of the GPUs, such as --gpus 1024 --nodes 256";
    folder.fail(&format!("{PLAN} --gpus 1000 --nodes 256"), 2, text);
    let text = "error: 2 GPUs cannot be spread evenly over 4 nodes\n  \
                help: give --nodes a number that divides that of the GPUs, such as --gpus 1024 --nodes 256";
    folder.fail(&format!("{PLAN} --gpus 2 --nodes 4"), 2, text);
    for option in ["--gpus 0", "--gpus 2 --nodes 0", "--gpus 65537"] {
        let outcome = folder.host(&format!("{PLAN} {option}"));
        assert_eq!(outcome.code, Some(2), "{option}");
        assert!(outcome.stderr.contains("is not in 1..=65536"), "{}", outcome.stderr);
    }
    let small = PLAN.replace("1024", "16");
    let text = "error: a grid of 16x16x16 cannot be cut into 64 parts of whole tiles (1x16x64 points)\n  \
                help: take fewer ranks or GPUs, a larger --size, or other numbers for --split";
    folder.fail(&format!("{small} --gpus 64"), 2, text);
    let large = PLAN.replace("1024", "4096");
    let outcome = folder.host(&format!("{large} --gpus 2"));
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("of GPU memory; the GPU has 140.4 GiB"), "{}", outcome.stderr);
    for option in ["--nodes 2", "--weak", "--network ours.toml"] {
        let outcome = folder.host(&format!("{PLAN} {option}"));
        assert_eq!(outcome.code, Some(2), "{option}");
        assert!(outcome.stderr.contains("--gpus <N>"), "{}", outcome.stderr);
    }
    for option in ["--explain", "--text", "--png a.png"] {
        let outcome = folder.host(&format!("{PLAN} --gpus 2 {option}"));
        assert_eq!(outcome.code, Some(2), "{option}");
        assert!(outcome.stderr.contains("cannot be used with"), "{}", outcome.stderr);
    }
    folder.succeed("example gray-scott --write spots.toml");
    let text = "error: --gpus is for stencils and for systems that are a stencil; this system is not one: it has 2 fields\n  \
                help: leave it out: what several GPUs make of this system is not predicted; `host run` computes it on them";
    folder.fail("plan spots.toml --machine h200 --gpus 2", 2, text);
    // Without a GPU there is none to plan for.
    let here = PLAN.replace("h200", "this");
    assert_eq!(folder.host(&format!("{here} --gpus 2")).code, Some(3));
}
