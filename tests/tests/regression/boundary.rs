// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundaries whose parts contradict: the later one won, silently.

use super::support::Folder;

/// Then: `x:zero,periodic` was periodic everywhere.
#[test]
fn parts_that_contradict_are_refused() {
    let folder = Folder::new();
    for (boundary, reason, help) in [
        (
            "x:zero,periodic",
            "'periodic' would replace 'x:zero', which stands before it",
            "give the more general one first: --boundary periodic,x:zero",
        ),
        ("x:zero,x:periodic", "'x:zero' and 'x:periodic' are both for x", "leave one of them out"),
        ("zero,periodic", "'zero' and 'periodic' are both for all sides", "leave one of them out"),
    ] {
        let text = format!("error: boundary '{boundary}': {reason}\n  help: {help}");
        folder.fail(&format!("run --stencil star2d1r --size 8 --boundary {boundary}"), 2, &text);
    }
}

#[test]
fn a_general_kind_may_be_refined() {
    let run = "run --stencil star2d1r --size 9 --engine cpu --boundary";
    let report = Folder::new().succeed(&format!("{run} periodic,x:zero,x-:constant=1")).stdout;
    let line = "stencil    star2d1r, boundary x-:constant=1,x+:zero,y:periodic\n";
    assert!(report.starts_with(line), "{report}");
}

/// Kernels of sums on GPUs know no images whose values are changed; the CPU does, whatever was asked for.
#[test]
fn images_that_are_changed_are_refused_or_right() {
    let folder = Folder::new();
    let run = "run --stencil box2d2r --size 40x50 --steps 3 --verify full";
    let sides = "x:odd,y-:odd-reflect,y+:robin=1,0.5,0.25";
    let report = folder.succeed(&format!("{run} --engine cpu --boundary {sides}")).stdout;
    let line = "stencil    box2d2r, boundary x:odd,y-:odd-reflect,y+:robin=1,0.5,0.25\n";
    assert!(report.starts_with(line), "{report}");
    for engine in ["emulate", "fft"] {
        let result = folder.host(&format!("{run} --engine {engine} --boundary {sides}"));
        assert_ne!(result.code, Some(0), "{result:?}");
        assert!(result.stderr.contains("it takes no side with odd"), "{result:?}");
    }
    let text = "error: boundary 'x-:value=sin(t)': 'sin(t)' is not a finite number; only fields of a system take expressions";
    let result = folder.host(&format!("{run} --boundary x-:value=sin(t)"));
    assert!(result.stderr.starts_with(text), "{result:?}");
}

#[test]
fn names_of_other_programs_are_answered_with_the_kind_that_is_meant() {
    let folder = Folder::new();
    for (boundary, help) in [
        ("wrap", "did you mean periodic?"),
        (
            "mirror",
            "did you mean reflect? It mirrors about the last point, which is not repeated; with symmetric it is",
        ),
        ("symmetry", "did you mean symmetric?"),
        (
            "neumann",
            "did you mean edge? It repeats the last point, so that nothing flows through half a point \
             beyond it; with reflect that is at the point itself. For another slope: flux=G",
        ),
        ("clamp", "did you mean edge?"),
        ("dirichlet", "did you mean zero? For another value: constant=V, such as constant=1.5"),
        ("priodic", "did you mean periodic?"),
    ] {
        let text = format!(
            "error: boundary '{boundary}': '{boundary}' is none of zero, constant=V, periodic, \
             reflect, symmetric, edge, flux=G, odd, odd-reflect, robin=A,B,C\n  help: {help}"
        );
        folder.fail(&format!("run --stencil star2d1r --size 8 --boundary {boundary}"), 2, &text);
    }
}

#[test]
fn help_says_what_reflect_repeats_and_who_decides_in_corners() {
    let help = Folder::new().succeed("run --help").stdout;
    let help: Vec<&str> = help.split_whitespace().collect();
    let help = help.join(" ");
    for text in [
        "the mirror image about the last point, which is not repeated",
        "In corners x",
        "edge (the last point repeated)",
        "flux=G",
    ] {
        assert!(help.contains(text), "{help}");
    }
}
