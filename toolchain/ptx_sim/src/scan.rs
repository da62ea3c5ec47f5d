// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX as statements, scopes and labels.

/// A piece of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece<'a> {
    /// `{` that is no list.
    Open,
    /// `}`
    Close,
    /// A label.
    Label(&'a str),
    /// What follows `.loc`.
    Line(&'a str),
    /// A statement, without its semicolon.
    Statement(&'a str),
}

/// An item of a module.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// A function: what stands before its body, and the body.
    Function(&'a str, &'a str),
    /// A variable, or a function that is declared only.
    Declaration(&'a str),
    /// What follows `.file`.
    File(&'a str),
    /// A section's name and what is in it.
    Section(&'a str, &'a str),
}

/// Without the comments that end lines; lines stay where they are.
pub fn without_comments(text: &str) -> String {
    let of_line = |line: &str| match line.find("//").filter(|_| !line.contains(".file")) {
        Some(at) => line[..at].to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(|line| of_line(line) + "\n").collect()
}

/// The items of a module.
pub fn items(text: &str) -> Vec<Item<'_>> {
    let (mut rest, mut all) = (text.trim_start(), Vec::new());
    while !rest.is_empty() {
        let line_end = rest.find('\n').unwrap_or(rest.len());
        let line = &rest[..line_end];
        let whole_line = [".version", ".target", ".address_size", ".file", ".loc"];
        let end = if whole_line.iter().any(|start| line.starts_with(start)) {
            if let Some(file) = line.strip_prefix(".file") {
                all.push(Item::File(file.trim()));
            }
            line_end
        } else if let Some(section) = rest.strip_prefix(".section") {
            let Some(open) = section.find('{') else { break };
            let close = closed(section, open);
            all.push(Item::Section(section[..open].trim(), &section[open + 1..close]));
            rest.len() - section.len() + close + 1
        } else if line.trim_end().ends_with(':') {
            line_end
        } else {
            let semicolon = rest.find(';').unwrap_or(rest.len());
            let open = rest.find('{').unwrap_or(rest.len());
            let is_function = |head: &str| head.contains(".entry") || head.contains(".func");
            if open < semicolon && is_function(&rest[..open]) {
                let close = closed(rest, open);
                all.push(Item::Function(rest[..open].trim(), &rest[open + 1..close]));
                close + 1
            } else {
                all.push(Item::Declaration(rest[..semicolon].trim()));
                semicolon + 1
            }
        };
        rest = rest.get(end..).unwrap_or_default().trim_start();
    }
    all
}

/// Where the brace at `open` is closed.
fn closed(text: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The pieces of a function's body.
pub fn pieces(body: &str) -> Vec<Piece<'_>> {
    let bytes = body.as_bytes();
    let (mut all, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let statement = body[start..at].trim();
        let end = at + 1;
        match bytes[at] {
            b'.' if statement.is_empty() && is_line(&body[at..]) => {
                let line_end = body[at..].find('\n').map_or(body.len(), |length| at + length);
                all.push(Piece::Line(body[at + 4..line_end].trim()));
                (at, start) = (line_end, line_end);
                continue;
            }
            b'{' if statement.is_empty() => {
                all.push(Piece::Open);
                start = end;
            }
            b'}' if statement.is_empty() => {
                all.push(Piece::Close);
                start = end;
            }
            b':' if bytes.get(end) != Some(&b':') && is_label(statement) => {
                all.push(Piece::Label(statement));
                start = end;
            }
            b';' => {
                if !statement.is_empty() {
                    all.push(Piece::Statement(statement));
                }
                start = end;
            }
            _ => {}
        }
        at = end;
    }
    all
}

/// Whether it is `.loc`, and not `.local`.
fn is_line(text: &str) -> bool {
    text.strip_prefix(".loc").is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

fn is_label(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_$%".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_lists_and_labels_are_told_apart() {
        let body = "$L1:\n\t.loc\t1 2 3\n\t{ .reg .pred p; @p ld.v2.b32 {%r1, %r2}, [%rd1]; }\n\
                    cp.async.bulk.shared::cluster.global [%r1], 4;\n";
        assert_eq!(
            pieces(body),
            [
                Piece::Label("$L1"),
                Piece::Line("1 2 3"),
                Piece::Open,
                Piece::Statement(".reg .pred p"),
                Piece::Statement("@p ld.v2.b32 {%r1, %r2}, [%rd1]"),
                Piece::Close,
                Piece::Statement("cp.async.bulk.shared::cluster.global [%r1], 4"),
            ]
        );
    }
}
