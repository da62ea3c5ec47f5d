// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that the program brings, each a file that can be taken as a start for another.

/// A built-in system.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! example {
    ($name:literal, $about:literal) => {
        Example {
            name: $name,
            about: $about,
            text: include_str!(concat!("../data/systems/", $name, ".toml")),
        }
    };
}

/// All of them.
pub const EXAMPLES: &[Example] = &[
    example!("heat-plate", "a plate with a hot edge and a round hole that stays cold"),
    example!("heat-3d", "a block that cools down, its sides at 0"),
    example!(
        "layered-wave",
        "an acoustic wave in layered ground: 8th order, source, sponge, receivers"
    ),
    example!(
        "acoustic-pml",
        "an acoustic wave that leaves the grid: a perfectly matched layer of 10 points"
    ),
    example!("gray-scott", "two substances that react and diffuse, and make spots"),
    example!("allen-cahn", "two phases that separate, with fronts that straighten"),
    example!("advection", "a pulse that is carried along, upwind of third order"),
    example!("life", "Conway's game of life, a rule for counts of neighbours"),
    example!("larger-than-life", "bugs that crawl: a rule for counts of cells up to 5 away"),
    example!("blur", "a picture that is blurred, and its edges, which are not"),
    example!(
        "lid-driven-cavity",
        "liquid in a box under a lid that slides: lattice Boltzmann, D3Q19"
    ),
    example!("karman", "a stream around a cylinder, and its vortices: lattice Boltzmann, D2Q9"),
    example!("yee", "an electromagnetic wave between walls, and a round conductor: Yee's leapfrog"),
    example!(
        "elastic-free-surface",
        "a blow on the ground, and the wave along its surface: stress with odd images"
    ),
    example!(
        "elastic-pml",
        "waves of pressure and shear that leave the grid by a perfectly matched layer"
    ),
    example!("schroedinger", "a particle that meets a wall with two slits: Visscher's leapfrog"),
    example!("burgers", "a flow that steepens, in two directions: Runge-Kutta of order 4"),
    example!("shallow-water", "a dam that breaks: fluxes between points, Runge-Kutta of order 3"),
    example!("fitzhugh-nagumo", "a wave of excitation that turns into a spiral"),
    example!(
        "kuramoto-sivashinsky",
        "a flame front that never comes to rest: a work field for the fourth derivative"
    ),
    example!(
        "kelvin-helmholtz",
        "two layers of a liquid that roll up: the flow is solved for in each stage"
    ),
    example!("membrane", "a drum that is struck: 100,000 steps at once by Fourier transforms"),
];

/// The one of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name)
}
