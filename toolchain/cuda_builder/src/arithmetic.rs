// SPDX-License-Identifier: MIT OR Apache-2.0
//! What arithmetic on f32 may be instead of what Rust says it is: options that nvcc has, carried out in the PTX, because
//! rustc has no flags for them. Inline assembly says itself what it wants and stays as it is.

/// The liberties that the compiler may take with arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    /// f32 below the normal range are 0.
    pub ftz: bool,
    /// `sqrt.approx` for f32.
    pub fast_sqrt: bool,
    /// `div.full` for f32, and `rcp.approx` where the compiler writes `1.0 / x` as a reciprocal.
    pub fast_div: bool,
    /// A product and a sum may become one instruction that rounds once.
    pub fma_contraction: bool,
}

impl Arithmetic {
    /// The PTX with these liberties.
    pub fn applied(self, ptx: String) -> String {
        if self == Self::default() {
            return ptx;
        }
        let (mut text, mut in_assembly) = (String::with_capacity(ptx.len()), false);
        for line in ptx.split_inclusive('\n') {
            match line.trim() {
                "// begin inline asm" => in_assembly = true,
                "// end inline asm" => in_assembly = false,
                _ => {}
            }
            match (in_assembly, self.line(line)) {
                (false, Some(changed)) => text.push_str(&changed),
                _ => text.push_str(line),
            }
        }
        text
    }

    /// A line with one instruction, if it changes.
    fn line(self, line: &str) -> Option<String> {
        let start = line.len() - line.trim_start().len();
        // Behind a predicate.
        let start = match line[start..].strip_prefix('@') {
            Some(rest) => line.len() - rest.split_once(char::is_whitespace)?.1.trim_start().len(),
            None => start,
        };
        let end = start + line[start..].find(char::is_whitespace)?;
        let name = self.instruction(&line[start..end])?;
        Some(format!("{}{name}{}", &line[..start], &line[end..]))
    }

    /// The name of an instruction such as `add.rn.f32`, if it changes.
    fn instruction(self, name: &str) -> Option<String> {
        let mut parts: Vec<&str> = name.split('.').collect();
        let (of_f32, of_f64) = (parts.contains(&"f32"), parts.contains(&"f64"));
        if !of_f32 && !of_f64 {
            return None;
        }
        let operation = parts[0];
        if self.fma_contraction && ["add", "sub", "mul"].contains(&operation) {
            parts.retain(|&part| part != "rn");
        }
        if self.fast_sqrt && of_f32 && operation == "sqrt" {
            replace(&mut parts, "rn", "approx");
        }
        if self.fast_div && of_f32 && operation == "div" {
            replace(&mut parts, "rn", "full");
        }
        if self.fast_div && of_f32 && operation == "rcp" {
            replace(&mut parts, "rn", "approx");
        }
        if self.ftz && of_f32 && FLUSHING.contains(&operation) && !parts.contains(&"ftz") {
            let before = |part: &&str| AFTER_FTZ.contains(part);
            parts.insert(parts.iter().position(before).unwrap_or(parts.len()), "ftz");
        }
        let changed = parts.join(".");
        (changed != name).then_some(changed)
    }
}

fn replace<'a>(parts: &mut [&'a str], old: &str, new: &'a str) {
    for part in parts.iter_mut().filter(|part| **part == old) {
        *part = new;
    }
}

/// Instructions that have `.ftz`.
const FLUSHING: [&str; 20] = [
    "abs", "add", "cos", "cvt", "div", "ex2", "fma", "lg2", "max", "min", "mul", "neg", "rcp",
    "rsqrt", "set", "setp", "sin", "slct", "sqrt", "sub",
];

/// What stands after `.ftz` in a name: other modifiers and the types.
const AFTER_FTZ: [&str; 16] = [
    "sat", "NaN", "xorsign", "f16", "bf16", "f32", "f64", "b32", "s8", "u8", "s16", "u16", "s32",
    "u32", "s64", "u64",
];

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
\tadd.rn.f32 \t%r1, %r2, %r3;
\t@%p1 mul.rn.f64 \t%rd1, %rd2, %rd3;
\tsetp.lt.f32 \t%p1, %r1, %r2;
\tcvt.rn.f32.u32 \t%r1, %r2;
\tmax.NaN.f32 \t%r1, %r2, %r3;
\tsqrt.rn.f32 \t%r1, %r2;
\tdiv.rn.f32 \t%r1, %r2, %r3;
\trcp.rn.f32 \t%r1, %r2;
\trcp.rn.f64 \t%rd1, %rd2;
\tld.global.f32 \t%r1, [%rd1];
\tadd.s32 \t%r1, %r2, %r3;
\t// begin inline asm
\tadd.rn.f32 %r1, %r2, %r3;
\t// end inline asm
";

    #[test]
    fn without_options_nothing_changes() {
        assert_eq!(Arithmetic::default().applied(PTX.into()), PTX);
    }

    #[test]
    fn each_option_changes_its_instructions_only() {
        let changed = |arithmetic: Arithmetic| {
            let text = arithmetic.applied(PTX.into());
            let pairs = PTX.lines().zip(text.lines()).filter(|(old, new)| old != new);
            let name =
                |line: &str| line.split_whitespace().find(|w| w.contains('.')).unwrap().to_owned();
            pairs.map(|(_, new)| name(new)).collect::<Vec<_>>()
        };
        let none = Arithmetic::default();
        assert_eq!(changed(Arithmetic { fast_sqrt: true, ..none }), ["sqrt.approx.f32"]);
        assert_eq!(
            changed(Arithmetic { fast_div: true, ..none }),
            ["div.full.f32", "rcp.approx.f32"]
        );
        assert_eq!(changed(Arithmetic { fma_contraction: true, ..none }), ["add.f32", "mul.f64"]);
        assert_eq!(
            changed(Arithmetic { ftz: true, ..none }),
            [
                "add.rn.ftz.f32",
                "setp.lt.ftz.f32",
                "cvt.rn.ftz.f32.u32",
                "max.ftz.NaN.f32",
                "sqrt.rn.ftz.f32",
                "div.rn.ftz.f32",
                "rcp.rn.ftz.f32"
            ]
        );
    }
}
