// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients that processes take together, by a program that uses the library.

use super::launch::{is_there, mpirun_of, outcome};
use super::support::Folder;

#[test]
fn processes_make_no_difference_to_a_gradient() {
    let program = option_env!("CARGO_BIN_EXE_gradient-of-ranks");
    let Some(program) = program.filter(|_| is_there()) else {
        assert!(std::env::var_os("REQUIRE_MPI").is_none(), "it is built without MPI");
        return;
    };
    let folder = Folder::new();
    let gradient = |ranks: usize| -> Vec<f64> {
        let found = outcome(mpirun_of(program, &folder, &[(ranks, "")]));
        assert_eq!(found.code, Some(0), "{ranks} ranks: {}", found.stderr);
        let again = found.stderr.lines().find_map(|line| line.strip_suffix(" steps again"));
        let again = again.and_then(|count| count.parse::<usize>().ok());
        assert!(again.is_some_and(|count| count > 0), "{ranks} ranks: {}", found.stderr);
        found.stdout.lines().map(|line| line.parse().unwrap()).collect()
    };
    let one = gradient(1);
    // Three fields and a coefficient, and a constant.
    assert_eq!(one.len(), 4 * 17 * 14 + 1);
    let largest = one.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    assert!(largest > 0.1, "{largest}");
    for ranks in [2, 3] {
        let off = gradient(ranks).iter().zip(&one).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off <= 1e-13 * largest, "{ranks} ranks: {off:e} of {largest:e}");
    }
    // An error is told once, with its exit code.
    let refused = outcome(mpirun_of(program, &folder, &[(2, ""), (1, "other arguments")]));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_eq!(
        refused.stderr.matches("error: rank 2 was started").count(),
        1,
        "{}",
        refused.stderr
    );
}
