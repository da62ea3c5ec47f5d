// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host list`: every stencil under its domain.

use transform::catalogue;

use super::support::Folder;

#[test]
fn every_stencil_stands_under_its_domain_in_a_hundred_columns() {
    let listed = Folder::new().succeed("list").stdout;
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for line in lines(&listed) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let mut from = 0;
    for domain in catalogue::domains() {
        let heading = format!("{}: {}\n", domain.name, domain.about);
        let at = listed[from..].find(&heading).unwrap_or_else(|| panic!("no '{heading}'"));
        from += at + heading.len();
        let section = listed[from..].split("\n\n").next().unwrap();
        for entry in catalogue::entries().iter().filter(|entry| entry.domain == domain.name) {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let row = lines(section)
                .iter()
                .map(|line| words(line))
                .find(|row| row.first().is_some_and(|name| name == entry.name));
            let row = row.unwrap_or_else(|| panic!("no {} in {section}", entry.name));
            let stencil = entry.stencil();
            let numbers = [stencil.taps().len().to_string(), stencil.radius().to_string()];
            assert_eq!(row[1..3], numbers, "{}", entry.name);
            assert!(row[3..].join(" ").starts_with(&entry.kind.to_string()), "{}", entry.name);
            let all = words(section).join(" ");
            for text in entry.aliases.iter().chain([&entry.source]) {
                assert!(all.contains(text), "no '{text}' in {section}");
            }
        }
    }
}

#[test]
fn a_domain_is_listed_alone() {
    let folder = Folder::new();
    let heat = folder.succeed("list --domain heat").stdout;
    assert!(heat.starts_with("heat: heat and diffusion\n"), "{heat}");
    let row = " heat1d-4th               5       2  step  Euler step, 4th-order in space  ";
    assert!(heat.lines().any(|line| line.starts_with(row)), "{heat}");
    assert!(!heat.contains("wave: ") && !heat.contains("fdtd"), "{heat}");
    assert!(heat.ends_with("`host plan NAME` shows what becomes of a stencil.\n"), "{heat}");
    assert_eq!(folder.succeed("list --domain Heat").stdout, heat);
}

#[test]
fn an_unknown_domain_is_answered_with_those_there_are() {
    let text = "error: invalid value 'het' for '--domain <DOMAIN>'\n  \
                [possible values: shapes, heat, poisson, advection, wave, lattice-boltzmann, \
                phase-field, geophysics, image, electromagnetics]\n\n  \
                tip: a similar value exists: 'heat'\n\n\
                For more information, try '--help'.";
    Folder::new().fail("list --domain het", 2, text);
    let help = Folder::new().succeed("list --help").stdout;
    for domain in catalogue::domains() {
        assert!(help.contains(domain.name) && help.contains(domain.about), "{help}");
    }
}

#[test]
fn a_word_finds_stencils_by_name_alias_description_kind_and_domain() {
    let folder = Folder::new();
    let names = |arguments: &str| -> Vec<String> {
        let listed = folder.succeed(&format!("list {arguments}")).stdout;
        let known = |name: &&str| catalogue::entries().iter().any(|entry| entry.name == *name);
        let first = listed.lines().filter_map(|line| line.split_whitespace().next());
        first.filter(known).map(str::to_owned).collect()
    };
    assert_eq!(names("WAVE_1D"), ["wave1d", "wave1d-4th", "wave1d-8th"]);
    assert_eq!(names("hpcg"), ["hpcg-jacobi"]);
    assert_eq!(names("acoustic3d-13p"), ["wave3d-4th"]);
    assert_eq!(names("donor"), ["upwind2d", "upwind3d"]);
    let heat = catalogue::entries().iter().filter(|entry| entry.domain == "heat").count();
    assert!(names("diffusion").len() >= heat);
    assert!(names("difference --domain wave").contains(&"strain2d-8th".to_owned()));
    let text = "error: no name, description or domain of the stencils holds 'uwpind2d'\n  \
                help: did you mean upwind2d, upwind1d, upwind3d? `host list` prints every name";
    folder.fail("list uwpind2d", 2, text);
    let text = "error: no name, description or domain of the stencils holds 'donor'\n  \
                help: `host list` prints all of them";
    folder.fail("list donor --domain heat", 2, text);
}

#[test]
fn a_stencil_by_its_name_shows_its_weights_and_its_sum() {
    let folder = Folder::new();
    let shown = folder.succeed("list heat-2d").stdout;
    assert!(shown.starts_with("star2d1r   5 points, radius 1; also "), "{shown}");
    let formula =
        "\n\nu'[y,x] = 0.0625 (u[y-1,x] + u[y,x-1] + u[y,x+1] + u[y+1,x]) + 0.75 u[y,x]\n\n";
    assert!(shown.contains(formula), "{shown}");
    assert!(shown.ends_with("   y   x  weight\n  -1   0  0.0625\n   0  -1  0.0625\n   0   0  0.75\n   0   1  0.0625\n   1   0  0.0625\n"), "{shown}");
    let shown = folder.succeed("list box3d4r").stdout;
    assert!(shown.starts_with("box3d4r   729 points, radius 4"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    assert!(shown.contains("and 665 more"), "{shown}");
}

#[test]
fn the_list_is_json_for_programs() {
    let folder = Folder::new();
    let list = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&folder.succeed(&format!("list {arguments} --json -")).stdout).unwrap()
    };
    assert_eq!(list("").as_array().unwrap().len(), catalogue::entries().len());
    let one = list("star2d1r");
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0]["offsets"], serde_json::json!([[-1, 0], [0, -1], [0, 0], [0, 1], [1, 0]]));
    assert_eq!(one[0]["weights"], serde_json::json!([0.0625, 0.0625, 0.75, 0.0625, 0.0625]));
    let heat = list("--domain heat");
    assert!(heat.as_array().unwrap().iter().all(|entry| entry["domain"] == "heat"));
    folder.succeed("list upwind --json upwind.json");
    assert!(folder.path("upwind.json").exists());
    assert_eq!(folder.host("list nothing-of-the-kind --json -").code, Some(2));
}
