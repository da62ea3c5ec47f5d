// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes whose adjoint is computed elsewhere.

use super::*;
use crate::adjoint::{Adjoint, GradientVariables, Misfit};
use crate::tape::TapeStorage;
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
