// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device code that the build script compiled into this program, for one chip after another.

pub use cuda_driver::Code;
use cuda_driver::Kernels;
use problem::Error;

/// The variable that names a chip whose build every GPU takes instead of the best one.
pub const VARIABLE: &str = "HOST_CHIP";

const KERNELS: Kernels = cuda_driver::kernels!();

/// The kernels that were compiled into this program, those for the oldest chip first; none if there
/// was no device compiler.
pub fn embedded() -> impl DoubleEndedIterator<Item = Code> {
    KERNELS.codes()
}

/// The kernels that a GPU of this compute capability takes: those for the newest chip that run on it,
/// or those that [`VARIABLE`] names.
///
/// # Errors
/// [`Error::NoDeviceCode`] if there are none, [`Error::NoGpu`] if none run on it, [`Error::Chip`] for
/// a name that is none or whose kernels do not run on it.
pub fn code_for(compute_capability: (u32, u32)) -> Result<Code, Error> {
    match std::env::var_os(VARIABLE) {
        Some(name) => named(&name.to_string_lossy(), compute_capability),
        None => best(compute_capability),
    }
}

fn best(compute_capability: (u32, u32)) -> Result<Code, Error> {
    let oldest = embedded().next();
    let oldest = oldest.ok_or_else(|| Error::NoDeviceCode { reason: device_compiler().into() })?;
    KERNELS.for_gpu(compute_capability).ok_or_else(|| {
        let (major, minor) = compute_capability;
        let oldest = oldest.chip;
        let reason = format!(
            "its compute capability is {major}.{minor}, the kernels are for {oldest} and later"
        );
        Error::NoGpu { reason }
    })
}

fn named(name: &str, compute_capability: (u32, u32)) -> Result<Code, Error> {
    best(compute_capability)?;
    let refused = |reason| Error::Chip { name: name.into(), reason };
    let Some(code) = embedded().find(|code| code.chip.name() == name) else {
        let names: Vec<&str> = embedded().map(|code| code.chip.name()).collect();
        return Err(refused(format!("this program has kernels for {}", names.join(", "))));
    };
    if !code.chip.runs_on(compute_capability) {
        let (major, minor) = compute_capability;
        return Err(refused(format!(
            "its kernels do not run on this GPU, of compute capability {major}.{minor}"
        )));
    }
    Ok(code)
}

/// The device compiler that was found when this program was built, or how to get one.
#[must_use]
pub fn device_compiler() -> &'static str {
    KERNELS.compiler()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_chip::Chip;

    #[test]
    fn code_is_for_the_chip_that_it_is_listed_under() {
        for code in embedded() {
            let chip = code.chip;
            assert!(code.ptx().contains(&format!("\n.target {chip}\n")), "{chip}");
        }
    }

    #[test]
    fn a_gpu_that_is_too_old_and_a_name_that_does_not_serve_are_refused() {
        let embedded: Vec<Chip> = embedded().map(|code| code.chip).collect();
        let (Some(oldest), true) = (embedded.first(), embedded.contains(&Chip::Sm90)) else {
            return;
        };
        let names = embedded.iter().map(|chip| chip.name()).collect::<Vec<_>>().join(", ");
        let text = |found: Result<Code, Error>| found.unwrap_err().to_string();
        assert_eq!(
            text(best((7, 5))),
            format!(
                "no suitable GPU was found: its compute capability is 7.5, the kernels are for {oldest} and \
                 later"
            )
        );
        assert_eq!(named(oldest.name(), (9, 0)).unwrap().chip, *oldest);
        assert_eq!(
            text(named("sm_70", (9, 0))),
            format!("HOST_CHIP=sm_70: this program has kernels for {names}")
        );
        // Where there are kernels for this GPU at all.
        if *oldest < Chip::Sm90 {
            assert_eq!(
                text(named("sm_90", (8, 6))),
                "HOST_CHIP=sm_90: its kernels do not run on this GPU, of compute capability 8.6"
            );
        }
    }
}
