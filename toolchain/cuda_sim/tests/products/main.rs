// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products compute the product of the matrices: all types, dense and sparse, A from shared
//! memory and from registers, each swizzle. Operands are put where the ISA's text has them, by formulas of
//! their own.

mod ptx;
mod ptx_faults;

use cuda_mma::warpgroup::{self, Descriptor, LANES, M, Swizzle, WarpgroupFactor, WarpgroupMma};
use cuda_sim::wgmma::{self, OperandA};
use cuda_sim::{Chip, LaunchConfig, Memory, OnChip as _, copy, global, launch, shared, thread};

const SWIZZLES: [Swizzle; 4] =
    [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];

/// A whole number from -3 to 3, which all types have.
fn number(seed: usize) -> f64 {
    (seed.wrapping_mul(2_654_435_761) >> 9) as f64 % 7.0 - 3.0
}

/// A, B and D as plain matrices: A with its zeros.
struct Matrices {
    mma: WarpgroupMma,
    /// A's kept values, row by row, and their columns.
    kept: Vec<(f64, usize)>,
    b: Vec<f64>,
}

impl Matrices {
    fn new(mma: WarpgroupMma) -> Self {
        let column = |row: usize, at: usize| match (mma.sparse, mma.a) {
            (false, _) => at,
            (true, WarpgroupFactor::Tf32) => 2 * at + (row + at) % 2,
            // 0 and 1, 0 and 2, …, 1 and 3.
            (true, _) => {
                let first = (row + at / 2) % 2;
                4 * (at / 2) + if at.is_multiple_of(2) { first } else { first + 1 + row / 2 % 2 }
            }
        };
        let kept = (0..M * mma.kept())
            .map(|i| (number(i), column(i / mma.kept(), i % mma.kept())))
            .collect();
        Self { mma, kept, b: (0..mma.n * mma.k()).map(|i| number(i + 12345)).collect() }
    }

    fn element(&self, row: usize, column: usize) -> f64 {
        let k = self.mma.k();
        let mut dense = vec![0.0; k];
        for &(value, at) in &self.kept[row * self.mma.kept()..][..self.mma.kept()] {
            dense[at] += value;
        }
        dense.iter().zip(&self.b[column * k..]).map(|(a, b)| a * b).sum()
    }

    /// The word of metadata of a lane, for a selector; the other lanes have none.
    fn metadata(&self, lane: usize, selector: usize) -> u32 {
        let mut word = 0;
        for row in 0..M {
            for at in 0..self.mma.kept() {
                let (of, bit) = self.mma.metadata(row, at);
                let column = self.kept[row * self.mma.kept() + at].1 as u32;
                let code = match self.mma.a {
                    WarpgroupFactor::Tf32 => [0b0100, 0b1110][column as usize % 2],
                    _ => column % 4,
                };
                if of + 2 * selector == lane {
                    word |= code << bit;
                }
            }
        }
        word
    }

    /// A word of A's registers.
    fn held(&self, lane: usize, w: usize) -> u32 {
        let bits = 8 * self.mma.a.bytes();
        (0..self.mma.a.per_word()).fold(0, |word, i| {
            let (row, column) = self.mma.a(lane, w, i);
            word | self.mma.a.bits(self.kept[row * self.mma.kept() + column].0) << (bits * i)
        })
    }
}

/// Bytes of rows of a matrix, and where they begin: 8 rows of `width` bytes each, then the next 8, whose
/// pieces of 16 bytes are exchanged; without swizzle pieces of 8 rows of 16 bytes, along a row first.
fn laid_out(
    values: &[f64],
    row_bytes: usize,
    factor: WarpgroupFactor,
    swizzle: Swizzle,
) -> Vec<u8> {
    let width = swizzle.row_bytes() as usize;
    let stored = row_bytes.max(width);
    let rows = values.len() * factor.bytes() / row_bytes;
    let mut bytes = vec![0; rows * stored];
    for (i, &value) in values.iter().enumerate() {
        let at = i * factor.bytes();
        let (row, byte) = (at / row_bytes, at % row_bytes);
        let place = match swizzle {
            Swizzle::None => row / 8 * 8 * row_bytes + byte / 16 * 128 + row % 8 * 16 + byte % 16,
            Swizzle::Bytes32 => row * 32 + (byte ^ (row / 4 % 2) << 4),
            Swizzle::Bytes64 => row * 64 + (byte ^ (row / 2 % 4) << 4),
            Swizzle::Bytes128 => row * 128 + (byte ^ (row % 8) << 4),
        };
        let bits = factor.bits(value).to_le_bytes();
        bytes[place..][..factor.bytes()].copy_from_slice(&bits[..factor.bytes()]);
    }
    bytes
}

fn descriptor(at: usize, row_bytes: usize, swizzle: Swizzle) -> Descriptor {
    match swizzle {
        Swizzle::None => Descriptor::new(at as u32, 128, 8 * row_bytes as u32, swizzle),
        _ => Descriptor::new(at as u32, 16, 8 * swizzle.row_bytes(), swizzle),
    }
}

/// Runs one product twice, in two groups, and checks all sums.
fn check(mma: WarpgroupMma, swizzle: Swizzle, held: bool, selector: usize) {
    let matrices = Matrices::new(mma);
    let kept: Vec<f64> = matrices.kept.iter().map(|&(value, _)| value).collect();
    let b_row = mma.k() * mma.b.bytes();
    let mut bytes = laid_out(&kept, 32, mma.a, swizzle);
    bytes.resize(bytes.len().next_multiple_of(1024), 0);
    let b_at = bytes.len();
    bytes.extend(laid_out(&matrices.b, b_row, mma.b, swizzle));
    let words: Vec<[u32; 4]> = bytemuck::pod_collect_to_vec(&bytes);
    let [a, b] = [descriptor(0, 32, swizzle), descriptor(b_at, b_row, swizzle)];
    let mut memory = Memory::new();
    let out = memory.output::<f32>("out", LANES * mma.d_words());
    let kernel = || {
        let thread = thread::thread_idx_x() as usize;
        for at in (thread..words.len()).step_by(LANES) {
            shared::store_v4(16 * at as u32, words[at]);
        }
        copy::fence_shared();
        thread::sync_threads();
        let left = match held {
            true => OperandA::Registers(std::array::from_fn(|w| matrices.held(thread, w))),
            false => OperandA::Shared(a),
        };
        let metadata = if mma.sparse { matrices.metadata(thread, selector) } else { 0 };
        let mut sums = vec![1.0; mma.d_words()];
        wgmma::fence();
        for _ in 0..2 {
            wgmma::multiply(mma, &mut sums, left, b, (metadata, selector as u32));
            wgmma::commit();
        }
        wgmma::wait(1, &mut []);
        wgmma::wait(0, &mut sums);
        for (word, sum) in sums.into_iter().enumerate() {
            let at = out.as_mut_ptr().wrapping_add(thread * mma.d_words() + word);
            global::store_f32(at, sum);
        }
    };
    let shared_bytes = bytes.len() as u32;
    let config = LaunchConfig { threads: 128, shared_bytes, ..LaunchConfig::default() };
    Chip::Sm90a.with(|| {
        let stats = launch("product", config, &mut memory, kernel);
        stats.unwrap_or_else(|fault| panic!("{mma} {swizzle:?} {held}: {fault}"));
    });
    for (at, sum) in memory.read(out).into_iter().enumerate() {
        let (row, column) = warpgroup::d(at / mma.d_words(), at % mma.d_words());
        let expected = 1.0 + 2.0 * matrices.element(row, column);
        assert_eq!(f64::from(sum), expected, "{mma} {swizzle:?} {held} at {row}, {column}");
    }
}

#[test]
fn products_are_those_of_the_matrices() {
    let pairs = [
        (WarpgroupFactor::F16, WarpgroupFactor::F16),
        (WarpgroupFactor::Bf16, WarpgroupFactor::Bf16),
        (WarpgroupFactor::Tf32, WarpgroupFactor::Tf32),
        (WarpgroupFactor::E4m3, WarpgroupFactor::E4m3),
        (WarpgroupFactor::E5m2, WarpgroupFactor::E5m2),
        (WarpgroupFactor::E4m3, WarpgroupFactor::E5m2),
        (WarpgroupFactor::E5m2, WarpgroupFactor::E4m3),
    ];
    for (a, b) in pairs {
        for swizzle in SWIZZLES {
            for held in [false, true] {
                check(WarpgroupMma { a, b, n: 8, sparse: false }, swizzle, held, 0);
                // 64 bytes of a row of B are more than a row of 32 has.
                if swizzle != Swizzle::Bytes32 {
                    let mma = WarpgroupMma { a, b, n: 24, sparse: true };
                    (0..mma.selectors()).for_each(|selector| check(mma, swizzle, held, selector));
                }
            }
        }
    }
    check(
        WarpgroupMma { a: WarpgroupFactor::F16, b: WarpgroupFactor::F16, n: 256, sparse: true },
        SWIZZLES[3],
        false,
        1,
    );
}
