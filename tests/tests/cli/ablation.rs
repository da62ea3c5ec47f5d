// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host bench STENCIL --ablation`: what it refuses; there is no GPU here.

use super::support::Folder;

#[test]
fn without_a_gpu_it_says_so_and_writes_nothing() {
    let folder = Folder::new();
    for stencil in
        ["box2d3r --dtype tf32", "box2d7r", "star2d1r --quick --dtype bf16 --size 100x90"]
    {
        let outcome = folder.host(&format!("bench {stencil} --ablation --json a.json"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""), "{outcome:?}");
        assert!(outcome.stderr.contains("\n  help: "), "{outcome:?}");
        assert!(!folder.files().contains(&"a.json".to_owned()), "{outcome:?}");
    }
}

#[test]
fn what_has_no_dense_twin_is_refused_before_a_gpu_is_looked_for() {
    let folder = Folder::new();
    let refused = |arguments: &str, reason: &str| {
        let outcome = folder.host(&format!("bench {arguments}"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(reason), "{outcome:?}");
    };
    refused("star3d1r --ablation", "dense twins are for 2D stencils; star3d1r has 3 dimensions");
    refused(
        "box2d4r --ablation --dtype tf32",
        "no dense twin takes the radius 4 of box2d4r in tf32",
    );
    refused("box2d1r --ablation --dtype f64", "dense twins multiply f16, bf16 or tf32, not f64");
    refused("box2d1r --ablation --dtype f16,tf32", "an ablation measures one --dtype");
    refused("box2d1r --ablation --size 5x6x7", "5x6x7");
    refused("box2d1rr --ablation", "box2d1r");
}

#[test]
fn a_stencil_and_the_ablation_belong_together() {
    let folder = Folder::new();
    for arguments in ["box2d1r", "--ablation", "box2d1r --ablation --engine cpu", "--size 100"] {
        let outcome = folder.host(&format!("bench {arguments}"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
    }
    let help = folder.succeed("bench --help").stdout;
    assert!(help.contains("host bench box2d3r --ablation"), "{help}");
}
