// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever ranks share, the result has the bits of one process.

use super::draw;
use super::launch::{is_there, succeed};
use super::support::Folder;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::fs;

/// Random stencils, and random systems, of each number of ranks.
const PROBLEMS: u64 = 8;
const SYSTEMS: u64 = 6;

fn same(folder: &Folder, one: &str, other: &str, what: &str) {
    let [one, other] = [one, other].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(one == other, "{what}");
}

fn have_the_bits_of_one_process(ranks: usize) {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    for seed in 0..PROBLEMS {
        let mut rng = ChaCha8Rng::seed_from_u64(100 * ranks as u64 + seed);
        let draw::Drawn { line, weights } = draw::job(&mut rng, ranks);
        fs::write(folder.path("weights.toml"), &weights).unwrap();
        let alone = folder.host(&format!("{line} --output one.npy"));
        assert_eq!(alone.code, Some(0), "{line}\n{weights}{}", alone.stderr);
        succeed(&folder, ranks, &format!("{line} --output many.npy"));
        same(&folder, "one.npy", "many.npy", &format!("{ranks} ranks, {line}\n{weights}"));
    }
}

#[test]
fn one_rank_has_the_bits_of_one_process() {
    have_the_bits_of_one_process(1);
}

#[test]
fn two_ranks_have_the_bits_of_one_process() {
    have_the_bits_of_one_process(2);
}

#[test]
fn three_ranks_have_the_bits_of_one_process() {
    have_the_bits_of_one_process(3);
}

#[test]
fn four_ranks_have_the_bits_of_one_process() {
    have_the_bits_of_one_process(4);
}

#[test]
fn eight_ranks_have_the_bits_of_one_process() {
    have_the_bits_of_one_process(8);
}

/// Messages of megabytes, which MPI moves otherwise than small ones: all leave at once, and all arrive at once.
#[test]
fn large_messages_arrive() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let line = "run star2d1r --size 600x1400 --dtype f64 --steps 40 --chain 10 --boundary periodic --engine cpu --quiet \
                --verify off";
    folder.succeed(&format!("{line} --output one.npy"));
    succeed(&folder, 3, &format!("{line} --output many.npy"));
    same(&folder, "one.npy", "many.npy", line);
}

/// One field, one sum: as a stencil.
#[test]
fn a_system_that_is_a_stencil_is_shared() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let heat = "title = \"Heat\"\n[grid]\nsize = [41, 50]\ndtype = \"f64\"\n[time]\ndt = 0.1\nsteps = 30\n\
                [stencils]\nlaplace = { derivative = \"laplace\" }\n[fields.u]\nstart = \"sin(x/7)*cos(y/9)\"\n\
                boundary = \"x:periodic,y:reflect\"\nnext = \"u + dt*laplace(u)\"\n";
    fs::write(folder.path("heat.toml"), heat).unwrap();
    let line = "run heat.toml --engine cpu --quiet --chain 5";
    folder.succeed(&format!("{line} --output one.npy"));
    succeed(&folder, 3, &format!("{line} --output many.npy"));
    same(&folder, "one.npy", "many.npy", line);
}

/// Systems with media, kept points, earlier levels, sources and receivers, between any sides: all that is written has the
/// bits of one process.
fn systems_have_the_bits_of_one_process(ranks: usize) {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    for seed in 0..SYSTEMS {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 * ranks as u64 + seed);
        let text = draw::system(&mut rng, ranks);
        fs::write(folder.path("drawn.toml"), &text).unwrap();
        let line = |to: &str| {
            format!(
                "run drawn.toml --engine cpu --quiet --output {to}-{{field}}.npy --receivers {to}.csv \
                 --checkpoint {to}.state"
            )
        };
        let alone = folder.host(&line("one"));
        assert_eq!(alone.code, Some(0), "{text}{}", alone.stderr);
        succeed(&folder, ranks, &line("many"));
        for file in ["-u.npy", "-v.npy", ".csv"] {
            let [one, many] = ["one", "many"].map(|name| format!("{name}{file}"));
            same(&folder, &one, &many, &format!("{ranks} ranks, {file}\n{text}"));
        }
    }
}

#[test]
fn systems_on_one_rank_have_the_bits_of_one_process() {
    systems_have_the_bits_of_one_process(1);
}

#[test]
fn systems_on_two_ranks_have_the_bits_of_one_process() {
    systems_have_the_bits_of_one_process(2);
}

#[test]
fn systems_on_three_ranks_have_the_bits_of_one_process() {
    systems_have_the_bits_of_one_process(3);
}

#[test]
fn systems_on_four_ranks_have_the_bits_of_one_process() {
    systems_have_the_bits_of_one_process(4);
}

#[test]
fn systems_on_eight_ranks_have_the_bits_of_one_process() {
    systems_have_the_bits_of_one_process(8);
}

/// What one number of ranks kept, another goes on with, to the values of a run that nobody ended.
#[test]
fn a_system_goes_on_with_another_number_of_ranks() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let line =
        "example gray-scott --size 33x50 --engine cpu --quiet --checkpoint kept.state --steps 12";
    folder.succeed(&format!("{line} --output one-{{field}}.npy"));
    succeed(&folder, 3, &format!("{line} --until 1e30,5"));
    succeed(&folder, 2, &format!("{line} --resume kept.state --output many-{{field}}.npy"));
    for field in ["u", "v"] {
        let [one, many] = ["one", "many"].map(|name| format!("{name}-{field}.npy"));
        same(&folder, &one, &many, field);
    }
}

#[test]
fn files_on_the_way_and_reports_are_those_of_one_process() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let line = "run heat-2d --size 31x37 --dtype f32 --steps 20 --engine cpu --every 7 --time off";
    folder.succeed(&format!("{line} --output one_{{step}}.npy"));
    let outcome = succeed(&folder, 4, &format!("{line} --output many_{{step}}.npy --verify full"));
    for step in [0, 7, 14, 20] {
        let [one, many] = ["one", "many"].map(|name| format!("{name}_{step}.npy"));
        same(&folder, &one, &many, line);
    }
    let (report, device) = (&outcome.stdout, "\ndevice     4 ranks as ");
    assert_eq!(report.matches(device).count(), 1, "{report}");
    assert!(report.contains("verified   every point"), "{report}");
}

/// Each transforms its part, with ghosts that come again after every jump.
#[test]
fn jumps_of_ranks_are_verified() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let line = "run star2d1r --dtype f64 --boundary y:zero,x:periodic --engine fft --verify full --time off";
    for more in ["--size 90x80 --steps 200 --jump 30", "--size 90x80 --steps 200"] {
        let report = succeed(&folder, 3, &format!("{line} {more}")).stdout;
        assert!(report.contains("verified   every point"), "{report}");
    }
}
