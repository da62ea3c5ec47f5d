// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that were replaced silently: read-only ones became writable, modes were lost, and a result
//! could take the place of the input, of the weights or of the other result.

use std::fs;

use super::support::Folder;

const RUN: &str = "run --stencil star2d1r --engine cpu --verify off --quiet";
const OWN: &str = "give each a file of its own";
const READ: &str = "give the result a file of its own; a file that is read is not replaced";

const FILE: &str = "[smooth]\ndense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]\n";

/// A file of weights and an array, and what they hold.
fn folder() -> (Folder, impl Fn(&Folder) -> [Vec<u8>; 2]) {
    let folder = Folder::new();
    folder.write("in.npy", &[8, 8], &[0.5f32; 64]);
    fs::write(folder.path("own.toml"), FILE).unwrap();
    let contents =
        |folder: &Folder| ["in.npy", "own.toml"].map(|name| fs::read(folder.path(name)).unwrap());
    (folder, contents)
}

/// Then: mode 444 became 644, and the content was gone.
#[cfg(unix)]
#[test]
fn a_read_only_file_is_refused_before_anything_is_computed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    for arguments in [
        &format!("{RUN} --size 8 --output kept"),
        &format!("{RUN} --size 8 --json kept"),
        "plan star2d1r --json kept",
        "plan star2d1r --png kept",
        "bench --quick --csv kept",
        "bench --quick --json kept",
    ] {
        fs::write(folder.path("kept"), "precious").unwrap();
        fs::set_permissions(folder.path("kept"), fs::Permissions::from_mode(0o444)).unwrap();
        let text = "error: cannot write kept: the file is read-only\n  \
                    help: name another file, or if it may be replaced: chmod u+w kept";
        folder.fail(arguments, 5, text);
        assert_eq!(fs::read_to_string(folder.path("kept")).unwrap(), "precious");
        let mode = fs::metadata(folder.path("kept")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444);
        assert_eq!(folder.files(), ["kept"]);
        fs::remove_file(folder.path("kept")).unwrap();
    }
}

/// Then: the mode of a new file, 644.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = Folder::new();
    for mode in [0o600, 0o640, 0o666, 0o755] {
        fs::write(folder.path("out.npy"), "old").unwrap();
        fs::set_permissions(folder.path("out.npy"), fs::Permissions::from_mode(mode)).unwrap();
        // Only the superuser may give a file away; for others this checks their own owner.
        let _ = chown(folder.path("out.npy"), Some(1234), Some(1234));
        let before = fs::metadata(folder.path("out.npy")).unwrap();
        folder.succeed(&format!("{RUN} --size 8 --output out.npy"));
        let after = fs::metadata(folder.path("out.npy")).unwrap();
        assert_eq!(after.permissions().mode() & 0o777, mode);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert!(after.len() > 3);
    }
}

/// Then: the report took the place of the input, the result that of the weights, and so on.
#[test]
fn nothing_that_is_read_is_replaced() {
    let (folder, contents) = folder();
    let before = contents(&folder);
    let own = "run --weights own.toml --engine cpu --verify off --quiet";
    for (arguments, clash) in [
        (format!("{RUN} --input in.npy --json in.npy"), "--input and --json both name in.npy"),
        (format!("{RUN} --input in.npy --output in.npy"), "--input and --output both name in.npy"),
        (
            format!("{RUN} --input in.npy --output ./in.npy"),
            "--input in.npy and --output ./in.npy are the same file",
        ),
        (format!("{own} --size 8 --output own.toml"), "--weights and --output both name own.toml"),
        (
            "plan --weights own.toml --png own.toml".to_owned(),
            "--weights and --png both name own.toml",
        ),
        (
            "plan star2d1r --machine own.toml --json own.toml".to_owned(),
            "--machine and --json both name own.toml",
        ),
    ] {
        folder.fail(&arguments, 2, &format!("error: {clash}\n  help: {READ}"));
        assert_eq!(contents(&folder), before, "{arguments}");
    }
}

#[test]
fn two_results_have_two_files() {
    let folder = Folder::new();
    for (arguments, clash) in [
        ("plan star2d1r --json x --png x", "--png and --json both name x"),
        ("plan star2d1r --json x --png ./x", "--png ./x and --json x are the same file"),
        ("bench --quick --json x --csv ./x", "--json x and --csv ./x are the same file"),
        ("bench --quick --json - --csv -", "--json and --csv both name -"),
    ] {
        folder.fail(arguments, 2, &format!("error: {clash}\n  help: {OWN}"));
        assert!(folder.files().is_empty(), "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn links_do_not_hide_that_a_file_is_the_same() {
    use std::os::unix::fs::symlink;
    let (folder, contents) = folder();
    let before = contents(&folder);
    symlink("in.npy", folder.path("soft")).unwrap();
    fs::hard_link(folder.path("in.npy"), folder.path("hard")).unwrap();
    symlink("new", folder.path("to-new")).unwrap();
    for name in ["soft", "hard"] {
        let text =
            format!("error: --input in.npy and --output {name} are the same file\n  help: {READ}");
        folder.fail(&format!("{RUN} --input in.npy --output {name}"), 2, &text);
    }
    let text = format!("error: --output new and --json to-new are the same file\n  help: {OWN}");
    folder.fail(&format!("{RUN} --size 8 --output new --json to-new"), 2, &text);
    assert_eq!(contents(&folder), before);
    // A link to a file that does not exist yet leads there, and stays a link.
    folder.succeed(&format!("{RUN} --size 8 --output to-new"));
    assert!(fs::symlink_metadata(folder.path("to-new")).unwrap().is_symlink());
    assert_eq!(folder.read::<f32>("new").0, [8, 8]);
}

/// Then: all steps were taken, and only the last move failed.
#[test]
fn what_names_no_file_is_refused_before_anything_is_computed() {
    let folder = Folder::new();
    fs::write(folder.path("file"), "").unwrap();
    let long = "x".repeat(300);
    for (name, reason) in [
        ("none/", "that names no file"),
        ("file/out", "Not a directory (os error 20)"),
        (long.as_str(), "File name too long (os error 36)"),
    ] {
        let text = format!(
            "error: cannot write {name}: {reason}\n  help: name a file, in a folder that exists"
        );
        folder.fail(&format!("run --stencil star2d1r --size 8 --output {name}"), 5, &text);
    }
    assert_eq!(folder.files(), ["file"]);
}
