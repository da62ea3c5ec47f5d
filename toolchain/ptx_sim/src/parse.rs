// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading of a module.

use crate::decode::decoded;
use crate::labels::Labels;
use crate::lines::{Inlined, SourceLine, inlined};
use crate::module::{Function, Instruction, Module, Op, Slot, Variable};
use crate::operands::{Names, Operand};
use crate::scan::{Item, Piece, items, pieces, without_comments};
use crate::types::PtxType;
use crate::variables::{ParseError, after, element, list, misread, variable};
use std::collections::HashMap;

type Numbers = HashMap<String, usize>;

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    /// What is no PTX. Instructions that are not known are found when they are executed.
    pub fn read(text: &str) -> Result<Self, ParseError> {
        let text = without_comments(text);
        let all = items(&text);
        let mut module = Self::default();
        let (mut sections, mut heads) = (HashMap::new(), Vec::new());
        for item in &all {
            match item {
                Item::File(file) => {
                    let (number, path) = file.split_once(' ').ok_or_else(|| misread(file))?;
                    let number = number.trim().parse().map_err(|_| misread(file))?;
                    let path = path.trim().split('"').nth(1).unwrap_or(path);
                    module.files.insert(number, path.to_owned());
                }
                Item::Section(name, text) => {
                    sections.insert((*name).to_owned(), *text);
                }
                Item::Declaration(text) => module.declare(text)?,
                Item::Function(head, body) => heads.push((*head, *body)),
            }
        }
        module.link_addresses(&all)?;
        let inlined = inlined(&sections);
        let mut lines = HashMap::new();
        for (number, (head, _)) in heads.iter().enumerate() {
            module.names.insert(name_of(head)?.to_owned(), number);
        }
        for (head, body) in heads {
            let function = Reader::new(&module, head)?.read(body, &inlined, &mut lines)?;
            module.functions.push(function);
        }
        let mut all: Vec<(SourceLine, u32)> = lines.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        module.lines = all.into_iter().map(|(line, _)| line).collect();
        Ok(module)
    }

    /// Adds a variable; of functions nothing.
    fn declare(&mut self, text: &str) -> Result<(), ParseError> {
        let Some((variable, is_shared)) = variable(text)? else { return Ok(()) };
        let variables = if is_shared { &mut self.shared } else { &mut self.globals };
        if !variables.iter().any(|it| it.name == variable.name) {
            variables.push(variable);
        }
        Ok(())
    }

    /// Fills in the addresses that variables hold.
    fn link_addresses(&mut self, items: &[Item<'_>]) -> Result<(), ParseError> {
        let numbers = numbers(&self.globals);
        for item in items {
            let Item::Declaration(text) = item else { continue };
            let Some((head, values)) = text.split_once('=') else { continue };
            let Some((found, false)) = variable(head)? else { continue };
            let size = element(head).map_or(1, PtxType::bytes);
            let mut addresses = Vec::new();
            for (at, value) in list(values).enumerate() {
                let symbol = value.trim_start_matches("generic(").trim_end_matches(')');
                if let Some(number) = numbers.get(symbol) {
                    addresses.push((at * size, *number));
                }
            }
            let variable = self.globals.iter_mut().find(|it| it.name == found.name);
            variable.expect("declared").addresses = addresses;
        }
        Ok(())
    }
}

fn numbers(variables: &[Variable]) -> Numbers {
    variables.iter().enumerate().map(|(number, it)| (it.name.clone(), number)).collect()
}

/// The name of a function, after what it returns.
fn name_of(head: &str) -> Result<&str, ParseError> {
    let at = head.find(".entry").map(|at| at + 6).or(head.find(".func").map(|at| at + 5));
    let rest = head[at.ok_or_else(|| misread(head))?..].trim_start();
    let rest = match rest.starts_with('(') {
        true => rest[rest.find(')').ok_or_else(|| misread(head))? + 1..].trim_start(),
        false => rest,
    };
    Ok(rest.split(|it: char| it == '(' || it.is_whitespace()).next().unwrap_or(rest))
}

/// The reading of one function.
struct Reader<'a> {
    module: &'a Module,
    function: Function,
    globals: Numbers,
    shared: Numbers,
    head: &'a str,
}

impl<'a> Reader<'a> {
    fn new(module: &'a Module, head: &'a str) -> Result<Self, ParseError> {
        let is_entry = head.contains(".entry");
        let function =
            Function { name: name_of(head)?.to_owned(), is_entry, ..Function::default() };
        let (globals, shared) = (numbers(&module.globals), numbers(&module.shared));
        Ok(Self { module, function, globals, shared, head })
    }

    fn read(
        mut self,
        body: &str,
        inlined: &[Inlined],
        lines: &mut HashMap<SourceLine, u32>,
    ) -> Result<Function, ParseError> {
        let (globals, shared) =
            (std::mem::take(&mut self.globals), std::mem::take(&mut self.shared));
        let mut names =
            Names { globals: Some(&globals), shared: Some(&shared), ..Names::default() };
        names.open();
        self.parameters(&mut names)?;
        let (mut labels, mut tables) = (Labels::new(), Labels::new());
        let mut jumps: Vec<(usize, usize, String)> = Vec::new();
        let (mut line, mut own) = (SourceLine::default(), Vec::new());
        let mut table = None;
        for piece in pieces(body) {
            match piece {
                Piece::Open => {
                    names.open();
                    labels.open();
                    tables.open();
                }
                Piece::Close => {
                    names.close();
                    labels.close();
                    tables.close();
                }
                Piece::Label(label) => {
                    labels.insert(label, self.function.code.len())?;
                    table = Some(label.to_owned());
                }
                Piece::Line(text) => {
                    let mut each = text.split(|it: char| !it.is_ascii_digit()).map(str::parse);
                    let mut next = || each.next().and_then(Result::ok).unwrap_or(0);
                    let found = SourceLine { file: next(), line: next(), column: next() };
                    // Line 0 is none.
                    line = if found.line == 0 { line } else { found };
                }
                Piece::Statement(text) if text.starts_with(".branchtargets") => {
                    let targets = list(&text[14..]).map(str::to_owned).collect::<Vec<_>>();
                    tables.insert(&table.take().unwrap_or_default(), targets)?;
                }
                Piece::Statement(text) if text.starts_with('.') => directive(&mut names, text)?,
                Piece::Statement(text) => {
                    let at = self.function.code.len();
                    if let Some(target) = self.instruction(&mut names, text)? {
                        jumps.push((at, labels.inner, target));
                    }
                    own.push(line);
                }
            }
        }
        for (at, scope, target) in jumps {
            let find = |label: &str| labels.find(scope, label).copied();
            match &mut self.function.code[at].op {
                Op::Jump(to) => *to = find(&target)?,
                Op::JumpIndexed { targets, .. } => {
                    let table = tables.find(scope, &target)?;
                    *targets = table.iter().map(|it| find(it)).collect::<Result<_, _>>()?;
                }
                _ => {}
            }
        }
        let labels = labels.all().map(|(label, at)| (label.clone(), *at)).collect();
        self.lines(own, inlined, &labels, lines);
        self.function.registers = names.count as usize;
        self.function.parameter_bytes = names.parameter_bytes;
        self.function.local_bytes = names.local_bytes;
        Ok(self.function)
    }

    /// Declares what the function takes and returns.
    fn parameters(&mut self, names: &mut Names<'_>) -> Result<(), ParseError> {
        let at = self.head.find(&self.function.name).expect("found before");
        let (before, rest) = self.head.split_at(at);
        let take = |text: &str, names: &mut Names<'_>| -> Result<Vec<Slot>, ParseError> {
            let Some((_, inner)) = text.split_once('(') else { return Ok(Vec::new()) };
            let inner = inner.split(')').next().unwrap_or(inner);
            let each = inner.split(',').map(str::trim).filter(|it| !it.is_empty());
            each.map(|it| parameter(names, it)).collect()
        };
        self.function.parameters = take(rest, names)?;
        self.function.results = take(before, names)?;
        Ok(())
    }

    /// Adds an instruction; gives the label that it jumps to.
    fn instruction(
        &mut self,
        names: &mut Names<'_>,
        text: &str,
    ) -> Result<Option<String>, ParseError> {
        let (guard, rest) = match text.strip_prefix('@') {
            None => (None, text),
            Some(rest) => {
                let end = rest.find(char::is_whitespace).ok_or_else(|| misread(text))?;
                let (name, wanted) = match rest[..end].strip_prefix('!') {
                    Some(name) => (name, false),
                    None => (&rest[..end], true),
                };
                let register = names.register(name).ok_or_else(|| misread(text))?;
                (Some((register, wanted)), rest[end..].trim_start())
            }
        };
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (opcode, rest) = (&rest[..end], rest[end..].trim());
        let name = opcode.split('.').next().unwrap_or(opcode);
        let mut target = None;
        let op = match name {
            "bra" => {
                target = Some(rest.to_owned());
                Op::Jump(0)
            }
            "brx" => {
                let (index, table) = rest.split_once(',').ok_or_else(|| misread(text))?;
                target = Some(table.trim().to_owned());
                let index = names.source(index).ok_or_else(|| misread(text))?;
                Op::JumpIndexed { index, targets: Vec::new() }
            }
            "call" => self.call(names, rest).unwrap_or_else(|| Op::Unknown(text.to_owned())),
            "ret" => Op::Return,
            "exit" => Op::Exit,
            "trap" | "brkpt" => Op::Trap,
            "pragma" => Op::Nothing,
            _ => {
                let operands = names.operands(rest);
                let op = operands.and_then(|operands| decoded(opcode, &operands));
                op.unwrap_or_else(|| Op::Unknown(text.to_owned()))
            }
        };
        self.function.code.push(Instruction { guard, op, line: 0 });
        self.function.texts.push(text.into());
        Ok(target)
    }

    fn call(&self, names: &mut Names<'_>, text: &str) -> Option<Op> {
        let mut operands = names.operands(text)?;
        let result = match operands.first()? {
            Operand::List(list) => {
                let slot = names.slot(list.first()?);
                operands.remove(0);
                slot
            }
            _ => None,
        };
        let Operand::Name(name) = operands.first()? else { return None };
        let arguments = match operands.get(1) {
            Some(Operand::List(list)) => {
                list.iter().map(|it| names.slot(it)).collect::<Option<_>>()?
            }
            _ => Vec::new(),
        };
        Some(match self.module.names.get(name) {
            Some(function) => Op::Call { function: *function, arguments, result },
            None => Op::CallExternal { name: name.clone(), arguments },
        })
    }

    /// Gives each instruction the line that a reader of the kernel knows it by.
    fn lines(
        &mut self,
        own: Vec<SourceLine>,
        inlined: &[Inlined],
        labels: &Numbers,
        lines: &mut HashMap<SourceLine, u32>,
    ) {
        // Those inlined into others come after them, so that the innermost call is pushed last.
        let mut calls = vec![Vec::new(); own.len()];
        for Inlined { ranges, call } in inlined {
            for [low, high] in ranges {
                let (Some(low), Some(high)) = (labels.get(low), labels.get(high)) else { continue };
                for all in calls.get_mut(*low..(*high).min(own.len())).unwrap_or_default() {
                    all.push(*call);
                }
            }
        }
        for ((own, calls), instruction) in own.into_iter().zip(calls).zip(&mut self.function.code) {
            let is_library = |line: &SourceLine| {
                self.module.files.get(&line.file).is_none_or(|path| is_library(path))
            };
            let mut outwards = calls.iter().rev();
            let line = if is_library(&own) {
                outwards.find(|line| !is_library(line)).or(calls.first()).copied().unwrap_or(own)
            } else {
                own
            };
            let number = lines.len() as u32;
            instruction.line = *lines.entry(line).or_insert(number);
        }
    }
}

/// Whether a source is that of a library under kernels, whose lines say little to who wrote one.
fn is_library(path: &str) -> bool {
    let libraries = ["/library/core/", "/library/stdarch/", "/cuda_std/src/", "/stdarch/crates/"];
    libraries.iter().any(|folder| path.contains(folder))
}

fn parameter(names: &mut Names<'_>, text: &str) -> Result<Slot, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ty = words.iter().find_map(|word| PtxType::of(word.strip_prefix('.')?));
    let size = ty.ok_or_else(|| misread(text))?.bytes();
    let declared = words.last().ok_or_else(|| misread(text))?;
    let (name, count) = match declared.split_once('[') {
        Some((name, count)) => (name, count.trim_end_matches(']').parse().unwrap_or(0)),
        None => (*declared, 1),
    };
    // `.ptr .align 1` is said of what it points to.
    let alignment = match words.contains(&".ptr") {
        true => size,
        false => after(&words, ".align").unwrap_or(size),
    };
    Ok(names.parameter(name, count * size, alignment))
}

/// Declares registers, parameters of calls and local memory.
fn directive(names: &mut Names<'_>, text: &str) -> Result<(), ParseError> {
    let kind = text.split_whitespace().next().unwrap_or(text);
    match kind {
        ".reg" => {
            let after_type = text[4..].trim_start();
            let rest = after_type.split_once(char::is_whitespace).map_or("", |it| it.1);
            for name in rest.split(',').map(str::trim) {
                match name.split_once('<') {
                    None => drop(names.declare(name)),
                    Some((family, count)) => {
                        let count = count.trim_end_matches('>').trim().parse();
                        names.declare_family(family, count.map_err(|_| misread(text))?);
                    }
                }
            }
        }
        ".param" => drop(parameter(names, text)?),
        ".local" => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let declared = words.last().ok_or_else(|| misread(text))?;
            let size = element(text).map_or(1, PtxType::bytes);
            let (name, count) = declared.split_once('[').unwrap_or((declared, "1]"));
            let count: usize = count.trim_end_matches(']').parse().map_err(|_| misread(text))?;
            let alignment = after(&words, ".align").unwrap_or(size);
            let start = names.local_bytes.next_multiple_of(alignment);
            names.locals.insert(name.to_owned(), start as u32);
            names.local_bytes = start + count * size;
        }
        _ => {}
    }
    Ok(())
}
