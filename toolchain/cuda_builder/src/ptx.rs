// SPDX-License-Identifier: MIT OR Apache-2.0
//! A check of the PTX that needs no GPU.

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

#[cfg(test)]
mod tests {
    use super::unresolved;

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
