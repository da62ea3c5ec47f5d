// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be checked, and has to be added, in the PTX.

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
    use super::{unresolved, with_register_limits};

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
