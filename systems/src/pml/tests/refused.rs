// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers that are refused, each with its place.

use std::path::Path;

use crate::{Description, System};
use problem::Error;

const WAVE: &str = "next = \"2*u - prev(u) + (c*dt)^2*laplace(u)\"";

fn layered(pml: &str, change: &str) -> Result<System, Error> {
    let text = format!(
        "grid = {{ size = [30, 40] }}\ntime = {{ dt = 0.1, steps = 3 }}\nconstants = {{ c = 2 }}\n\
         [stencils]\nlaplace = {{ derivative = \"laplace\" }}\ndx = {{ derivative = \"x\" }}\n\
         dxy = {{ derivative = \"xy\" }}\nfourth = {{ derivative = \"xxxx\" }}\nblur = {{ dense = [[0.25, 0.5, 0.25]] }}\n\
         mean = {{ average = \"x+\" }}\n[fields.u]\nstart = 0\n{change}\n[pml]\n{pml}\n"
    );
    System::new(&Description::parse("pml.toml", &text)?, Path::new(""))
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let good = "width = 5\nspeed = \"c\"";
    for (pml, change, expected) in [
        ("width = 5", WAVE, "the key 'speed' is missing here"),
        ("speed = 1", WAVE, "the key 'width' is missing here"),
        ("width = 5\nspeed = 1\nstrength = 2", WAVE, "there is no key 'strength' here"),
        ("width = 0\nspeed = 1", WAVE, "a layer has at least one point"),
        ("width = 15\nspeed = 1", WAVE, "two layers of 15 points along y leave no points of 30"),
        ("width = 20\nspeed = 1\nsides = [\"x-\", \"x+\"]", WAVE, "along x leave no points of 40"),
        ("width = 30\nspeed = 1\nsides = [\"y-\"]", WAVE, "a layer of 30 points along y leave"),
        ("width = 5\nspeed = 0", WAVE, "the largest speed of the layer is 0; it must be above 0"),
        ("width = 5\nspeed = \"t\"", WAVE, "'t' cannot stand in a constant"),
        (
            "width = 5\nspeed = 1\nreflection = 2",
            WAVE,
            "the reflection of the layer is 2; it must be between",
        ),
        (
            "width = 5\nspeed = 1\nfrequency = -1",
            WAVE,
            "the frequency of the layer is -1; it must be 0",
        ),
        ("width = 5\nspeed = 1\nsides = [\"z-\"]", WAVE, "there is no side 'z-'"),
        ("width = 5\nspeed = 1\nfields = [\"v\"]", WAVE, "there is no field 'v'"),
        (
            "width = 5\nspeed = 1\nsides = [\"x-\"]",
            &format!("{WAVE}\nboundary = \"x:periodic\""),
            "'u' is periodic there, so waves meet no end",
        ),
        (good, &format!("{WAVE}\nboundary = \"periodic\""), "periodic along all axes"),
        (
            good,
            "next = \"0.5*u\"",
            "this layer has nothing to absorb: no equation takes a derivative along y, x",
        ),
        (good, "next = \"mean(u)\"", "this layer has nothing to absorb"),
        (good, "next = \"u + dxy(u)\"", "cannot stretch 'dxy': it reads neighbours off the axes"),
        (
            good,
            "next = \"u + fourth(u)\"",
            "cannot stretch 'fourth': along x it takes neither a first nor a second",
        ),
        (good, "next = \"u + dx(blur(u))\"", "cannot stretch 'blur': its weights sum to 1.000"),
    ] {
        let error = layered(pml, change).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{pml}, {change}: {error}");
        assert!(error.starts_with("pml.toml, line "), "{error}");
    }
}

/// A layer that is strong in a step is one that a method of several stages does not take, and Euler's does.
#[test]
fn a_layer_may_be_too_strong_for_a_method() {
    let text = |method: &str| {
        format!(
            "grid = {{ size = [30] }}\ntime = {{ dt = 0.9, steps = 3, method = \"{method}\" }}\n\
             stencils.dx = {{ derivative = \"x\" }}\nfields.u = {{ start = 0, rate = \"dx(u)\" }}\n\
             [pml]\nwidth = 2\nspeed = 1\nreflection = 1e-5\n"
        )
    };
    let of = |method| System::new(&Description::parse("pml.toml", &text(method))?, Path::new(""));
    of("euler").unwrap();
    let error = of("rk4").unwrap_err().to_string();
    assert!(error.contains("memories of this layer fade by 7.8 in a step"), "{error}");
}

/// Coefficients make no waves: any stencil of them stays as it is. So does an equation that the layer is not for.
#[test]
fn what_makes_no_waves_is_left_alone() {
    let tables = "next = \"u + dx(u)\"\n[coefficients.k]\nstart = 1\n[fields.v]\nstart = 0\nnext = \"blur(v) + blur(k)*u\"";
    let system = layered("width = 5\nspeed = 1\nfields = [\"u\"]", tables).unwrap();
    assert_eq!(system.fields().collect::<Vec<_>>(), ["u", "v"]);
    assert_eq!(system.arrays(), 3);
    let tables = tables.replace("blur(v) + ", "");
    assert_eq!(layered("width = 5\nspeed = 1", &tables).unwrap().arrays(), 3);
}
