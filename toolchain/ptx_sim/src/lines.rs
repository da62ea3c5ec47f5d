// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source lines of instructions: which calls were inlined where, as the DWARF sections of PTX say.

use std::collections::HashMap;

/// A place in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The number of the file in the module.
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A function that was inlined: between these labels, called in this line.
#[derive(Clone, Debug, PartialEq)]
pub struct Inlined {
    /// Where its instructions are: from one label to another one.
    pub ranges: Vec<[String; 2]>,
    /// The call.
    pub call: SourceLine,
}

/// A datum of a section.
#[derive(Clone, Debug)]
enum Datum {
    Number(u64),
    Name(String),
}

/// A section's data by their offsets.
struct Section {
    /// Bytes, and at offsets of addresses their names.
    bytes: Vec<u8>,
    names: HashMap<usize, String>,
}

impl Section {
    fn read(text: &str) -> Self {
        let (mut bytes, mut names) = (Vec::new(), HashMap::new());
        for line in text.lines().map(str::trim).filter(|line| line.starts_with(".b")) {
            let Some((size, data)) = line.split_once(char::is_whitespace) else { continue };
            let size = size[2..].parse::<usize>().unwrap_or(8) / 8;
            let size = if size == 0 { 1 } else { size };
            for datum in data.split(',').map(|datum| parsed(datum.trim())) {
                let number = match datum {
                    Datum::Number(number) => number,
                    Datum::Name(name) => {
                        names.insert(bytes.len(), name);
                        0
                    }
                };
                bytes.extend(&number.to_le_bytes()[..size]);
            }
        }
        Self { bytes, names }
    }

    fn number(&self, at: &mut usize, size: usize) -> u64 {
        let mut number = [0; 8];
        let bytes = self.bytes.get(*at..*at + size).unwrap_or_default();
        number[..bytes.len()].copy_from_slice(bytes);
        *at += size;
        u64::from_le_bytes(number)
    }

    fn leb128(&self, at: &mut usize) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.number(at, 1);
            number |= (byte & 127) << shift;
            shift += 7;
            if byte & 128 == 0 || shift > 63 {
                return number;
            }
        }
    }
}

fn parsed(datum: &str) -> Datum {
    match datum.strip_prefix("0x") {
        Some(digits) => Datum::Number(u64::from_str_radix(digits, 16).unwrap_or(0)),
        None => match datum.parse::<i128>() {
            Ok(number) => Datum::Number(number as u64),
            // A difference of labels is a length, which is skipped.
            Err(_) => Datum::Name(datum.split(['-', '+']).next().unwrap_or(datum).to_owned()),
        },
    }
}

/// An abbreviation: its tag, whether it has children, and its attributes with their forms.
struct Abbreviation {
    tag: u64,
    attributes: Vec<[u64; 2]>,
}

const INLINED: u64 = 0x1d;
const LOW: u64 = 0x11;
const HIGH: u64 = 0x12;
const RANGES: u64 = 0x55;
const CALL_FILE: u64 = 0x58;
const CALL_LINE: u64 = 0x59;
const CALL_COLUMN: u64 = 0x57;

/// The functions that were inlined; those that are inlined into others come after them. Sections are given by name.
pub fn inlined(sections: &HashMap<String, &str>) -> Vec<Inlined> {
    let section = |name: &str| sections.get(name).map(|text| Section::read(text));
    let (Some(abbreviations), Some(info)) = (section(".debug_abbrev"), section(".debug_info"))
    else {
        return Vec::new();
    };
    let ranges = section(".debug_ranges");
    let abbreviations = all_abbreviations(&abbreviations);
    let (mut all, mut unit) = (Vec::new(), 0);
    while unit + 11 < info.bytes.len() {
        let mut at = unit;
        let end = unit + 4 + info.number(&mut at, 4) as usize;
        let version = info.number(&mut at, 2);
        if !(2..=4).contains(&version) {
            break;
        }
        at += 5;
        while at < end {
            let Some(of) = abbreviations.get(&info.leb128(&mut at)) else { continue };
            let Some(found) = entry(&info, &mut at, of, ranges.as_ref()) else { return all };
            if of.tag == INLINED {
                all.push(found);
            }
        }
        unit = end;
    }
    all
}

fn all_abbreviations(section: &Section) -> HashMap<u64, Abbreviation> {
    let (mut all, mut at) = (HashMap::new(), 0);
    while at < section.bytes.len() {
        let code = section.leb128(&mut at);
        if code == 0 {
            continue;
        }
        let tag = section.leb128(&mut at);
        at += 1;
        let mut attributes = Vec::new();
        loop {
            let attribute = [section.leb128(&mut at), section.leb128(&mut at)];
            if attribute == [0, 0] || at >= section.bytes.len() {
                break;
            }
            attributes.push(attribute);
        }
        all.insert(code, Abbreviation { tag, attributes });
    }
    all
}

/// Reads an entry, and what it says of an inlined function; nothing where it has a form that LLVM does not use here.
fn entry(
    info: &Section,
    at: &mut usize,
    of: &Abbreviation,
    ranges: Option<&Section>,
) -> Option<Inlined> {
    let mut found = Inlined { ranges: Vec::new(), call: SourceLine::default() };
    let (mut low, mut high) = (None, None);
    for [attribute, form] in &of.attributes {
        let name = info.names.get(at).cloned();
        let number = match form {
            0x01 | 0x07 => info.number(at, 8),
            0x06 | 0x0e | 0x13 | 0x17 => info.number(at, 4),
            0x05 => info.number(at, 2),
            0x0b | 0x0c => info.number(at, 1),
            0x0d | 0x0f => info.leb128(at),
            0x08 => {
                while info.number(at, 1) != 0 && *at < info.bytes.len() {}
                0
            }
            // A block, of so many bytes.
            0x0a => {
                *at += info.number(at, 1) as usize;
                0
            }
            0x19 => 1,
            _ => return None,
        };
        match *attribute {
            LOW => low = name,
            HIGH => high = name,
            RANGES => found.ranges = ranges.map(|it| all_ranges(it, number)).unwrap_or_default(),
            CALL_FILE => found.call.file = number as u32,
            CALL_LINE => found.call.line = number as u32,
            CALL_COLUMN => found.call.column = number as u32,
            _ => {}
        }
    }
    if let (Some(low), Some(high)) = (low, high) {
        found.ranges.push([low, high]);
    }
    Some(found)
}

fn all_ranges(section: &Section, at: u64) -> Vec<[String; 2]> {
    let (mut at, mut all) = (at as usize, Vec::new());
    while let (Some(low), Some(high)) = (section.names.get(&at), section.names.get(&(at + 8))) {
        all.push([low.clone(), high.clone()]);
        at += 16;
    }
    all
}
