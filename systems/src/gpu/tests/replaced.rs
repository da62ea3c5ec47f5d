// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields that change places with arrays that wait for next values.

use std::path::Path;

use super::super::emulated::Emulated;
use super::super::kernel::GeneratedKernel;
use super::super::target::LaunchTarget;
use super::super::tile::BlockTile;
use super::super::{OnTarget, TileState};
use super::cases;
use crate::checked::System;
use crate::session::StepSession;
use crate::start::StartValues;
use crate::tests::draw;
use crate::tests::tier::is_thorough;
use compute::engine::{Session, State};
use problem::{Grid, Region, Values, with_values};

fn opened(system: &System, chained: bool) -> OnTarget<Emulated> {
    let beginning = StartValues::new(system).unwrap();
    let system = system.with_sources_that_count(&beginning);
    let kernel = match chained {
        true => {
            let reach = system.reach();
            let points = [2, 1, 0].map(|axis: usize| 4 * reach[axis] + 8);
            let rows = if system.shape.extents()[1] > 1 { points[1] } else { 1 };
            GeneratedKernel::chained(&system, BlockTile::of(&system, 2, [points[0], 1, rows], None))
                .unwrap()
        }
        false => GeneratedKernel::new(&system).unwrap(),
    };
    let target = Emulated::new(&kernel);
    OnTarget::new(system, kernel, beginning, target).unwrap()
}

fn values(session: &mut OnTarget<Emulated>, arrays: usize) -> Vec<Values> {
    let whole = Region::whole(session.shape());
    (0..arrays).map(|array| session.read(array, State::Now, whole).unwrap()).collect()
}

/// What is written elsewhere and takes the place of a field is what is written into it.
#[test]
fn a_field_that_is_replaced_is_one_that_is_written() {
    let (mut single, mut chained) = (0, 0);
    for seed in 0..cases(6, 4) {
        let system = System::new(&draw::system(seed), Path::new("")).unwrap();
        let is_flat = system.shape.dims() < 3 && !system.is_staged();
        for chain in [false, true] {
            if chain && !(is_flat && TileState::new(&system).is_ok()) {
                continue;
            }
            let [mut written, mut replaced] = [(); 2].map(|()| opened(&system, chain));
            let (whole, arrays) = (Region::whole(system.shape()), system.numbered().len());
            for turn in 0..2 {
                for array in 0..arrays {
                    let of = seed * 100 + turn * 10 + array as u64;
                    let grid = Grid::random(system.shape(), system.dtype(), of).unwrap();
                    written.write(array, whole, &grid.values).unwrap();
                    let is_written = replaced.replace(array, |target, spare, rows| {
                        with_values!(&grid.values, values => {
                            target.write(spare, rows, bytemuck::cast_slice(values))?;
                        });
                        Ok(true)
                    });
                    assert!(is_written.unwrap());
                    // One that is refused changes nothing.
                    let bad = vec![u8::MAX; grid.shape.points() * system.dtype().bytes()];
                    let refused = replaced.replace(array, |target, spare, rows| {
                        target.write(spare, rows, &bad)?;
                        Ok(false)
                    });
                    assert!(!refused.unwrap());
                }
                assert_eq!(values(&mut written, arrays), values(&mut replaced, arrays));
                for &steps in if is_thorough() { &[1, 2, 3][..] } else { &[2, 1] } {
                    written.advance(steps).unwrap();
                    replaced.advance(steps).unwrap();
                    assert_eq!(
                        format!("{:?}", values(&mut written, arrays)),
                        format!("{:?}", values(&mut replaced, arrays)),
                        "seed {seed}, chained {chain}, turn {turn}, {steps} steps"
                    );
                }
                written.advance_from_before().unwrap();
                replaced.advance_from_before().unwrap();
            }
            *(if chain { &mut chained } else { &mut single }) += 1;
        }
    }
    assert!(single > 0 && chained > 0, "{single} and {chained}");
}
