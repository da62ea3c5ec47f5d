// SPDX-License-Identifier: MIT OR Apache-2.0
//! A place in a kernel for instructions that are not known when it is compiled: whoever loads the kernel puts them into its
//! PTX, and the driver compiles the whole. So they stand in the kernel as if they had been written there, and what
//! goes between them and the rest stays in registers.

/// How the line begins that says where, with the names of registers of 32 bits after it: of results, then of operands.
#[cfg(not(target_arch = "nvptx64"))]
const MARK: &str = "// splice ";

/// The line that ends what stands there without instructions.
#[cfg(not(target_arch = "nvptx64"))]
const END: &str = "// spliced";

/// The place: four results, of four numbers and three words. Without instructions they are the numbers.
///
/// # Safety
/// Only in a kernel. What is put there has its own registers and labels in braces, writes the results and nothing else that
/// the kernel does not expect, and no other lane waits for it.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub unsafe fn splice(numbers: [f32; 4], words: [u32; 3]) -> [f32; 4] {
    let (a, b, c, d): (f32, f32, f32, f32);
    // SAFETY: moves registers; the rest is as the caller promises.
    unsafe {
        core::arch::asm!(
            "// splice {0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10}",
            "mov.b32 {0}, {4};",
            "mov.b32 {1}, {5};",
            "mov.b32 {2}, {6};",
            "mov.b32 {3}, {7};",
            "// spliced",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
            in(reg32) numbers[0], in(reg32) numbers[1], in(reg32) numbers[2], in(reg32) numbers[3],
            in(reg32) words[0], in(reg32) words[1], in(reg32) words[2],
            options(nostack),
        );
    }
    [a, b, c, d]
}

/// A PTX with instructions at each place: those that `of` gives for the names of the results and operands there.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn spliced(ptx: &str, of: impl Fn(&[&str]) -> String) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        if let Some(names) = line.trim().strip_prefix(MARK) {
            text += &of(&names.split_whitespace().collect::<Vec<_>>());
            lines.by_ref().find(|line| line.trim() == END);
        } else {
            text += line;
        }
        text.push('\n');
    }
    text
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::spliced;

    #[test]
    fn what_stands_at_a_place_gives_way() {
        let ptx =
            "mul.f32 %f1, %f0, %f0;\n\t// splice %r1 %r2\n\tmov.b32 %r1, %r2;\n\t// spliced\nret;";
        let instructions = |names: &[&str]| format!("{{ neg.f32 {}, {}; }}", names[0], names[1]);
        let text = "mul.f32 %f1, %f0, %f0;\n{ neg.f32 %r1, %r2; }\nret;\n";
        assert_eq!(spliced(ptx, instructions), text);
        assert_eq!(spliced("ret;\n", instructions), "ret;\n");
    }
}
