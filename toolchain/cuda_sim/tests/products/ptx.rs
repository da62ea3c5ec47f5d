// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products as PTX: all types, dense and sparse, each source of A; without a C, negated, transposed.

use super::*;
use cuda_sim::{FaultKind, Module};

#[allow(non_camel_case_types)]
struct product;

// SAFETY: the texts below have this entry point.
unsafe impl cuda_kernel::Kernel for product {
    type Parameters = (*const u8, *mut f32);
    const NAME: &'static str = "product";
}

/// A product, and how it differs from D = A·B + C.
#[derive(Clone, Copy)]
struct Case {
    mma: WarpgroupMma,
    swizzle: Swizzle,
    held: bool,
    selector: usize,
    drops_sums: bool,
    negated: [bool; 2],
    transposed: [bool; 2],
}

impl Case {
    fn new(a: WarpgroupFactor, b: WarpgroupFactor, n: usize, sparse: bool) -> Self {
        Self {
            mma: WarpgroupMma { a, b, n, sparse },
            swizzle: Swizzle::Bytes128,
            held: false,
            selector: 0,
            drops_sums: false,
            negated: [false; 2],
            transposed: [false; 2],
        }
    }

    /// The bytes of rows of A, or columns of B, of `depth` values each, that begin at a place; and the descriptor.
    fn placed(&self, values: &[f64], depth: usize, at: usize, side: usize) -> (Vec<u8>, u64) {
        let (factor, swizzle) = ([self.mma.a, self.mma.b][side], self.swizzle);
        if !self.transposed[side] {
            let row_bytes = depth * factor.bytes();
            let bytes = laid_out(values, row_bytes, factor, swizzle);
            return (bytes, descriptor(at, row_bytes, swizzle).0);
        }
        // Pieces as wide as the pattern, each with all of K one after the other.
        let (width, bytes) = (swizzle.row_bytes() as usize, factor.bytes());
        let piece = depth * width;
        let count = values.len() / depth * bytes;
        let mut all = vec![0; count.div_ceil(width) * piece];
        for (i, &value) in values.iter().enumerate() {
            let (byte, k) = (i / depth * bytes, i % depth);
            let exchange = match swizzle {
                Swizzle::None => 0,
                Swizzle::Bytes32 => k / 4 % 2,
                Swizzle::Bytes64 => k / 2 % 4,
                Swizzle::Bytes128 => k % 8,
            };
            let place = byte / width * piece + k * width + ((byte % width) ^ (exchange << 4));
            all[place..][..bytes].copy_from_slice(&factor.bits(value).to_le_bytes()[..bytes]);
        }
        let (group, piece) = (8 * width as u32, piece as u32);
        let [leading, stride] = match swizzle {
            Swizzle::None => [group, piece],
            _ => [piece, group],
        };
        (all, Descriptor::new(at as u32, leading, stride, swizzle).0)
    }

    fn opcode(&self) -> String {
        let WarpgroupMma { a, b, n, sparse } = self.mma;
        let sp = if sparse { ".sp" } else { "" };
        format!("wgmma.mma_async{sp}.sync.aligned.m64n{n}k{}.f32.{a}.{b}", self.mma.k())
    }

    /// The instruction, of sums in `%d`, descriptors in `%a4` and `%a5`, and metadata in `%r7`.
    fn instruction(&self) -> String {
        let sums: Vec<String> = (0..self.mma.d_words()).map(|word| format!("%d{word}")).collect();
        let a = if self.held { "{%r8, %r9, %r10, %r11}" } else { "%a4" };
        let metadata =
            if self.mma.sparse { format!(", %r7, {}", self.selector) } else { String::new() };
        let [sign_a, sign_b] = self.negated.map(|negated| if negated { -1 } else { 1 });
        let [of_a, of_b] = self.transposed.map(u8::from);
        let transposes = match (self.mma.a.bytes(), self.held) {
            (2, true) => format!(", {of_b}"),
            (2, false) => format!(", {of_a}, {of_b}"),
            _ => String::new(),
        };
        format!(
            "{} {{{}}}, {a}, %a5{metadata}, %p1, {sign_a}, {sign_b}{transposes};",
            self.opcode(),
            sums.join(", ")
        )
    }

    /// Multiplies twice, into the same sums, and checks these.
    fn check(&self) {
        let (mma, matrices) = (self.mma, Matrices::new(self.mma));
        let kept: Vec<f64> = matrices.kept.iter().map(|&(value, _)| value).collect();
        let (mut bytes, a) = self.placed(&kept, mma.kept(), 0, 0);
        bytes.resize(bytes.len().next_multiple_of(1024), 0);
        let (of_b, b) = self.placed(&matrices.b, mma.k(), bytes.len(), 1);
        bytes.extend(of_b);
        let pieces = bytes.len() / 16;
        for lane in 0..LANES {
            (0..4).for_each(|w| bytes.extend(matrices.held(lane, w).to_le_bytes()));
        }
        for lane in 0..LANES {
            let word = if mma.sparse { matrices.metadata(lane, self.selector) } else { 0 };
            bytes.extend(word.to_le_bytes());
        }
        let text = text(self, pieces, [a, b], &self.instruction());
        let module = Module::read(&text).unwrap();
        let mut memory = Memory::new();
        let from = memory.input("from", &bytes);
        let out = memory.output::<f32>("out", LANES * mma.d_words());
        let shared_bytes = 16 * pieces as u32;
        let config = LaunchConfig { threads: 128, shared_bytes, ..LaunchConfig::default() };
        let parameters = (from.as_ptr(), out.as_mut_ptr());
        let result = Chip::Sm90a.with(|| module.launch::<product>(config, &mut memory, parameters));
        result.unwrap_or_else(|fault| panic!("{}: {fault}", self.opcode()));
        let sign = if self.negated[0] == self.negated[1] { 1.0 } else { -1.0 };
        for (at, sum) in memory.read(out).into_iter().enumerate() {
            let (row, column) = warpgroup::d(at / mma.d_words(), at % mma.d_words());
            let once = sign * matrices.element(row, column);
            let expected = if self.drops_sums { once } else { 1.0 + 2.0 * once };
            assert_eq!(f64::from(sum), expected, "{} at {row}, {column}", self.opcode());
        }
    }
}

/// A kernel that copies operands to shared memory, and A's registers and metadata after them to a lane's own.
fn text(case: &Case, pieces: usize, [a, b]: [u64; 2], instruction: &str) -> String {
    let sums = case.mma.d_words();
    let each = |line: &dyn Fn(usize) -> String| (0..sums).map(line).collect::<String>();
    let zeros = each(&|word| format!("mov.b32 %d{word}, 0f3F800000;\n"));
    let stores = each(&|word| format!("st.global.f32 [%a2+{}], %d{word};\n", 4 * word));
    let (held, metadata, row) = (16 * pieces, 16 * pieces + 16 * LANES, 4 * sums);
    let predicate = if case.drops_sums { "eq" } else { "ne" };
    format!(
        ".visible .entry product(.param .u64 .ptr .align 1 from, .param .u64 .ptr .align 1 out)
{{
.reg .b32 %r<12>;\n.reg .b64 %a<8>;\n.reg .pred %p<2>;\n.reg .f32 %d<{sums}>;
ld.param.b64 %a1, [from];\nld.param.b64 %a2, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %r0;
NEXT:
setp.ge.u32 %p0, %r1, {pieces};\n@%p0 bra DONE;
mul.wide.u32 %a3, %r1, 16;\nadd.s64 %a3, %a1, %a3;\nshl.b32 %r6, %r1, 4;
ld.global.v4.b32 {{%r2, %r3, %r4, %r5}}, [%a3];\nst.shared.v4.b32 [%r6], {{%r2, %r3, %r4, %r5}};
add.u32 %r1, %r1, 128;\nbra NEXT;
DONE:
fence.proxy.async;\nbar.sync 0;
mul.wide.u32 %a3, %r0, 16;\nadd.s64 %a3, %a1, %a3;
ld.global.v4.b32 {{%r8, %r9, %r10, %r11}}, [%a3+{held}];
mul.wide.u32 %a3, %r0, 4;\nadd.s64 %a3, %a1, %a3;\nld.global.b32 %r7, [%a3+{metadata}];
mul.wide.u32 %a3, %r0, {row};\nadd.s64 %a2, %a2, %a3;
mov.b64 %a4, {a:#x};\nmov.b64 %a5, {b:#x};
{zeros}setp.{predicate}.b32 %p1, 1, 0;
wgmma.fence.sync.aligned;
{instruction}
{instruction}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}ret;
}}
"
    )
}

const F16: WarpgroupFactor = WarpgroupFactor::F16;

#[test]
fn ptx_has_products_of_every_type_and_both_sources_of_a() {
    use WarpgroupFactor::{Bf16, E4m3, E5m2, Tf32};
    let pairs = [
        (F16, F16),
        (Bf16, Bf16),
        (Tf32, Tf32),
        (E4m3, E4m3),
        (E5m2, E5m2),
        (E4m3, E5m2),
        (E5m2, E4m3),
    ];
    for (a, b) in pairs {
        for held in [false, true] {
            Case { held, ..Case::new(a, b, 8, false) }.check();
            let sparse = Case { held, ..Case::new(a, b, 16, true) };
            sparse.check();
            if sparse.mma.selectors() > 1 {
                Case { selector: 1, ..sparse }.check();
            }
        }
    }
    for n in [24, 136, 256] {
        Case::new(F16, F16, n, false).check();
    }
}

#[test]
fn sums_may_be_dropped_and_factors_negated() {
    let case = Case::new(F16, F16, 8, false);
    Case { drops_sums: true, ..case }.check();
    Case { negated: [true, false], ..case }.check();
    Case { negated: [false, true], held: true, ..case }.check();
    Case { negated: [true, true], drops_sums: true, ..case }.check();
}

#[test]
fn operands_of_16_bits_may_be_transposed() {
    for swizzle in SWIZZLES {
        for transposed in [[true, false], [false, true], [true, true]] {
            Case { swizzle, transposed, ..Case::new(F16, F16, 24, false) }.check();
        }
        let sparse =
            Case { swizzle, ..Case::new(WarpgroupFactor::Bf16, WarpgroupFactor::Bf16, 72, true) };
        Case { transposed: [true, true], ..sparse }.check();
        Case { transposed: [false, true], held: true, ..sparse }.check();
    }
}

#[test]
fn a_product_that_is_not_known_is_named() {
    let case = Case::new(F16, F16, 8, false);
    let instruction = case.instruction();
    for (from, to) in [
        (".f32.f16", ".f16.f16"),
        ("k16", "k32"),
        (".f16.f16", ".f16.bf16"),
        (", 1, 1, 0, 0", ", 1, 2, 0, 0"),
        (", 1, 1, 0, 0", ", 1, 1, 0, 2"),
        (", 1, 1, 0, 0", ", 1, 1"),
        ("", ""),
    ] {
        let changed = instruction.replace(from, to);
        // One that is as it was has an operand that begins within a pattern.
        let offset = if changed == instruction { 1 << 49 } else { 0 };
        let module = Module::read(&text(&case, 0, [offset, 0], &changed)).unwrap();
        let mut memory = Memory::new();
        let from = memory.input("from", &[0u8; 20 * LANES]);
        let out = memory.output::<f32>("out", 4 * LANES);
        let config = LaunchConfig { threads: 128, ..LaunchConfig::default() };
        let parameters = (from.as_ptr(), out.as_mut_ptr());
        let fault = Chip::Sm90a
            .with(|| module.launch::<product>(config, &mut memory, parameters))
            .unwrap_err();
        let opcode = changed.split(' ').next().unwrap();
        assert!(
            matches!(&fault.kind, FaultKind::UnknownInstruction(name) if name == opcode),
            "{changed}: {fault}"
        );
    }
}
