// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways back whose adjoint is computed elsewhere, and memory that stays for the next one.

use std::collections::BTreeSet;

use super::*;
use crate::adjoint::{Adjoint, GradientVariables, Misfit};
use crate::simulation::Cotangents;
use crate::tape::TapeValues;
use crate::{Description, FieldText};
use compute::engine::EngineRequest;

/// An adjoint that is computed elsewhere reads what a device keeps, also of steps that are taken again.
#[test]
fn an_adjoint_elsewhere_reads_what_a_device_keeps() {
    const STEPS: usize = 5;
    let decay =
        Description::new(&[4]).dtype(Dtype::F64).field(FieldText::new("u", "1 + x", "u - 0.1*u^2"));
    let system = System::new(&decay, std::path::Path::new("")).unwrap();
    let (by, unsaid) = (GradientVariables::default(), Misfit::unsaid(&system, STEPS));
    let adjoint = Adjoint::new(&system, &by, (0, STEPS), &unsaid).unwrap();
    let gone = |engine: EngineRequest, memory: u64| {
        let mut of = Simulation::of(&system).engine(EngineRequest::Emulate).build().unwrap();
        let memory = Some(memory::Bytes(memory));
        let by = GradientBy { memory, place: TapeStorage::Device, ..GradientBy::default() };
        let mut route = ReversePath::new(&mut of, &adjoint, STEPS, (&by, None)).unwrap();
        route.forward(&mut of).unwrap();
        let name = adjoint.fields[0].name.clone();
        let ones = Grid::new(&[4], vec![1.0; 4]).unwrap();
        let back = Simulation::of(&adjoint.system).inputs(vec![(name.clone(), ones)]);
        let mut back = back.engine(engine).build().unwrap();
        route.back(&mut of, &mut back, adjoint.completes).unwrap();
        let found = back.field(&name).unwrap();
        (0..4).map(|at| found.get(at)).collect::<Vec<f64>>()
    };
    for memory in [1000, 5 * 32] {
        let [there, elsewhere] =
            [EngineRequest::Emulate, EngineRequest::Cpu].map(|engine| gone(engine, memory));
        assert_eq!(there, elsewhere, "{memory} bytes");
        assert!(there[0] > 0.0 && there[0] < 1.0);
    }
}

/// The next gradient that is asked for in the same way finds the memory of the one before, and has the bits of one that does not.
#[test]
fn memory_of_tapes_stays_for_the_next_gradient() {
    const STEPS: usize = 9;
    let heat = Description::new(&[12, 16])
        .dtype(Dtype::F64)
        .constant("rate", 0.1)
        .coefficient("k", "1 + x")
        .derivative("laplace", "laplace", 2)
        .field(FieldText::new("u", "1 + x", "u + 0.01*k*laplace(u) - rate*u^2").boundary("edge"));
    let system = System::new(&heat, std::path::Path::new("")).unwrap();
    let by = |kilobytes: u64| GradientBy {
        coefficients: vec!["k".into()],
        memory: Some(Bytes(kilobytes << 10)),
        ..GradientBy::default()
    };
    let made = || Simulation::of(&system).engine(EngineRequest::Cpu).build().unwrap();
    let found = |of: &mut Simulation, by: &GradientBy| {
        let found = of.gradient(STEPS, by, |after| {
            Ok(Cotangents { fields: after.state()?.arrays, ..Cotangents::default() })
        });
        let found = found.unwrap();
        (found.start, found.coefficients, found.steps_again)
    };
    // In whatever order times have it.
    let memory = |of: &Simulation| {
        let KeptTapes { key, plan, values, .. } = &**of.tapes.as_ref().unwrap();
        let place = |time: usize| match values.get(time, 0) {
            TapeValues::Laid(Some(values)) => (&raw const **values).addr(),
            _ => panic!("rows of the cores"),
        };
        (0..plan.times(STEPS, key.lag)).map(place).collect::<BTreeSet<usize>>()
    };
    let mut of = made();
    let begin = of.state().unwrap();
    assert!(of.tapes.is_none());
    for kilobytes in [20, 1000] {
        let mut places = Vec::new();
        for _ in 0..3 {
            of.begin_with(begin.clone()).unwrap();
            let own = found(&mut of, &by(kilobytes));
            assert!(own == found(&mut made(), &by(kilobytes)), "{kilobytes} KiB");
            assert_eq!(own.2 > 0, kilobytes == 20);
            places.push(memory(&of));
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
    }
    of.set_parameter("rate", 0.2).unwrap();
    assert!(of.tapes.is_none());
}
