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
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

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

/// What each register is at some point of the kernel, by its number.
type Values = Vec<Value>;

/// Where an operand's value comes from.
#[derive(Clone, Copy)]
enum Source {
    /// It is the same everywhere: a number, a name, a special register.
    Known(Value),
    /// A register, by its number.
    Register(usize),
}

/// The operands of an instruction.
struct Operands {
    read: Vec<Source>,
    written: Vec<usize>,
    guard: Option<Source>,
}

struct Analysis<'a> {
    kernel: &'a PtxKernel,
    scope: Scope,
    flow: Flow,
    post_dominators: Vec<BTreeSet<usize>>,
    /// Of each instruction.
    operands: Vec<Operands>,
    /// At the start of each block.
    entries: Vec<Values>,
    /// The blocks of which something was learnt since they were looked at.
    stale: Vec<bool>,
    /// The blocks between a divergent branch and where its ways meet, with the branch's line.
    apart: BTreeMap<usize, usize>,
    /// For each register, how many instructions write it.
    writers: Vec<usize>,
}

impl<'a> Analysis<'a> {
    fn new(kernel: &'a PtxKernel, scope: Scope) -> Self {
        let flow = Flow::new(kernel);
        let post_dominators = flow.post_dominators();
        let mut numbers = HashMap::new();
        for register in kernel.body.iter().flat_map(|instruction| &instruction.written) {
            let next = numbers.len();
            numbers.entry(register.as_str()).or_insert(next);
        }
        let source = |name: &String| match (special(name, scope), numbers.get(name.as_str())) {
            (Some(value), _) => Source::Known(value),
            (None, Some(&number)) => Source::Register(number),
            (None, None) => Source::Known(Value::Uniform),
        };
        let of = |instruction: &PtxInstruction| Operands {
            read: instruction.read.iter().map(source).collect(),
            written: instruction.written.iter().map(|name| numbers[name.as_str()]).collect(),
            guard: instruction.guard.as_ref().map(source),
        };
        let operands: Vec<Operands> = kernel.body.iter().map(of).collect();
        let mut writers = vec![0; numbers.len()];
        operands.iter().flat_map(|it| &it.written).for_each(|register| writers[*register] += 1);
        let entries = vec![vec![Value::Uniform; numbers.len()]; flow.blocks.len()];
        let stale = vec![true; flow.blocks.len()];
        let apart = BTreeMap::new();
        let mut analysis =
            Self { kernel, scope, flow, post_dominators, operands, entries, stale, apart, writers };
        while analysis.propagate() {}
        analysis
    }

    /// One round over all blocks; whether anything was learnt.
    fn propagate(&mut self) -> bool {
        for block in 0..self.flow.blocks.len() {
            if !std::mem::take(&mut self.stale[block]) {
                continue;
            }
            let mut values = self.entries[block].clone();
            let mut body = self.flow.blocks[block].body.clone();
            for index in body.clone() {
                self.execute(index, self.apart.contains_key(&block), &mut values);
            }
            let last = body.next_back();
            let guard = last.and_then(|last| self.operands[last].guard);
            if guard.is_some_and(|guard| value(guard, &values) != Value::Uniform) {
                let line = self.kernel.body[last.unwrap_or_default()].line;
                for inside in self.flow.region(block, &self.post_dominators) {
                    if let Entry::Vacant(place) = self.apart.entry(inside) {
                        place.insert(line);
                        self.stale[inside] = true;
                    }
                }
            }
            for &successor in &self.flow.blocks[block].successors {
                for (known, &value) in self.entries[successor].iter_mut().zip(&values) {
                    if value > *known {
                        *known = value;
                        self.stale[successor] = true;
                    }
                }
            }
        }
        self.stale.contains(&true)
    }

    /// What an instruction, by its number, does to the registers. Where lanes are apart, a register that other instructions write
    /// too will differ between those that came here and those that did not.
    fn execute(&self, index: usize, apart: bool, values: &mut Values) {
        let (result, operands) = (self.result(index, values), &self.operands[index]);
        for &register in &operands.written {
            let merged = apart && self.writers[register] > 1;
            // A guarded instruction may leave what was there.
            let kept = if operands.guard.is_some() { values[register] } else { Value::Uniform };
            values[register] = if merged { Value::Divergent } else { result.max(kept) };
        }
    }

    /// What an instruction computes.
    fn result(&self, index: usize, values: &Values) -> Value {
        let (instruction, operands) = (&self.kernel.body[index], &self.operands[index]);
        // What one lane of all 32 says.
        if instruction.opcode == "shfl.sync.idx.b32"
            && let [_, source, _, _] = operands.read[..]
            && instruction.read[2] == "31"
        {
            return value(source, values);
        }
        if FROM_ELSEWHERE.iter().any(|opcode| instruction.is(opcode)) {
            return Value::Divergent;
        }
        // An address that all lanes share holds one value; parameters are the same for all.
        let read = operands.read.iter().chain(&operands.guard);
        let all = read.map(|source| value(*source, values)).max().unwrap_or(Value::Uniform);
        if all != Value::ThreadIndex {
            return all;
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
            for index in block.body.clone() {
                let instruction = &self.kernel.body[index];
                let guard = self.operands[index].guard;
                let guarded = guard.is_some_and(|it| value(it, &values) != Value::Uniform);
                let branch_line = parted.or(guarded.then_some(instruction.line));
                if let (true, Some(branch_line)) =
                    (scope(instruction) == Some(self.scope), branch_line)
                {
                    let (kernel, opcode) = (self.kernel.name.clone(), instruction.opcode.clone());
                    found.push(Violation { kernel, opcode, line: instruction.line, branch_line });
                }
                self.execute(index, parted.is_some(), &mut values);
            }
        }
        found
    }
}

/// What a register is that no instruction writes, if it is one of the hardware's.
fn special(name: &str, scope: Scope) -> Option<Value> {
    match name {
        "%tid.x" if scope == Scope::Warp => Some(Value::ThreadIndex),
        "%warpid" if scope == Scope::Warp => Some(Value::Uniform),
        "%laneid" | "%warpid" | "%clock" | "%clock64" | "%globaltimer" => Some(Value::Divergent),
        _ if name.starts_with("%tid") || name.starts_with("%lanemask") => Some(Value::Divergent),
        _ => None,
    }
}

fn value(source: Source, values: &Values) -> Value {
    match source {
        Source::Known(value) => value,
        Source::Register(number) => values[number],
    }
}

/// A decimal or hexadecimal number.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
