// SPDX-License-Identifier: MIT OR Apache-2.0
//! Remedies of boundaries that are none.

use problem::error::Hint;

/// What to write instead.
pub fn remedy(hint: Option<&Hint>) -> String {
    match hint {
        None => "give one kind for all sides, such as --boundary periodic, or kinds for axes and \
             sides, such as --boundary x:periodic,y-:constant=1,y+:reflect"
            .into(),
        Some(Hint::Meant(meant)) => format!("did you mean {meant}?"),
        Some(Hint::Place(meant)) => {
            format!("did you mean {meant}? x is the last axis of the array")
        }
        Some(Hint::Twice) => "leave one of them out".into(),
        Some(Hint::Order([general, special])) => {
            format!("give the more general one first: --boundary {general},{special}")
        }
        Some(hint @ (Hint::Reflect | Hint::Slope | Hint::Open | Hint::Fixed)) => {
            hint.side().unwrap_or_default().into()
        }
        Some(Hint::Wider) => "take a wider --dtype, or a smaller constant".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::of_error;
    use problem::Boundary;

    /// The remedy of what is refused in 2D.
    fn help(text: &str) -> String {
        of_error(&Boundary::parse(text, 2).unwrap_err())
    }

    #[test]
    fn what_is_written_instead_stands_in_the_remedy() {
        for (text, remedy) in [
            (
                "y+:reflect,x:zero,y:constant=1",
                "give the more general one first: --boundary y:constant=1,y+:reflect",
            ),
            ("periodic,zero", "leave one of them out"),
            ("left:zero", "did you mean x-:zero? x is the last axis of the array"),
        ] {
            assert_eq!(help(text), remedy);
        }
        let start = "give one kind for all sides, such as --boundary periodic, or kinds for axes";
        assert!(help("warp").starts_with(start));
    }

    #[test]
    fn other_names_and_slips_are_understood() {
        for (text, meant) in [
            ("wrap", "did you mean periodic?"),
            ("torus", "did you mean periodic?"),
            ("perodic", "did you mean periodic?"),
            ("Periodic", "did you mean periodic?"),
            ("mirror", "did you mean reflect? It mirrors about the last point, "),
            ("reflection", "did you mean reflect?"),
            ("neumann", "did you mean edge? It repeats the last point, "),
            ("Symmetric", "did you mean symmetric?"),
            ("x:Symmetry", "did you mean symmetric?"),
            ("open", "no kind lets waves out: zero is a wall that reflects them. "),
            ("y+:absorbing", "no kind lets waves out: zero is a wall that reflects them. "),
            ("pml", "no kind lets waves out: zero is a wall that reflects them. "),
            ("nearest", "did you mean edge?"),
            ("clamp", "did you mean edge?"),
            ("replicate", "did you mean edge?"),
            ("Edge", "did you mean edge?"),
            ("flx=1", "did you mean flux=G?"),
            ("slope", "did you mean flux=G?"),
            ("flux:0.5", "did you mean flux=0.5?"),
            ("dirichlet", "did you mean zero? For another value: constant=V"),
            ("zeros", "did you mean zero?"),
            ("const=1", "did you mean constant=V?"),
            ("1.5", "did you mean constant=1.5?"),
            ("x:wrap", "did you mean periodic?"),
            ("x=zero", "did you mean x:zero?"),
            ("y-=reflect", "did you mean y-:reflect?"),
            ("constant:1", "did you mean constant=1?"),
            ("X:zero", "did you mean x:zero?"),
            ("left:zero", "did you mean x-:zero?"),
        ] {
            let help = help(text);
            assert!(help.starts_with(meant), "{text}: {help}");
        }
    }
}
