// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points near the boundary.

use crate::support::Folder;

/// A dense stencil that reaches farther in x than in y was taken for a square one: the kernel for points
/// near the boundary read rows that it had not loaded.
#[test]
fn boxes_may_reach_farther_along_one_axis() {
    let folder = Folder::new();
    for ([rows, columns], dtype, boundary) in [
        ([3, 5], "f16", "zero"),
        ([3, 7], "tf32", "periodic"),
        ([5, 3], "f32", "x:reflect,y-:constant=0.5"),
        ([1, 3], "tf32", "reflect"),
    ] {
        let weight = 1.0 / f64::from(rows * columns);
        let weights = vec![weight; (rows * columns) as usize];
        folder.write("box.npy", &[rows as u64, columns as u64], &weights);
        folder.succeed(&format!(
            "run --weights box.npy --size 9x23 --steps 3 --engine emulate --dtype {dtype} \
             --boundary {boundary} --verify full"
        ));
    }
}
