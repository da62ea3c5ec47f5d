// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencil files: both forms, and every mistake with its place and its text.

use transform::{Stencil, Tap, stencil_file::parse};

/// The text of the error.
fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn both_forms_are_read_in_the_order_of_the_file() {
    let text = "
# Two stencils.
[zeta]
offsets = [[0, -1], [0, 0], [-2, 0]]
weights = [0.25, 0.5, 1]

['an alpha']
dense = [[0, 1, 0], [1, 4.5, 1], [0, -1e-3, 0]]
";
    let tap = |y, x, weight| Tap { offset: [0, y, x], weight };
    let zeta = vec![tap(0, -1, 0.25), tap(0, 0, 0.5), tap(-2, 0, 1.0)];
    let alpha = [0., 1., 0., 1., 4.5, 1., 0., -1e-3, 0.];
    assert_eq!(
        parse(text).unwrap(),
        [
            Stencil::new("zeta", 2, zeta).unwrap(),
            Stencil::dense("an alpha", &[3, 3], &alpha).unwrap()
        ]
    );
}

#[test]
fn one_and_three_dimensions_are_told_by_the_nesting() {
    let one = "[a]\noffsets = [[1]]\nweights = [2]\n[b]\ndense = [1, 2, 3]\n";
    let dims = |text: &str| parse(text).unwrap().iter().map(Stencil::dims).collect::<Vec<_>>();
    assert_eq!(dims(one), [1, 1]);
    let three = "[a]\noffsets = [[1, 2, 3]]\nweights = [2]\n[b]\ndense = [[[1, 2, 3]]]\n";
    assert_eq!(dims(three), [3, 3]);
    assert_eq!(parse(three).unwrap()[0].weight([1, 2, 3]), 2.0);
}

#[test]
fn mistakes_of_form_name_their_place() {
    assert_eq!(
        refused(""),
        "line 1, column 1: the file has no stencil; add a table under its name, such as [smooth], \
         with 'offsets' and 'weights', or with 'dense'"
    );
    assert_eq!(
        refused("[a]\nweights = [1]\n"),
        "line 2, column 11: stencil 'a': has 'weights' without 'offsets'; give either 'offsets' \
         and 'weights', or 'dense'"
    );
    assert!(refused("[a]\noffsets = [[1]]\n").contains("line 2, column 11: stencil 'a': has 'off"));
    assert!(refused("\n [a]\n").starts_with("line 2, column 3: stencil 'a': has no weights; give"));
    assert!(
        refused("[a]\nweights = [1]\ndense = [1]\n")
            .starts_with("line 3, column 9: stencil 'a': has both forms; give either")
    );
    assert_eq!(
        refused("['']\ndense = [1]"),
        "line 1, column 2: the name is empty; give the stencil one"
    );
}

#[test]
fn text_that_is_no_toml_names_its_place() {
    for (text, place, part) in [
        ("[a\n", "line 1, column 3: ", "]"),
        ("[a]\nwieghts = [1]\n", "line 2, column 1: ", "unknown field `wieghts`, expected one of"),
        ("[a]\noffsets = [[0.5]]\n", "line 2, column 13: ", "expected i32"),
        ("[a]\noffsets = [[3000000000]]\n", "line 2, column 13: ", "3000000000"),
        ("[a]\nweights = ['ü', 1]\n", "line 2, column 12: ", "invalid type: string"),
        ("[a]\ndense = [1, true, 1]\n", "line 2, column 13: ", "a number or a list of numbers"),
        ("[a]\ndense = [1]\n[a]\ndense = [2]\n", "line 3, column 2: ", "duplicate key"),
        ("a = 1\n", "line 1, column 5: ", "invalid type: integer"),
        ("[ü]\n", "line 1, column 2: ", "key"),
    ] {
        let found = refused(text);
        assert!(found.starts_with(place) && found.contains(part), "{text:?}: {found}");
    }
}

#[test]
fn mistakes_in_offsets_and_weights_name_the_entry() {
    let file = |offsets: &str, weights: &str| {
        refused(&format!("[a]\noffsets = {offsets}\nweights = {weights}\n"))
    };
    assert_eq!(
        file("[[0], [1]]", "[1]"),
        "line 3, column 11: stencil 'a': 2 offsets and 1 weights; give one weight for each offset"
    );
    assert_eq!(
        file("[[0], [1, 0]]", "[1, 2]"),
        "line 2, column 17: stencil 'a': this offset has 2 numbers, the first has 1; give all as \
         many"
    );
    assert_eq!(
        file("[[0, 0, 0, 0]]", "[1]"),
        "line 2, column 12: stencil 'a': offsets have 4 numbers; give 1 (x), 2 (y, x) or 3 \
         (z, y, x)"
    );
    assert!(file("[[]]", "[1]").contains("offsets have 0 numbers"));
    assert!(
        file("[]", "[]")
            .contains("line 2, column 11: stencil 'a': the stencil has no weight other than 0")
    );
    assert!(
        file("[[0, 1], [0, 2], [0, 1]]", "[1, 2, 3]")
            .starts_with("line 2, column 28: stencil 'a': offset [0, 1] (y, x) is given twice")
    );
    assert!(
        file("[[0], [-17]]", "[1, 2]")
            .starts_with("line 2, column 17: stencil 'a': offset [-17] (x) is farther")
    );
    assert!(
        file("[[0], [1]]", "[1, inf]")
            .starts_with("line 3, column 15: stencil 'a': weight 1 is inf; weights must be finite")
    );
}

#[test]
fn mistakes_in_dense_weights_name_the_row() {
    let file = |dense: &str| refused(&format!("[ok]\ndense = [1]\n[b]\ndense = {dense}\n"));
    assert_eq!(
        file("[[1, 2, 3], [1, 2]]"),
        "line 4, column 21: stencil 'b': this row has 2 entries, the one before has 3; make all \
         rows as long"
    );
    for mixed in ["[[1, 2, 3], 1, [1]]", "[1, [1], 1]", "[[1], [[1]], [1]]", "[[[1]], [1], [1]]"] {
        let found = file(mixed);
        assert!(found.contains("numbers and rows are mixed; nest all"), "{mixed}: {found}");
    }
    assert!(file("[0, nan, 1]").contains("line 4, column 13: stencil 'b': weight 1 is NaN"));
    assert!(file("[[1, 2]]").contains("have shape 1x2; every extent must be odd"));
    assert!(file("[0, 0, 0]").contains("the stencil has no weight other than 0"));
    assert!(file("[[[[1]]]]").contains("the weights have 4 axes; 1, 2 or 3 are supported"));
    assert!(file("5").contains("the weights have 0 axes"));
    assert!(file("[]").contains("every extent must be odd"));
    let long = format!("[{}1]", "1, ".repeat(34));
    assert!(file(&long).contains("offset [-17] (x) is farther than the largest radius"));
}
