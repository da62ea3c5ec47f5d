// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of several threads, and of copy engines: those that `cuda_std` writes, by the functions of this crate.

use super::wgmma;
use crate::lane::with;
use crate::{barrier, copy, grid, math, matrix, mma, named, thread, warp};

/// Executes an instruction; nothing where it is not known.
#[track_caller]
pub fn execute(opcode: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let parts: Vec<&str> = opcode.split('.').collect();
    match parts[0] {
        "bar" | "barrier" => barriers(&parts, operands),
        "shfl" => shuffle(&parts, operands),
        "vote" | "match" | "activemask" => votes(opcode, operands),
        "redux" => reduction(opcode, operands),
        "mbarrier" => phases(&parts, operands),
        "cp" => copies(opcode, operands),
        "ldmatrix" | "stmatrix" | "movmatrix" => matrices(opcode, operands),
        "mma" => products(opcode, operands),
        "wgmma" => wgmma::order(opcode, word(operands, 0)).and_then(|()| none()),
        "fence" => fences(opcode),
        "griddepcontrol" => launches(opcode),
        "cvt" if opcode == "cvt.rn.tf32.f32" => {
            Some(vec![math::round_tf32(f32::from_bits(operands[0][0] as u32)).into()])
        }
        _ => None,
    }
}

/// A word of an operand.
fn word(operands: &[Vec<u64>], number: usize) -> Option<u32> {
    Some(*operands.get(number)?.first()? as u32)
}

/// An operand in brackets.
fn address(operands: &[Vec<u64>], number: usize) -> Option<u64> {
    match operands.get(number)?[..] {
        [base, distance, ..] => Some(base.wrapping_add(distance)),
        _ => None,
    }
}

/// An operand in brackets that is in shared memory.
fn shared(operands: &[Vec<u64>], number: usize) -> Option<u32> {
    address(operands, number).map(|address| address as u32)
}

/// The words of an operand in braces.
fn words<const N: usize>(operands: &[Vec<u64>], number: usize) -> Option<[u32; N]> {
    let words: Vec<u32> = operands.get(number)?.iter().map(|word| *word as u32).collect();
    words.try_into().ok()
}

fn none() -> Option<Vec<u64>> {
    Some(Vec::new())
}

fn results(words: &[u32]) -> Option<Vec<u64>> {
    Some(words.iter().map(|word| u64::from(*word)).collect())
}

#[track_caller]
fn barriers(parts: &[&str], operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let first = word(operands, 0)?;
    if parts.starts_with(&["bar", "warp", "sync"]) && operands.len() == 1 {
        warp::sync_warp(first);
        return none();
    }
    if parts.contains(&"red") {
        // With a number of threads there are three.
        let [_, predicate] = operands else { return None };
        let predicate = *predicate.first()? as u32;
        if first != 0 {
            return None;
        }
        return results(&[match *parts.iter().find(|it| ["popc", "and", "or"].contains(it))? {
            "popc" => thread::sync_threads_count(predicate),
            "and" => thread::sync_threads_and(predicate),
            _ => thread::sync_threads_or(predicate),
        }]);
    }
    if first != 0 || operands.len() > 1 {
        return barriers_of_some(parts, operands);
    }
    if !parts.contains(&"sync") {
        return None;
    }
    thread::sync_threads();
    none()
}

/// Barriers with a number or a count of threads. Those that threads come to each for itself are not known.
#[track_caller]
fn barriers_of_some(parts: &[&str], operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    if parts[0] != "bar" && !parts.contains(&"aligned") {
        return None;
    }
    let all = with(|block, _| Ok(block.threads.len() as u32));
    let (number, threads) = (word(operands, 0)?, word(operands, 1));
    match threads {
        Some(threads) if threads == all && number == 0 && parts.contains(&"sync") => {
            thread::sync_threads();
        }
        _ if parts.contains(&"sync") => named::sync(number, threads.unwrap_or(all)),
        Some(threads) if parts.contains(&"arrive") => named::arrive(number, threads),
        _ => return None,
    }
    none()
}

#[track_caller]
fn shuffle(parts: &[&str], operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let (value, argument) = (word(operands, 0)?, word(operands, 1)?);
    let (segment, mask) = (word(operands, 2)?, word(operands, 3)?);
    let width = 32 - (segment >> 8 & 31);
    // Lanes end at the last of a segment, or for `up` at its first one.
    let last = if parts[2] == "up" { 0 } else { 31 };
    if parts[1] != "sync" || operands.len() != 4 || segment & 31 != last {
        return None;
    }
    let shuffle = match parts[2] {
        "idx" => warp::shuffle_idx_of,
        "bfly" => warp::shuffle_xor_of,
        "down" => warp::shuffle_down_of,
        "up" => warp::shuffle_up_of,
        _ => return None,
    };
    results(&shuffle(mask, value, argument, width))
}

#[track_caller]
fn votes(opcode: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let is_set = |number: usize| Some(word(operands, number)? & 1 != 0);
    let result = match opcode {
        "activemask.b32" => warp::activemask(),
        "vote.sync.all.pred" => warp::warp_vote_all(word(operands, 1)?, is_set(0)?).into(),
        "vote.sync.any.pred" => warp::warp_vote_any(word(operands, 1)?, is_set(0)?).into(),
        "vote.sync.ballot.b32" => warp::warp_vote_ballot(word(operands, 1)?, is_set(0)?),
        "match.any.sync.b32" => warp::match_any_b32(word(operands, 1)?, word(operands, 0)?),
        "match.all.sync.b32" => warp::match_all_b32(word(operands, 1)?, word(operands, 0)?),
        "match.any.sync.b64" => warp::match_any_b64(word(operands, 1)?, operands[0][0]),
        "match.all.sync.b64" => warp::match_all_b64(word(operands, 1)?, operands[0][0]),
        _ => return None,
    };
    // A second result, of `match.all` only: whether all are equal.
    results(&[result, (result != 0).into()])
}

#[track_caller]
fn reduction(opcode: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let (value, mask) = (word(operands, 0)?, word(operands, 1)?);
    results(&[match opcode {
        "redux.sync.add.u32" | "redux.sync.add.s32" => warp::reduce_add_u32(mask, value),
        "redux.sync.min.u32" => warp::reduce_min_u32(mask, value),
        "redux.sync.max.u32" => warp::reduce_max_u32(mask, value),
        "redux.sync.min.s32" => warp::reduce_min_i32(mask, value as i32) as u32,
        "redux.sync.max.s32" => warp::reduce_max_i32(mask, value as i32) as u32,
        "redux.sync.and.b32" => warp::reduce_and_u32(mask, value),
        "redux.sync.or.b32" => warp::reduce_or_u32(mask, value),
        "redux.sync.xor.b32" => warp::reduce_xor_u32(mask, value),
        _ => return None,
    }])
}

#[track_caller]
fn phases(parts: &[&str], operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let at = shared(operands, 0)?;
    let known =
        ["expect_tx", "parity", "shared", "shared::cta", "release", "acquire", "cta", "b64"];
    if !parts[2..].iter().all(|part| known.contains(part)) {
        return None;
    }
    match (parts[1], parts[2]) {
        ("init", _) => barrier::init(at, word(operands, 1)?),
        ("arrive", "expect_tx") => barrier::arrive_expect(at, word(operands, 1)?),
        ("arrive", _) if operands.len() == 1 || word(operands, 1) == Some(1) => barrier::arrive(at),
        // Waits, so that the loop around it has one turn.
        ("try_wait" | "test_wait", "parity") => {
            barrier::wait(at, word(operands, 1)?);
            return results(&[1]);
        }
        _ => return None,
    }
    results(&[0])
}

#[track_caller]
fn copies(opcode: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    let global =
        |number: usize| Some(std::ptr::without_provenance(address(operands, number)? as usize));
    match opcode {
        // With a fourth operand, of bytes that are there, it is another one.
        "cp.async.cg.shared.global" if operands.len() == 3 && word(operands, 2) == Some(16) => {
            copy::async_16(shared(operands, 0)?, global(1)?);
        }
        "cp.async.ca.shared.global" if operands.len() == 3 => {
            let bytes = word(operands, 2).filter(|bytes| [4, 8, 16].contains(bytes))?;
            copy::async_copy(shared(operands, 0)?, global(1)?, bytes);
        }
        "cp.async.commit_group" => copy::async_commit(),
        "cp.async.wait_group" => copy::async_wait(word(operands, 0)?),
        "cp.async.wait_all" => copy::async_wait_all(),
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64" => {
            copy::async_arrive(shared(operands, 0)?);
        }
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" => {
            copy::bulk(shared(operands, 0)?, global(1)?, word(operands, 2)?, shared(operands, 3)?);
        }
        "cp.async.bulk.global.shared::cta.bulk_group" => {
            let to = std::ptr::without_provenance_mut(address(operands, 0)? as usize);
            copy::bulk_store(to, shared(operands, 1)?, word(operands, 2)?);
        }
        "cp.async.bulk.commit_group" => copy::commit_stores(),
        "cp.async.bulk.wait_group.read" => copy::wait_stores_read(word(operands, 0)?),
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" => {
            let [.., x, y] = operands.get(1)?[..] else { return None };
            let map = global(1)?;
            copy::tensor_2d(shared(operands, 0)?, map, x as i32, y as i32, shared(operands, 2)?);
        }
        _ => return None,
    }
    none()
}

#[track_caller]
fn matrices(opcode: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    match opcode {
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16" => {
            results(&matrix::load_x4(shared(operands, 0)?))
        }
        "movmatrix.sync.aligned.m8n8.trans.b16" => {
            results(&[matrix::transpose(word(operands, 0)?)])
        }
        "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16" => {
            let [first, second] = words(operands, 1)?;
            matrix::store_transposed_x2(shared(operands, 0)?, first, second);
            none()
        }
        _ => None,
    }
}

#[track_caller]
fn products(opcode: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    if let Some(shape) = opcode.strip_prefix("mma.sp::ordered_metadata.sync.aligned.") {
        if word(operands, 4) != Some(0) {
            return None;
        }
        let multiply = match shape {
            "m16n8k32.row.col.f32.f16.f16.f32" => mma::sp_m16n8k32_f16_f32,
            "m16n8k32.row.col.f32.bf16.bf16.f32" => mma::sp_m16n8k32_bf16_f32,
            "m16n8k16.row.col.f32.tf32.tf32.f32" => mma::sp_m16n8k16_tf32_f32,
            _ => return None,
        };
        let (a, b) = (words(operands, 0)?, words(operands, 1)?);
        let c = words(operands, 2)?.map(f32::from_bits);
        return results(&multiply(a, word(operands, 3)?, b, c).map(f32::to_bits));
    }
    let shape = opcode.strip_prefix("mma.sync.aligned.")?;
    let multiply = match shape {
        "m16n8k16.row.col.f32.f16.f16.f32" => mma::m16n8k16_f16_f32,
        "m16n8k16.row.col.f32.bf16.bf16.f32" => mma::m16n8k16_bf16_f32,
        "m16n8k8.row.col.f32.tf32.tf32.f32" => mma::m16n8k8_tf32_f32,
        _ => return products_of_f64(shape, operands),
    };
    let c = words(operands, 2)?.map(f32::from_bits);
    results(&multiply(words(operands, 0)?, words(operands, 1)?, c).map(f32::to_bits))
}

#[track_caller]
fn products_of_f64(shape: &str, operands: &[Vec<u64>]) -> Option<Vec<u64>> {
    fn numbers<const N: usize>(operands: &[Vec<u64>], number: usize) -> Option<[f64; N]> {
        let bits: [u64; N] = operands.get(number)?.clone().try_into().ok()?;
        Some(bits.map(f64::from_bits))
    }
    let bits = |numbers: &[f64]| Some(numbers.iter().map(|it| it.to_bits()).collect());
    match shape {
        "m16n8k16.row.col.f64.f64.f64.f64" => {
            let (a, b) = (numbers(operands, 0)?, numbers(operands, 1)?);
            bits(&mma::m16n8k16_f64(a, b, numbers(operands, 2)?))
        }
        "m8n8k4.row.col.f64.f64.f64.f64" => {
            let ([a], [b]) = (numbers(operands, 0)?, numbers(operands, 1)?);
            bits(&mma::m8n8k4_f64(a, b, numbers(operands, 2)?))
        }
        _ => None,
    }
}

#[track_caller]
fn fences(opcode: &str) -> Option<Vec<u64>> {
    match opcode {
        "fence.proxy.async" => {
            copy::fence_shared();
            copy::fence_global();
        }
        // A block alone is a cluster of one.
        "fence.proxy.async.shared::cta" | "fence.proxy.async.shared::cluster" => {
            copy::fence_shared();
        }
        "fence.proxy.async.global" => copy::fence_global(),
        "fence.mbarrier_init.release.cluster" => barrier::fence_init(),
        _ => return None,
    }
    none()
}

#[track_caller]
fn launches(opcode: &str) -> Option<Vec<u64>> {
    match opcode {
        "griddepcontrol.wait" => grid::wait_for_previous(),
        "griddepcontrol.launch_dependents" => {
            // One instruction for two contracts: before a wait, the weaker one.
            match with(|block, thread| Ok(block.threads[thread].waited_for_previous)) {
                true => grid::start_next(),
                false => grid::start_waiting_next(),
            }
        }
        _ => return None,
    }
    none()
}
