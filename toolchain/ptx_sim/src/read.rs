// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX, read: one entry, registers, labels, and instructions on lines of their own.

use std::collections::HashMap;

/// What an instruction takes or gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(usize),
    /// Several of them.
    Vector(Vec<usize>),
    /// The bits of a number.
    Bits(u64),
    /// A place in memory: a register and a distance.
    Memory(usize, i64),
    /// A place in the parameters.
    Parameter(usize),
    /// The index of an instruction.
    Target(usize),
    /// `%ctaid.x`
    Block,
    /// `%tid.x`
    Thread,
    /// The address of the constants.
    Constants,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The predicate, and whether it must hold.
    pub guard: Option<(usize, bool)>,
    /// What it does.
    pub opcode: String,
    /// What it takes and gives, the latter first.
    pub operands: Vec<Operand>,
    /// Its line.
    line: String,
}

impl Instruction {
    /// As it was written.
    pub fn text(&self) -> String {
        self.line.clone()
    }
}

/// A kernel that was read.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) instructions: Vec<Instruction>,
    /// How many registers it has.
    pub(crate) registers: usize,
    /// The bytes of the constants before it.
    pub(crate) constants: Vec<u8>,
}

impl Program {
    /// Reads a text with one entry, whose parameters are named `parameters`, its shared memory `held_values` and its
    /// constants `two_by_pi`, each instruction and each label on a line of its own.
    ///
    /// # Panics
    /// The text is not of this form.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let (instructions, registers) = read(text);
        Self { instructions, registers, constants: constants(text) }
    }

    /// Bytes of the constants before the kernel.
    #[must_use]
    pub fn constants(&self) -> usize {
        self.constants.len()
    }
}

/// Registers by their names.
#[derive(Default)]
struct Names {
    registers: HashMap<String, usize>,
    labels: HashMap<String, usize>,
}

/// The constants before a kernel.
fn constants(text: &str) -> Vec<u8> {
    let line = text.lines().find(|line| line.starts_with(".const"));
    let list = line.and_then(|line| Some(line.split_once('{')?.1.trim_end_matches("};")));
    let words = list.into_iter().flat_map(|list| list.split(", "));
    let word = |word: &str| u64::from_str_radix(&word[2..], 16).expect("a hexadecimal number");
    words.flat_map(|text| word(text).to_le_bytes()).collect()
}

/// The instructions of a kernel, and how many registers it has.
fn read(text: &str) -> (Vec<Instruction>, usize) {
    let body = text[text.find(".entry").expect("an entry")..].split_once("{\n").expect("a body").1;
    let body = &body[..body.rfind('}').expect("its end")];
    let mut names = Names::default();
    let mut lines = Vec::new();
    for line in body.lines().map(str::trim).filter(|line| !line.starts_with(".reg")) {
        match line.strip_suffix(':') {
            Some(label) => {
                assert!(names.labels.insert(label.to_owned(), lines.len()).is_none(), "{label}");
            }
            None => lines.push(line.strip_suffix(';').expect("an instruction ends")),
        }
    }
    let instructions = lines.into_iter().map(|line| instruction(line, &mut names)).collect();
    let declared = body.lines().filter(|line| line.trim().starts_with(".reg"));
    let count = |line: &str| {
        let (_, rest) = line.split_once('<').expect("a count");
        rest.trim_end_matches([';', '>']).parse::<usize>().expect("a number")
    };
    assert!(names.registers.len() <= declared.map(count).sum(), "all registers are declared");
    (instructions, names.registers.len())
}

fn instruction(text: &str, names: &mut Names) -> Instruction {
    let line = text;
    let (guard, line) = match line.strip_prefix('@') {
        None => (None, line),
        Some(rest) => {
            let (register, rest) = rest.split_once(' ').expect("a guarded instruction");
            let guard = match register.strip_prefix('!') {
                Some(register) => (names.register(register), false),
                None => (names.register(register), true),
            };
            (Some(guard), rest)
        }
    };
    let (opcode, rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut operands = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() {
        let end = match rest.starts_with('{') {
            true => rest.find('}').expect("a list ends") + 1,
            false => rest.find(',').unwrap_or(rest.len()),
        };
        operands.push(names.operand(opcode, &rest[..end]));
        rest = rest[end..].trim_start_matches([',', ' ']);
    }
    Instruction { guard, opcode: opcode.to_owned(), operands, line: text.to_owned() }
}

impl Names {
    fn register(&mut self, name: &str) -> usize {
        assert!(name.starts_with('%'), "{name} is no register");
        let next = self.registers.len();
        *self.registers.entry(name.to_owned()).or_insert(next)
    }

    fn operand(&mut self, opcode: &str, text: &str) -> Operand {
        if let Some(list) = text.strip_prefix('{') {
            let list = list.trim_end_matches('}').split(", ");
            return Operand::Vector(list.map(|name| self.register(name)).collect());
        }
        if let Some(place) = text.strip_prefix('[') {
            let place = place.trim_end_matches(']');
            let (base, distance) = place.split_once('+').unwrap_or((place, "0"));
            let distance: i64 = distance.parse().expect("a distance");
            assert!(i32::try_from(distance).is_ok(), "distances have 32 bits: {text}");
            return match base {
                "parameters" => Operand::Parameter(distance as usize),
                register => Operand::Memory(self.register(register), distance),
            };
        }
        match text {
            "%ctaid.x" => Operand::Block,
            "%tid.x" => Operand::Thread,
            "two_by_pi" => Operand::Constants,
            // Shared memory begins at 0.
            "held_values" => Operand::Bits(0),
            label if opcode == "bra" => Operand::Target(self.labels[label]),
            register if register.starts_with('%') => Operand::Register(self.register(register)),
            number => Operand::Bits(match (number.get(..2), number.get(2..)) {
                (Some("0f" | "0d"), Some(digits)) => {
                    u64::from_str_radix(digits, 16).expect("bits of a number")
                }
                _ => number.parse::<i64>().expect("a number") as u64,
            }),
        }
    }
}
