// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command lines as files, and what shells and `man` are told of them.

use std::fs;

use super::support::Folder;

const LINE: &str = "heat-2d --size 12x16 --steps 30 --dtype f32 --boundary x:periodic,y:constant=-1 --engine cpu \
                    --start gauss --quiet --verify off --stride 2 -o u.npy";

#[test]
fn a_command_line_printed_as_a_file_gives_the_same_result() {
    let folder = Folder::new();
    let file = folder.succeed(&format!("run {LINE} --print-toml")).stdout;
    assert!(folder.files().is_empty(), "nothing is run");
    let expected = "\
# Run by `host run FILE.toml`. Keys are its options.
stencil = \"heat-2d\"
size = \"12x16\"
steps = 30
dtype = \"f32\"
engine = \"cpu\"
verify = \"off\"
quiet = true
output = \"u.npy\"
stride = 2
boundary = \"x:periodic,y:constant=-1\"
start = \"gauss\"
";
    assert_eq!(file, expected);
    fs::write(folder.path("heat.toml"), &file).unwrap();
    folder.succeed(&format!("run {LINE}"));
    let of_line = fs::read(folder.path("u.npy")).unwrap();
    fs::remove_file(folder.path("u.npy")).unwrap();
    folder.succeed("run heat.toml");
    assert!(fs::read(folder.path("u.npy")).unwrap() == of_line);

    // Options take the place of keys, also in the next file.
    folder.succeed("run heat.toml --steps 29 -o v.npy");
    folder.succeed(&format!("run {}", LINE.replace("30", "29").replace("u.npy", "w.npy")));
    let [v, w] = ["v.npy", "w.npy"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(v == w && v != of_line);
    let again = folder.succeed("run heat.toml --steps 29 -o v.npy --print-toml").stdout;
    let expected = expected.replace("= 30", "= 29").replace("u.npy", "v.npy");
    let lines =
        |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lines(&again), lines(&expected));
}

#[test]
fn a_file_of_options_may_name_that_of_a_system() {
    let folder = Folder::new();
    folder.succeed("example gray-scott --write system.toml");
    let file = "stencil = 'system.toml'\nsize = 16\nsteps = 4\nfields = ['v']\noutput = 'v.npy'\nquiet = true\n";
    fs::write(folder.path("run.toml"), format!("{file}engine = 'cpu'\n")).unwrap();
    folder.succeed("run run.toml");
    let (shape, _) = folder.read::<f32>("v.npy");
    assert_eq!(shape, [16, 16]);
}

#[test]
fn keys_that_are_no_options_are_refused_with_those_that_look_alike() {
    let folder = Folder::new();
    let fails = |file: &str| {
        fs::write(folder.path("run.toml"), format!("stencil = 'heat-2d'\n{file}")).unwrap();
        let outcome = folder.host("run run.toml");
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        outcome.stderr
    };
    let text = fails("sizes = 16\n");
    assert!(text.starts_with("error: run.toml: sizes: there is no such option\n"), "{text}");
    assert!(text.contains("help: did you mean size"), "{text}");
    assert!(fails("size = 16\nquiet = 1\n").contains("quiet: this is true or false"));
    assert!(fails("[size]\nx = 1\n").contains("size: this is a text, a number or a list"));
    assert!(fails("size = 16\nprint-toml = true\n").contains("print-toml: there is no such"));
    assert!(fails("size = 16\nsteps = 'many'\n").contains("--steps"));
}

#[test]
fn shells_and_man_are_told_of_all_commands_and_options() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.succeed(&format!("completions {shell}")).stdout;
        assert!(script.contains("checkpoint-every") && script.contains("doctor"), "{shell}");
    }
    let page = folder.succeed("man").stdout;
    assert!(page.contains(".TH host 1") && page.contains("doctor"), "{page}");
    let page = folder.succeed("man run").stdout;
    assert!(page.contains(".TH host-run 1") && page.contains("checkpoint\\-every"), "{page}");
    let outcome = folder.host("man rum");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("did you mean run?"), "{}", outcome.stderr);
}
