// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of instructions and the names that they use.

use crate::module::{Address, OperandSource, Slot, Special};
use std::collections::HashMap;

/// An operand, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A value.
    One(OperandSource),
    /// `{…}`; `_` is none.
    Several(Vec<Option<OperandSource>>),
    /// `_`
    Nowhere,
    /// Two results, `d|p`.
    Pair(Option<OperandSource>, Option<OperandSource>),
    /// `[…]` of memory.
    Memory(Address),
    /// `[…]` of parameters.
    Parameter(usize),
    /// `[map, {x, y}]`
    Box(Address, Vec<OperandSource>),
    /// `(…)`
    List(Vec<String>),
    /// A label or a function.
    Name(String),
}

/// What names stand for in a function.
#[derive(Default)]
pub struct Names<'a> {
    /// Registers by scope, the innermost last.
    pub registers: Vec<HashMap<String, u32>>,
    /// Families of them, such as `%r<8>`, with how many each has.
    pub families: Vec<HashMap<String, u32>>,
    pub count: u32,
    /// Parameters by scope.
    pub parameters: Vec<HashMap<String, Slot>>,
    pub parameter_bytes: usize,
    pub locals: HashMap<String, u32>,
    pub local_bytes: usize,
    pub globals: Option<&'a HashMap<String, usize>>,
    pub shared: Option<&'a HashMap<String, usize>>,
}

impl Names<'_> {
    /// A scope begins.
    pub fn open(&mut self) {
        self.registers.push(HashMap::new());
        self.families.push(HashMap::new());
        self.parameters.push(HashMap::new());
    }

    /// It ends.
    pub fn close(&mut self) {
        self.registers.pop();
        self.families.pop();
        self.parameters.pop();
    }

    /// New registers in the innermost scope, of a name with a number below `count` after it.
    pub fn declare_family(&mut self, name: &str, count: u32) {
        self.families.last_mut().expect("a scope").insert(name.to_owned(), count);
    }

    /// A new register of this name in the innermost scope.
    pub fn declare(&mut self, name: &str) -> u32 {
        let number = self.count;
        self.count += 1;
        self.registers.last_mut().expect("a scope").insert(name.to_owned(), number);
        number
    }

    /// The register of a name that was declared; one of a family, such as `%r7`, is there as soon as it is named.
    pub fn register(&mut self, name: &str) -> Option<u32> {
        let first = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let is_of = |families: &HashMap<String, u32>| {
            (first..name.len()).any(|at| {
                let own = name[at..].parse::<u32>();
                families.get(&name[..at]).is_some_and(|count| own.is_ok_and(|own| own < *count))
            })
        };
        for (registers, families) in self.registers.iter_mut().zip(&self.families).rev() {
            if let Some(found) = registers.get(name) {
                return Some(*found);
            }
            if is_of(families) {
                let number = self.count;
                self.count += 1;
                registers.insert(name.to_owned(), number);
                return Some(number);
            }
        }
        None
    }

    /// A new parameter in the innermost scope.
    pub fn parameter(&mut self, name: &str, bytes: usize, alignment: usize) -> Slot {
        let start = self.parameter_bytes.next_multiple_of(alignment.max(1));
        self.parameter_bytes = start + bytes;
        let slot = Slot { start, bytes };
        self.parameters.last_mut().expect("a scope").insert(name.to_owned(), slot);
        slot
    }

    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.parameters.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    pub fn source(&mut self, text: &str) -> Option<OperandSource> {
        let text = text.trim();
        if let Some(special) = special(text) {
            return Some(OperandSource::Special(special));
        }
        if let Some(number) = literal(text) {
            return Some(OperandSource::Bits(number));
        }
        if let Some(name) = text.strip_prefix('!') {
            return self.register(name).map(OperandSource::Not);
        }
        if let Some(register) = self.register(text) {
            return Some(OperandSource::Register(register));
        }
        let (name, distance) = match text.split_once('+') {
            Some((name, distance)) => (name.trim(), literal(distance.trim())? as i64),
            None => (text, 0),
        };
        let name = match name.strip_prefix("generic(") {
            Some(inner) => inner.trim_end_matches(')'),
            None => name,
        };
        if let Some(at) = self.locals.get(name) {
            return Some(OperandSource::Local(at.wrapping_add(distance as u32)));
        }
        if let Some(number) = self.shared.and_then(|all| all.get(name)) {
            return Some(OperandSource::Shared(*number as u32, distance));
        }
        let number = self.globals.and_then(|all| all.get(name))?;
        Some(OperandSource::Global(*number as u32, distance))
    }

    fn address(&mut self, text: &str) -> Option<Address> {
        let text = text.trim();
        let at = text.rfind(['+', '-']).filter(|at| *at > 0);
        let (base, distance) = match at {
            Some(at) => match literal(text[at..].trim_start_matches('+').trim()) {
                Some(distance) => (text[..at].trim_end_matches('+'), distance as i64),
                None => (text, 0),
            },
            None => (text, 0),
        };
        Some(Address { base: self.source(base.trim())?, distance })
    }

    fn operand(&mut self, text: &str) -> Option<Operand> {
        let text = text.trim();
        if text == "_" {
            return Some(Operand::Nowhere);
        }
        if let Some(inner) = text.strip_prefix('{') {
            let each = inner.trim_end_matches('}').split(',').map(str::trim);
            let each = each.filter(|it| !it.is_empty());
            let source = |it: &str| if it == "_" { Some(None) } else { self.source(it).map(Some) };
            return each.map(source).collect::<Option<_>>().map(Operand::Several);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.trim_end_matches(']');
            if let Some((map, coordinates)) = inner.split_once('{') {
                let map = self.address(map.trim().trim_end_matches(','))?;
                let each = coordinates.trim().trim_end_matches('}').split(',');
                let each: Option<Vec<_>> = each.map(|it| self.source(it)).collect();
                return each.map(|each| Operand::Box(map, each));
            }
            let (name, distance) = inner.split_once('+').unwrap_or((inner, "0"));
            if let Some(slot) = self.slot(name.trim()) {
                return Some(Operand::Parameter(slot.start + literal(distance.trim())? as usize));
            }
            return self.address(inner).map(Operand::Memory);
        }
        if let Some(inner) = text.strip_prefix('(') {
            let each = inner.trim_end_matches(')').split(',').map(|it| it.trim().to_owned());
            return Some(Operand::List(each.filter(|it| !it.is_empty()).collect()));
        }
        if let Some((first, second)) = text.split_once('|') {
            let mut one = |it: &str| if it == "_" { None } else { self.source(it) };
            return Some(Operand::Pair(one(first), one(second)));
        }
        match self.source(text) {
            Some(source) => Some(Operand::One(source)),
            None => Some(Operand::Name(text.to_owned())),
        }
    }

    /// The operands of an instruction, separated by commas.
    pub fn operands(&mut self, text: &str) -> Option<Vec<Operand>> {
        let (mut depth, mut start, mut all) = (0, 0, Vec::new());
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth -= 1,
                b',' if depth == 0 => {
                    all.push(self.operand(&text[start..at])?);
                    start = at + 1;
                }
                _ => {}
            }
        }
        if !text[start..].trim().is_empty() {
            all.push(self.operand(&text[start..])?);
        }
        Some(all)
    }
}

/// The register that an operand is.
pub fn register(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::One(OperandSource::Register(register)) => Some(*register),
        _ => None,
    }
}

/// The value that an operand is.
pub fn one(operand: &Operand) -> Option<OperandSource> {
    match operand {
        Operand::One(source) => Some(*source),
        _ => None,
    }
}

/// Registers that an operand names, to be set.
pub fn registers(operand: &Operand) -> Option<Vec<Option<u32>>> {
    let register = |source: &Option<OperandSource>| match source {
        None => Some(None),
        Some(OperandSource::Register(register)) => Some(Some(*register)),
        Some(_) => None,
    };
    match operand {
        Operand::One(OperandSource::Register(register)) => Some(vec![Some(*register)]),
        Operand::Nowhere => Some(vec![None]),
        Operand::Several(all) => all.iter().map(register).collect(),
        Operand::Pair(first, second) => [first, second].into_iter().map(register).collect(),
        _ => None,
    }
}

/// The values of an operand.
pub fn sources(operand: &Operand) -> Option<Vec<OperandSource>> {
    match operand {
        Operand::One(source) => Some(vec![*source]),
        Operand::Several(all) => all.iter().copied().collect(),
        _ => None,
    }
}

/// The bits of a number.
pub fn literal(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0f").or(text.strip_prefix("0d")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_end_matches('U');
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if sign { value.wrapping_neg() } else { value })
}

fn special(text: &str) -> Option<Special> {
    let (name, dimension) = match text.split_once('.') {
        Some((name, dimension)) => (name, ["x", "y", "z"].iter().position(|it| *it == dimension)?),
        None => (text, 3),
    };
    let has_dimensions = ["%tid", "%ctaid", "%ntid", "%nctaid"].contains(&name);
    if has_dimensions != (dimension < 3) {
        return None;
    }
    let dimension = dimension as u8;
    Some(match name {
        "%tid" => Special::Thread(dimension),
        "%ctaid" => Special::Block(dimension),
        "%ntid" => Special::Threads(dimension),
        "%nctaid" => Special::Blocks(dimension),
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%lanemask_lt" => Special::LaneMask(true, false, false),
        "%lanemask_le" => Special::LaneMask(true, true, false),
        "%lanemask_eq" => Special::LaneMask(false, true, false),
        "%lanemask_ge" => Special::LaneMask(false, true, true),
        "%lanemask_gt" => Special::LaneMask(false, false, true),
        "%clock" | "%clock64" | "%globaltimer" => Special::Clock,
        "%dynamic_smem_size" => Special::DynamicShared,
        _ => return None,
    })
}
