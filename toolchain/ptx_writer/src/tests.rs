// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of instructions, and that operands of other types are refused.

use super::register::B16;
use super::*;

/// Compiles only if the type is no operand of this kind: else both implementations fit, and the compiler cannot choose.
macro_rules! is_no_operand {
    ($type:ty, $kind:ty) => {{
        trait OneFits<T> {
            fn check() {}
        }
        impl<T> OneFits<()> for T {}
        struct Operands;
        impl<T: Into<Operand<$kind>>> OneFits<Operands> for T {}
        <$type as OneFits<_>>::check();
    }};
}

#[test]
fn operands_of_other_kinds_do_not_compile() {
    is_no_operand!(Register<B32>, F64);
    is_no_operand!(Register<B32>, F32);
    is_no_operand!(Register<B32>, B64);
    is_no_operand!(Register<B64>, B32);
    is_no_operand!(Register<B16>, B32);
    is_no_operand!(Register<F32>, F64);
    is_no_operand!(Register<F32>, B32);
    is_no_operand!(Register<Global>, B64);
    is_no_operand!(Register<Shared>, B32);
    is_no_operand!(Register<Shared>, Global);
    is_no_operand!(Register<Predicate>, B32);
    is_no_operand!(f64, B32);
    is_no_operand!(usize, F32);
    is_no_operand!(usize, Shared);
}

#[test]
#[should_panic(expected = "f32 and f64 in an instruction")]
fn numbers_of_both_types_are_refused() {
    let emitter = &mut Emitter::default();
    let [single, wide] = [StorageFormat::F32, StorageFormat::F64]
        .map(|format| NumberFormats { format, exact: false }.register(emitter));
    emitter.compute("add", &[single, wide]);
}

#[test]
fn instructions_have_the_types_of_their_operands() {
    let emitter = &mut Emitter::within("own_");
    let start = emitter.parameter(U64, "parameters", 8);
    let start = emitter.global(start);
    let thread = emitter.mov(U32, THREAD);
    let near = emitter.setp(Relation::Less, S32, thread, -3);
    let near = emitter.setp_and(Relation::AtLeast, U32, thread, 7usize, near);
    let after = emitter.new_label();
    emitter.branch_if(!near, after);
    let place = emitter.element(start, thread, 2);
    let numbers = NumberFormats { format: StorageFormat::Bf16, exact: false };
    let stored = numbers.load(emitter, place.at(6));
    let value = numbers.widen(emitter, stored);
    let half = numbers.immediate(0.5);
    let value = emitter.compute("mul", &[value, half]);
    let stored = numbers.round(emitter, value);
    numbers.store(emitter.guarded(near), place, &[stored]);
    emitter.label(after);
    emitter.barrier();
    emitter.ret();
    let expected = "    .reg .pred %own_p<2>;
    .reg .b16 %own_h<2>;
    .reg .b32 %own_r<3>;
    .reg .b64 %own_q<4>;
    .reg .f32 %own_f<2>;
    ld.param.u64 %own_q0, [parameters+8];
    cvta.to.global.u64 %own_q1, %own_q0;
    mov.u32 %own_r0, %tid.x;
    setp.lt.s32 %own_p0, %own_r0, -3;
    setp.ge.and.u32 %own_p1, %own_r0, 7, %own_p0;
    @!%own_p1 bra Lown_1;
    mul.wide.u32 %own_q2, %own_r0, 2;
    add.u64 %own_q3, %own_q1, %own_q2;
    ld.global.nc.b16 %own_h0, [%own_q3+6];
    cvt.u32.u16 %own_r1, %own_h0;
    shl.b32 %own_r2, %own_r1, 16;
    mov.b32 %own_f0, %own_r2;
    mul.f32 %own_f1, %own_f0, 0f3F000000;
    cvt.rn.bf16.f32 %own_h1, %own_f1;
    @%own_p1 st.global.b16 [%own_q3], %own_h1;
Lown_1:
    bar.sync 0;
    ret;
";
    assert_eq!(std::mem::take(emitter).finish(), expected);
}
