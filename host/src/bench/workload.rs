// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stencils that the papers measure, on the grids that they measure them on, and systems of fields on the same grids.

/// A stencil or a system with its grids.
#[derive(Debug, PartialEq)]
pub struct Workload {
    /// Its name: that of a stencil in the catalogue, or of a built-in system.
    pub stencil: &'static str,
    /// What the papers call it, or what people call the system.
    pub paper: &'static str,
    /// Which of these it is.
    pub kind: ProblemKind,
    sizes: &'static Sizes,
}

/// What kind of problem a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A stencil of the catalogue.
    Stencil,
    /// A built-in system (`host example`).
    System,
}

/// Extents of grids, slowest axis first.
#[derive(Debug, PartialEq)]
struct Sizes {
    full: &'static [&'static [usize]],
    /// For machines without a GPU: what a processor does in milliseconds. No multiples of a tile.
    quick: &'static [&'static [usize]],
}

/// 10,240,000 points fit a GPU's cache, "512M" are 512·1024·1024.
static LINE: Sizes =
    Sizes { full: &[&[10_240_000], &[512 * 1024 * 1024]], quick: &[&[20_001], &[100_003]] };
static PLANE: Sizes = Sizes { full: &[&[10_240, 10_240]], quick: &[&[250, 260]] };
static SPACE: Sizes = Sizes {
    full: &[&[1024, 1024, 1024], &[768, 768, 768]],
    quick: &[&[42, 43, 44], &[33, 34, 35]],
};

static ALL: [Workload; 12] = [
    stencil("star1d1r", "Heat-1D", &LINE),
    stencil("star1d2r", "1D5P", &LINE),
    stencil("star2d1r", "Heat-2D", &PLANE),
    stencil("box2d1r", "Box-2D9P", &PLANE),
    stencil("star2d3r", "Star-2D13P", &PLANE),
    stencil("box2d3r", "Box-2D49P", &PLANE),
    stencil("star3d1r", "Heat-3D", &SPACE),
    stencil("box3d1r", "Box-3D27P", &SPACE),
    system("gray-scott", "Gray-Scott", &PLANE),
    system("layered-wave", "Wave-2D", &PLANE),
    system("allen-cahn", "Allen-Cahn", &PLANE),
    system("heat-plate", "Plate-2D", &PLANE),
];

const fn stencil(stencil: &'static str, paper: &'static str, sizes: &'static Sizes) -> Workload {
    Workload { stencil, paper, kind: ProblemKind::Stencil, sizes }
}

const fn system(stencil: &'static str, paper: &'static str, sizes: &'static Sizes) -> Workload {
    Workload { stencil, paper, kind: ProblemKind::System, sizes }
}

impl Workload {
    /// Every workload, by dimensions.
    #[must_use]
    pub fn all() -> &'static [Workload] {
        &ALL
    }

    /// The workload of that name, or with that name in the papers, in upper or lower case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Workload> {
        let is = |own: &str| own.eq_ignore_ascii_case(name);
        ALL.iter().find(|workload| is(workload.stencil) || is(workload.paper))
    }

    /// Number of axes.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.sizes.full[0].len()
    }

    /// Extents of its grids: the papers', or small ones.
    #[must_use]
    pub fn sizes(&self, quick: bool) -> &'static [&'static [usize]] {
        if quick { self.sizes.quick } else { self.sizes.full }
    }

    /// Time steps of a run whose reference takes about a second: each point depends on the more of
    /// the grid the more steps and axes there are. With many divisors, so that whatever number is
    /// fused or chained goes into it.
    #[must_use]
    pub fn steps(&self, quick: bool) -> usize {
        match self.dims() {
            _ if quick => 12,
            3 => 24,
            _ => 48,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::Shape;
    use problem::check::sample;
    use problem::check::seams::Seams;
    use systems::Description;
    use transform::catalogue;

    #[test]
    fn every_workload_is_of_the_catalogue_or_built_in_on_grids_of_its_dimensions() {
        for workload in Workload::all() {
            let dims = match workload.kind {
                ProblemKind::Stencil => catalogue::find(workload.stencil).unwrap().dims(),
                ProblemKind::System => {
                    let example = systems::examples::find(workload.stencil).unwrap();
                    Description::parse(example.name, example.text).unwrap().size.len()
                }
            };
            assert_eq!(dims, workload.dims(), "{}", workload.stencil);
            for quick in [false, true] {
                for size in workload.sizes(quick) {
                    assert_eq!(Shape::new(size).unwrap().dims(), workload.dims());
                }
            }
            assert_eq!(Workload::named(&workload.paper.to_lowercase()), Some(workload));
        }
        assert_eq!(Workload::named("star2d2r"), None);
    }

    #[test]
    fn every_step_of_every_workload_is_compared() {
        let (seams, most_bytes) = (Seams::none(), u128::MAX);
        let facts = sample::Facts {
            launch: 1,
            jumps: false,
            seams,
            keeps_input: true,
            always_spans: false,
            open_ended: false,
            most_bytes,
        };
        let cases = [false, true].into_iter().flat_map(|quick| super::super::cases(quick, None));
        for case in cases.filter(|case| case.workload.kind == ProblemKind::Stencil) {
            let job = case.job();
            let regions = sample::plan(&job, sample::wants_full(&job, None), &facts).whole;
            assert!(regions.len() == 1 || regions.len() >= 4, "{case}: {}", regions.len());
        }
    }
}
