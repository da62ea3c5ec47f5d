// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX text to kernels and instructions: as much as the checks need.

/// An entry point and its body.
#[derive(Clone, Debug)]
pub struct PtxKernel {
    /// Its name.
    pub name: String,
    /// Instructions and labels in order.
    pub body: Vec<PtxInstruction>,
}

/// One instruction, or a label, which has an empty opcode.
#[derive(Clone, Debug, PartialEq)]
pub struct PtxInstruction {
    /// Line in the PTX text, from 1.
    pub line: usize,
    /// The label, if this is one.
    pub label: Option<String>,
    /// The register that guards it, as in `@%p1 bra`.
    pub guard: Option<String>,
    /// Such as `setp.ne.b32`.
    pub opcode: String,
    /// What is written: the registers of the first operand, unless that is an address.
    pub written: Vec<String>,
    /// The registers, symbols and numbers of all other operands.
    pub read: Vec<String>,
}

impl PtxInstruction {
    /// Whether the opcode starts with these dotted parts: `mma.sp` is one of `mma.sp::x.sync`.
    #[must_use]
    pub fn is(&self, opcode: &str) -> bool {
        let rest = self.opcode.strip_prefix(opcode);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
    }
}

/// The kernels of a module.
#[must_use]
pub fn kernels(ptx: &str) -> Vec<PtxKernel> {
    let mut kernels: Vec<PtxKernel> = Vec::new();
    let mut depth = 0;
    for (index, text) in ptx.lines().enumerate() {
        let text = text.split("//").next().unwrap_or_default().trim();
        if let Some((_, rest)) = text.split_once(".entry ") {
            let end = rest.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(rest.len());
            kernels.push(PtxKernel { name: rest[..end].to_owned(), body: Vec::new() });
        }
        // Braces that span lines bound a body or a call; those of one line are scopes or vectors.
        let (opened, closed) = (text.matches('{').count(), text.matches('}').count());
        if let (1.., Some(kernel)) = (depth, kernels.last_mut()) {
            kernel.body.extend(statements(text).flat_map(|text| instruction(text, index + 1)));
        }
        depth = depth + opened - closed;
    }
    kernels
}

/// The statements of a line; the braces of a scope around them are dropped.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    let scope = text.starts_with('{');
    let text = if scope { text.trim_matches(['{', '}', ' ']) } else { text };
    text.split(';').map(str::trim).filter(|text| !text.is_empty() && *text != "}")
}

/// A label, an instruction, a label and an instruction, or nothing, for a directive.
fn instruction(text: &str, line: usize) -> Vec<PtxInstruction> {
    let empty = PtxInstruction {
        line,
        label: None,
        guard: None,
        opcode: String::new(),
        written: Vec::new(),
        read: Vec::new(),
    };
    let mut found = Vec::new();
    let mut text = text;
    let first = text.split(char::is_whitespace).next().unwrap_or_default();
    if let Some(label) = first.strip_suffix(':') {
        found.push(PtxInstruction { label: Some(label.to_owned()), ..empty.clone() });
        text = text[first.len()..].trim();
    }
    if text.is_empty() || text.starts_with('.') {
        return found;
    }
    let mut guard = None;
    if let Some(rest) = text.strip_prefix('@') {
        let (register, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        guard = Some(register.trim_start_matches('!').to_owned());
        text = rest.trim();
    }
    let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands = operands.trim();
    let writes = !operands.starts_with('[')
        && !["bra", "bar", "barrier"]
            .iter()
            .any(|&op| opcode == op || opcode.starts_with(&format!("{op}.")));
    // The first operand: a vector in braces, or up to the first comma.
    let end = match operands.strip_prefix('{').and_then(|vector| vector.find('}')) {
        Some(end) => end + 2,
        None => operands.find(',').unwrap_or(operands.len()),
    };
    let (first, others) = operands.split_at(if writes { end } else { 0 });
    found.push(PtxInstruction {
        guard,
        opcode: opcode.to_owned(),
        written: names(first),
        read: names(others),
        ..empty
    });
    found
}

/// Registers, symbols and numbers.
fn names(text: &str) -> Vec<String> {
    let separates = |c: char| c.is_whitespace() || ",|{}[]+!".contains(c);
    text.split(separates).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
