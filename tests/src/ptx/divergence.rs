// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds collectives that not all lanes may reach: an instruction such as `mma.sync` behind a branch
//! whose predicate may differ between lanes.
//!
//! A register is *divergent* if lanes may hold different values: it is computed from the lane's
//! index, from memory or from another lane's data, or it is assigned where a divergent branch has
//! parted the lanes. A conservative analysis: it may call a uniform register divergent, not the
//! other way round, as long as every lane gets the same parameters.

use super::flow::Flow;
use super::parse::{PtxInstruction, PtxKernel};
use std::collections::{BTreeMap, BTreeSet};

/// Who must execute a collective together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The 32 lanes of a warp.
    Warp,
    /// All threads of the block.
    Block,
}

/// A collective behind a divergent branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kernel.
    pub kernel: String,
    /// The collective.
    pub opcode: String,
    /// Its line in the PTX.
    pub line: usize,
    /// The line of the branch.
    pub branch_line: usize,
}

/// What is known of a register; a larger one wins where several meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    /// One value in all lanes.
    Uniform,
    /// `%tid.x`: a multiple of 32, the same in all lanes of a warp, plus the lane's index.
    ThreadIndex,
    /// Anything.
    Divergent,
}

/// Collectives, and who must execute them.
const COLLECTIVES: [(&str, Scope); 13] = [
    ("mma", Scope::Warp),
    ("wmma", Scope::Warp),
    ("ldmatrix", Scope::Warp),
    ("stmatrix", Scope::Warp),
    ("movmatrix", Scope::Warp),
    ("shfl", Scope::Warp),
    ("vote", Scope::Warp),
    ("match", Scope::Warp),
    ("redux", Scope::Warp),
    ("elect", Scope::Warp),
    ("bar.warp", Scope::Warp),
    ("bar", Scope::Block),
    ("barrier", Scope::Block),
];

/// Instructions whose results depend on more than their operands.
const FROM_ELSEWHERE: [&str; 9] =
    ["atom", "mbarrier", "shfl", "match", "elect", "mma", "wmma", "ldmatrix", "movmatrix"];

/// Who must execute an instruction together, if it is a collective.
fn scope(instruction: &PtxInstruction) -> Option<Scope> {
    let collective = COLLECTIVES.iter().find(|(opcode, _)| instruction.is(opcode));
    collective.map(|&(_, scope)| scope)
}

/// The collectives of a kernel that lie behind a divergent branch or under a divergent guard.
#[must_use]
pub fn violations(kernel: &PtxKernel) -> Vec<Violation> {
    let warp = Analysis::new(kernel, Scope::Warp).violations();
    let block = Analysis::new(kernel, Scope::Block).violations();
    warp.into_iter().chain(block).collect()
}

/// The registers that may not be uniform at some point of the kernel.
type Values<'a> = BTreeMap<&'a str, Value>;

struct Analysis<'a> {
    kernel: &'a PtxKernel,
    scope: Scope,
    flow: Flow,
    post_dominators: Vec<BTreeSet<usize>>,
    /// At the start of each block.
    entries: Vec<Values<'a>>,
    /// The blocks between a divergent branch and where its ways meet, with the branch's line.
    apart: BTreeMap<usize, usize>,
    /// For each register, how many instructions write it.
    writers: BTreeMap<&'a str, usize>,
}

impl<'a> Analysis<'a> {
    fn new(kernel: &'a PtxKernel, scope: Scope) -> Self {
        let flow = Flow::new(kernel);
        let post_dominators = flow.post_dominators();
        let entries = vec![Values::new(); flow.blocks.len()];
        let mut writers = BTreeMap::new();
        for register in kernel.body.iter().flat_map(|instruction| &instruction.written) {
            *writers.entry(register.as_str()).or_default() += 1;
        }
        let apart = BTreeMap::new();
        let mut analysis = Self { kernel, scope, flow, post_dominators, entries, apart, writers };
        while analysis.propagate() {}
        analysis
    }

    /// One round over all blocks; whether anything was learnt.
    fn propagate(&mut self) -> bool {
        let before = (self.entries.clone(), self.apart.len());
        for block in 0..self.flow.blocks.len() {
            let mut values = self.entries[block].clone();
            for index in self.flow.blocks[block].body.clone() {
                self.execute(
                    &self.kernel.body[index],
                    self.apart.contains_key(&block),
                    &mut values,
                );
            }
            let last = self.flow.blocks[block].body.clone().next_back();
            let guard = last.and_then(|last| self.kernel.body[last].guard.as_deref());
            if guard.is_some_and(|guard| self.value(guard, &values) != Value::Uniform) {
                let line = self.kernel.body[last.unwrap_or_default()].line;
                for inside in self.flow.region(block, &self.post_dominators) {
                    self.apart.entry(inside).or_insert(line);
                }
            }
            for &successor in &self.flow.blocks[block].successors {
                for (&register, &value) in &values {
                    let known = self.entries[successor].entry(register).or_insert(value);
                    *known = value.max(*known);
                }
            }
        }
        before != (self.entries.clone(), self.apart.len())
    }

    /// What an instruction does to the registers. Where lanes are apart, a register that other
    /// instructions write too will differ between those that came here and those that did not.
    fn execute(&self, instruction: &'a PtxInstruction, apart: bool, values: &mut Values<'a>) {
        let result = self.result(instruction, values);
        for register in &instruction.written {
            let merged = apart && self.writers[register.as_str()] > 1;
            // A guarded instruction may leave what was there.
            let kept = match instruction.guard {
                Some(_) => self.value(register, values),
                None => Value::Uniform,
            };
            let value = if merged { Value::Divergent } else { result.max(kept) };
            values.insert(register, value);
        }
    }

    fn value(&self, name: &str, values: &Values<'_>) -> Value {
        match name {
            "%tid.x" if self.scope == Scope::Warp => Value::ThreadIndex,
            "%warpid" if self.scope == Scope::Warp => Value::Uniform,
            "%laneid" | "%warpid" | "%clock" | "%clock64" | "%globaltimer" => Value::Divergent,
            _ if name.starts_with("%tid") || name.starts_with("%lanemask") => Value::Divergent,
            _ => values.get(name).copied().unwrap_or(Value::Uniform),
        }
    }

    /// What an instruction computes.
    fn result(&self, instruction: &PtxInstruction, values: &Values<'_>) -> Value {
        // What one lane of all 32 says.
        if let ("shfl.sync.idx.b32", [_, source, "31", _]) =
            (instruction.opcode.as_str(), words(instruction).as_slice())
        {
            return self.value(source, values);
        }
        if FROM_ELSEWHERE.iter().any(|opcode| instruction.is(opcode)) {
            return Value::Divergent;
        }
        // An address that all lanes share holds one value; parameters are the same for all.
        let read = instruction.read.iter().chain(&instruction.guard);
        let operands = read.map(|name| self.value(name, values)).max().unwrap_or(Value::Uniform);
        if operands != Value::ThreadIndex {
            return operands;
        }
        let number = instruction.read.last().and_then(|last| number(last));
        let of_the_warp = |opcode: &str, fits: fn(i64) -> bool| {
            instruction.is(opcode) && number.is_some_and(fits)
        };
        // A bit field: register, lowest bit, number of bits.
        let field = instruction.read.get(1).and_then(|lowest| self::number(lowest));
        if instruction.is("mov") {
            Value::ThreadIndex
        } else if instruction.is("bfe.u32") && field.is_some_and(|lowest| lowest >= 5)
            || of_the_warp("shr", |bits| bits >= 5)
            || of_the_warp("and", |mask| mask & 31 == 0)
            || of_the_warp("setp.lt", |bound| bound % 32 == 0)
            || of_the_warp("setp.ge", |bound| bound % 32 == 0)
            || of_the_warp("setp.gt", |bound| bound % 32 == 31)
            || of_the_warp("setp.le", |bound| bound % 32 == 31)
        {
            Value::Uniform
        } else {
            Value::Divergent
        }
    }

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for (number, block) in self.flow.blocks.iter().enumerate() {
            let mut values = self.entries[number].clone();
            let parted = self.apart.get(&number).copied();
            for instruction in &self.kernel.body[block.body.clone()] {
                let guard = instruction.guard.as_deref();
                let guarded = guard.is_some_and(|it| self.value(it, &values) != Value::Uniform);
                let branch_line = parted.or(guarded.then_some(instruction.line));
                if let (true, Some(branch_line)) =
                    (scope(instruction) == Some(self.scope), branch_line)
                {
                    let (kernel, opcode) = (self.kernel.name.clone(), instruction.opcode.clone());
                    found.push(Violation { kernel, opcode, line: instruction.line, branch_line });
                }
                self.execute(instruction, parted.is_some(), &mut values);
            }
        }
        found
    }
}

/// What an instruction reads, as text.
fn words(instruction: &PtxInstruction) -> Vec<&str> {
    instruction.read.iter().map(String::as_str).collect()
}

/// A decimal or hexadecimal number.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
