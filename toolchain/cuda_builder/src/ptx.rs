// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be checked, and has to be added, in the PTX.

use std::collections::BTreeSet;

/// Functions that the driver itself provides to kernels.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// The functions that the PTX declares but nobody defines, such as panic handlers.
pub fn unresolved(ptx: &str) -> Vec<String> {
    let mut names: Vec<String> = ptx
        .split(".extern .func")
        .skip(1)
        .filter_map(|declaration| {
            // Either `name (` or `(.param .b32 result) name (`.
            let declaration = declaration.trim_start();
            let declaration = match declaration.strip_prefix('(') {
                Some(result) => result.split_once(')')?.1.trim_start(),
                None => declaration,
            };
            let end = declaration.find(|c: char| c.is_whitespace() || "(;".contains(c))?;
            Some(declaration[..end].to_owned())
        })
        .filter(|name| !OF_THE_DRIVER.contains(&name.as_str()))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The PTX with a definition of `memcmp`, if it is declared: comparisons of slices of bytes call it.
pub fn with_memcmp(ptx: String) -> String {
    const START: &str = ".extern .func";
    let is_it = |declaration: &str| unresolved(declaration) == ["memcmp"];
    let find = |text: &str| {
        let starts = text.match_indices(START).map(|(start, _)| start);
        let ranges = starts.filter_map(|start| Some(start..start + text[start..].find(';')? + 1));
        ranges.into_iter().find(|range| is_it(&text[range.clone()]))
    };
    let (mut text, mut definition) = (ptx, MEMCMP);
    while let Some(range) = find(&text) {
        text.replace_range(range, std::mem::take(&mut definition));
    }
    text
}

/// The difference of the first bytes that differ, or 0.
const MEMCMP: &str = "\
.func (.param .b32 func_retval0) memcmp(.param .b64 memcmp_a, .param .b64 memcmp_b, .param .b64 memcmp_n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [memcmp_a];
	ld.param.b64 %rd2, [memcmp_b];
	ld.param.b64 %rd3, [memcmp_n];
	mov.b32 %r3, 0;
memcmp_next:
	setp.eq.u64 %p1, %rd3, 0;
	@%p1 bra memcmp_end;
	ld.u8 %r1, [%rd1];
	ld.u8 %r2, [%rd2];
	sub.s32 %r3, %r1, %r2;
	setp.ne.s32 %p2, %r3, 0;
	@%p2 bra memcmp_end;
	add.u64 %rd1, %rd1, 1;
	add.u64 %rd2, %rd2, 1;
	sub.u64 %rd3, %rd3, 1;
	bra.uni memcmp_next;
memcmp_end:
	st.param.b32 [func_retval0], %r3;
	ret;
}";

/// The PTX without the index of addresses that LLVM adds to line tables. NVIDIA's assembler refuses how LLVM writes its
/// bytes, and a label that stands beside all sections for it. The lines are in other sections.
pub fn without_address_index(mut ptx: String) -> String {
    const START: &str = "\t.section\t.debug_aranges\n\t{\n";
    const END: &str = "\n\t}\n";
    while let Some(start) = ptx.find(START) {
        let body = start + START.len();
        // The end of an empty section begins with the line break before.
        let Some(end) = ptx[body - 1..].find(END) else { break };
        ptx.replace_range(start..body - 1 + end + END.len(), "");
    }
    let label = |line: &str| line.starts_with("$L__sec_end") && line.ends_with(':');
    let labels: Vec<String> = ptx.lines().filter(|line| label(line)).map(str::to_owned).collect();
    for label in labels {
        if ptx.matches(label.trim_end_matches(':')).count() == 1 {
            ptx = ptx.replace(&format!("{label}\n"), "");
        }
    }
    ptx
}

/// The kernels that are there more than once.
pub fn repeated(ptx: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let entries = ptx.split(".visible .entry ").skip(1);
    let names = entries.filter_map(|entry| entry.split_once('(').map(|(name, _)| name));
    names.filter(|name| !seen.insert(*name)).map(str::to_owned).collect()
}

/// One module of several for one chip: the head of the first, what they declare, and all of their kernels.
pub fn merged(modules: &[String]) -> String {
    let mut all = String::new();
    let mut declared = BTreeSet::new();
    for (number, module) in modules.iter().enumerate() {
        for line in module.lines() {
            let is_head = HEAD.iter().any(|directive| line.starts_with(directive));
            let is_new = match line.starts_with(".extern ") {
                true => declared.insert(line),
                false => number == 0 || !is_head,
            };
            if is_new {
                all.push_str(line);
                all.push('\n');
            }
        }
    }
    all
}

/// Directives that a module has once, before all others.
const HEAD: [&str; 3] = [".version ", ".target ", ".address_size "];

/// What `#[kernel(registers = N)]` of `cuda_std` leaves in the PTX, with name and number after it.
const REQUEST: &str = "// .maxnreg ";

/// The PTX with the directive `.maxnreg` in the head of every kernel that asks for it. Its limit holds
/// also where whoever assembles the PTX sets another one for all kernels.
pub fn with_register_limits(ptx: &str) -> String {
    let mut limited = ptx.to_owned();
    for request in ptx.lines().filter_map(|line| line.trim().strip_prefix(REQUEST)) {
        let Some((name, registers)) = request.split_once(' ') else { continue };
        let entry = format!(".entry {name}(");
        let Some(start) = limited.find(&entry) else { continue };
        let Some(end) = limited[start..].find('{') else { continue };
        if !limited[start..start + end].contains(".maxnreg") {
            limited.insert_str(start + end, &format!(".maxnreg {registers}\n"));
        }
    }
    limited
}

#[cfg(test)]
mod tests {
    use super::{
        merged, repeated, unresolved, with_memcmp, with_register_limits, without_address_index,
    };

    #[test]
    fn comparisons_of_bytes_are_defined_once() {
        let declaration = ".extern .func  (.param .b32 func_retval0) memcmp\n(\n\t.param .b64 memcmp_param_0\n)\n;\n";
        let other = ".extern .func (.param .b32 func_retval0) vprintf (.param .b64 p);\n";
        let text = with_memcmp(format!(
            "{other}{declaration}{other}{declaration}.visible .entry k() {{ ret; }}"
        ));
        assert!(
            unresolved(&text).is_empty() && text.matches("memcmp_next:").count() == 1,
            "{text}"
        );
        assert_eq!(text.matches("vprintf").count(), 2);
        assert_eq!(with_memcmp(other.to_owned()), other);
    }

    #[test]
    fn line_tables_lose_their_index_and_nothing_else() {
        let before = "\t.section\t.debug_info\n\t{\n.b8 2\n\t}\n";
        let index = "$L__sec_end0:\n\t.section\t.debug_aranges\n\t{\n.b84,255\n.b64 $L__sec_end0-$L__func_begin0\n\t}\n";
        let empty = "\t.section\t.debug_aranges\n\t{\n\t}\n";
        let after = "\t.section\t.debug_macinfo\t{\t}\n";
        let text = format!("{before}{index}{empty}{after}");
        assert_eq!(without_address_index(text), format!("{before}{after}"));
        let used = format!("$L__sec_end0:\n{before}.b64 $L__sec_end0\n");
        assert_eq!(without_address_index(used.clone()), used);
    }

    #[test]
    fn modules_become_one() {
        let module = |kernel: &str| {
            format!(
                ".version 8.6\n.target sm_90\n.address_size 64\n.extern .shared .align 128 .b8 dynamic[];\n\
                 .visible .entry {kernel}()\n{{\nret;\n}}\n"
            )
        };
        let all = merged(&[module("a"), module("b")]);
        assert_eq!(all, module("a") + ".visible .entry b()\n{\nret;\n}\n");
        assert_eq!(merged(&[module("a")]), module("a"));
        assert!(repeated(&all).is_empty());
        assert_eq!(repeated(&merged(&[module("a"), all])), ["a"]);
    }

    #[test]
    fn limits_go_to_the_kernels_that_ask_for_them_once() {
        let ptx = "// .maxnreg wide 112\n.entry wide(\n.param .u64 p\n)\n{ ret; }\n.entry wider()\n{ ret; }";
        let limited = "// .maxnreg wide 112\n.entry wide(\n.param .u64 p\n)\n.maxnreg 112\n{ ret; }\n.entry wider()\n{ ret; }";
        assert_eq!(with_register_limits(ptx), limited);
        assert_eq!(with_register_limits(limited), limited);
    }

    #[test]
    fn leftovers_are_named_and_the_drivers_functions_are_not() {
        let ptx = "
            .extern .func  (.param .b32 func_retval0) vprintf
            (.param .b64 a, .param .b64 b);
            .extern .func panic_bounds_check\n(\n.param .b64 p\n) .noreturn\n;
            .extern .func  (.param .b64 func_retval0) memcmp(.param .b64 p);
            .extern .shared .align 128 .b8 dynsmem[];
            .visible .entry kernel() { ret; }";
        assert_eq!(unresolved(ptx), ["memcmp", "panic_bounds_check"]);
        assert!(unresolved(".visible .entry kernel() { ret; }").is_empty());
    }
}
