// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that are made of others: every engine, bound and check that knows those knows these.

use super::function::Function;
use super::node::Node;

/// A function of numbers that is made of others.
#[derive(Clone, Copy, Debug)]
pub struct Composed {
    /// What it is called.
    pub name: &'static str,
    /// How many numbers it takes.
    pub takes: usize,
    /// What it is made of.
    pub of: fn(&[Node]) -> Node,
}

/// All of them.
pub const COMPOSED: [Composed; 12] = [
    Composed { name: "mod", takes: 2, of: |a| modulo(&a[0], &a[1]) },
    Composed { name: "sign", takes: 1, of: |a| sign(&a[0]) },
    Composed { name: "round", takes: 1, of: |a| floor(add(&a[0], &number(0.5))) },
    Composed { name: "ceil", takes: 1, of: |a| negate(&floor(negate(&a[0]))) },
    Composed { name: "log", takes: 1, of: |a| one(Function::Ln, &a[0]) },
    Composed { name: "tan", takes: 1, of: |a| divide(&sin(&a[0]), &cos(&a[0])) },
    Composed { name: "asin", takes: 1, of: |a| angle(&a[0], &other_leg(&a[0])) },
    Composed { name: "acos", takes: 1, of: |a| angle(&other_leg(&a[0]), &a[0]) },
    Composed { name: "atan", takes: 1, of: |a| angle(&a[0], &number(1.0)) },
    Composed {
        name: "sinh",
        takes: 1,
        of: |a| multiply(&one(Function::Tanh, &a[0]), &cosh(&a[0])),
    },
    Composed { name: "cosh", takes: 1, of: |a| cosh(&a[0]) },
    Composed { name: "erf", takes: 1, of: |a| erf(&a[0]) },
];

fn number(value: f64) -> Node {
    Node::Number(value)
}

fn one(function: Function, a: &Node) -> Node {
    Node::call(function, vec![a.clone()])
}

fn two(function: Function, a: &Node, b: &Node) -> Node {
    Node::call(function, vec![a.clone(), b.clone()])
}

fn add(a: &Node, b: &Node) -> Node {
    two(Function::Add, a, b)
}

fn subtract(a: &Node, b: &Node) -> Node {
    two(Function::Subtract, a, b)
}

fn multiply(a: &Node, b: &Node) -> Node {
    two(Function::Multiply, a, b)
}

fn divide(a: &Node, b: &Node) -> Node {
    two(Function::Divide, a, b)
}

fn negate(a: &Node) -> Node {
    one(Function::Negate, a)
}

fn floor(a: Node) -> Node {
    Node::call(Function::Floor, vec![a])
}

fn sin(a: &Node) -> Node {
    one(Function::Sin, a)
}

fn cos(a: &Node) -> Node {
    one(Function::Cos, a)
}

fn angle(y: &Node, x: &Node) -> Node {
    two(Function::Atan2, y, x)
}

fn choose(condition: Node, yes: Node, no: Node) -> Node {
    Node::call(Function::If, vec![condition, yes, no])
}

/// What is left of a after whole numbers of b, with the sign of b.
fn modulo(a: &Node, b: &Node) -> Node {
    subtract(a, &multiply(b, &floor(divide(a, b))))
}

/// 1, -1, or of zero 0.
fn sign(a: &Node) -> Node {
    let zero = number(0.0);
    let below = choose(two(Function::Less, a, &zero), number(-1.0), number(0.0));
    choose(two(Function::Less, &zero, a), number(1.0), below)
}

/// The other leg of a right triangle with a hypotenuse of 1: exact factors for what is near 1.
fn other_leg(a: &Node) -> Node {
    let one_and = |function| two(function, &number(1.0), a);
    one(Function::Sqrt, &multiply(&one_and(Function::Subtract), &one_and(Function::Add)))
}

fn cosh(a: &Node) -> Node {
    let both = add(&one(Function::Exp, a), &one(Function::Exp, &negate(a)));
    multiply(&number(0.5), &both)
}

/// From here on 1 - erf is computed, which is then the smaller one.
const MIDDLE: f64 = 0.46875;
/// From here on erf is 1 in f64.
const FLAT: f64 = 6.0;
// Of W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969), in the form of his
// program CALERF: numerators and denominators, the leading coefficient of which is 1 where it is not given.
const NEAR: [f64; 5] = [
    1.857_777_061_846_031_5e-1,
    3.161_123_743_870_565_5,
    1.138_641_541_510_501_6e2,
    3.774_852_376_853_02e2,
    3.209_377_589_138_469_4e3,
];
const BELOW_NEAR: [f64; 5] = [
    1.0,
    2.360_129_095_234_412e1,
    2.440_246_379_344_441_7e2,
    1.282_616_526_077_372_3e3,
    2.844_236_833_439_171e3,
];
const FAR: [f64; 9] = [
    2.153_115_354_744_038_3e-8,
    5.641_884_969_886_701e-1,
    8.883_149_794_388_377,
    6.611_919_063_714_163e1,
    2.986_351_381_974_001e2,
    8.819_522_212_417_69e2,
    1.712_047_612_634_070_7e3,
    2.051_078_377_826_071_6e3,
    1.230_339_354_797_997_2e3,
];
const BELOW_FAR: [f64; 9] = [
    1.0,
    1.574_492_611_070_983_5e1,
    1.176_939_508_913_125e2,
    5.371_811_018_620_099e2,
    1.621_389_574_566_690_3e3,
    3.290_799_235_733_459_7e3,
    4.362_619_090_143_247e3,
    3.439_367_674_143_721_6e3,
    1.230_339_354_803_749_3e3,
];

/// The error function.
fn erf(a: &Node) -> Node {
    let size = two(Function::Min, &one(Function::Abs, a), &number(MIDDLE));
    let square = two(Function::Multiply, &size, &size);
    let near = divide(&polynomial(&NEAR, &square), &polynomial(&BELOW_NEAR, &square));
    let size = two(Function::Min, &one(Function::Abs, a), &number(FLAT));
    let decay = one(Function::Exp, &negate(&two(Function::Multiply, &size, &size)));
    let ratio = divide(&polynomial(&FAR, &size), &polynomial(&BELOW_FAR, &size));
    let far = subtract(&number(1.0), &multiply(&decay, &ratio));
    let far = choose(two(Function::Less, a, &number(0.0)), negate(&far), far);
    let is_near = two(Function::Less, &one(Function::Abs, a), &number(MIDDLE));
    choose(is_near, multiply(a, &near), far)
}

/// A polynomial, the highest power first, by Horner's rule.
fn polynomial(coefficients: &[f64], at: &Node) -> Node {
    let (first, others) = coefficients.split_first().expect("a polynomial has coefficients");
    others.iter().fold(number(*first), |sum, next| add(&multiply(&sum, at), &number(*next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a function of numbers.
    fn value(name: &str, arguments: &[f64]) -> f64 {
        let composed = COMPOSED.iter().find(|it| it.name == name).unwrap();
        assert_eq!(composed.takes, arguments.len());
        let arguments: Vec<Node> = arguments.iter().map(|it| number(*it)).collect();
        // Of numbers it is a number.
        let Node::Number(value) = (composed.of)(&arguments) else { panic!("{name} is no number") };
        value
    }

    #[test]
    fn functions_have_the_values_of_their_names() {
        type OfOne = fn(f64) -> f64;
        let of_one: [(&str, OfOne); 8] = [
            ("tan", f64::tan),
            ("asin", f64::asin),
            ("acos", f64::acos),
            ("atan", f64::atan),
            ("sinh", f64::sinh),
            ("cosh", f64::cosh),
            ("ceil", f64::ceil),
            ("log", f64::ln),
        ];
        for (name, expected) in of_one {
            for step in -100..=100 {
                let at = f64::from(step) / 100.0;
                let (found, expected) = (value(name, &[at]), expected(at));
                let both_none = found.is_nan() && expected.is_nan();
                let is_near = (found - expected).abs() <= 4e-15 * expected.abs().max(1e-3);
                assert!(both_none || found == expected || is_near, "{name}({at}): {found}");
            }
        }
        assert_eq!(
            [-2.5, -0.5, 0.4, 0.5, 2.6].map(|it| value("round", &[it])),
            [-2.0, 0.0, 0.0, 1.0, 3.0]
        );
        assert_eq!([-2.5, 0.0, 7.0].map(|it| value("sign", &[it])), [-1.0, 0.0, 1.0]);
        let pairs = [[7.0, 3.0], [-7.0, 3.0], [7.0, -3.0], [6.0, 3.0], [5.5, 2.0]];
        assert_eq!(pairs.map(|it| value("mod", &it)), [1.0, 2.0, -2.0, 0.0, 1.5]);
    }

    /// Values of a table of 16 digits.
    #[test]
    fn the_error_function_has_all_digits() {
        let known = [
            (0.0, 0.0),
            (1e-10, 1.128_379_167_095_512_6e-10),
            (0.1, 0.112_462_916_018_284_9),
            (0.46, 0.484_655_390_001_679_7),
            (0.47, 0.493_745_050_886_082_1),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (4.0, 0.999_999_984_582_742_1),
            (9.0, 1.0),
        ];
        for (at, expected) in known {
            for sign in [1.0, -1.0] {
                let found = value("erf", &[sign * at]);
                assert!((found - sign * expected).abs() <= 5e-16 * expected, "erf({at}): {found}");
            }
        }
    }
}
