// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tokens to a tree, by the strength with which operators bind (Pratt, "Top down operator precedence", 1973).
//!
//! From weak to strong: `or`, `and`, `not`, comparisons (which do not chain), `+ -`, `* /`, the sign, `^` (from the
//! right). So `-x^2` is `-(x^2)`, and `2^-x` needs no parentheses.

use std::ops::Range;

use super::function::Function;
use super::lex::{Token, lex};
use crate::error::Mistake;
use crate::text::Text;

/// A part of an expression as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Syntax {
    /// What it is.
    pub kind: SyntaxKind,
    /// Its bytes in the whole text.
    pub at: Range<usize>,
}

/// What a part of an expression can be.
#[derive(Clone, Debug, PartialEq)]
pub enum SyntaxKind {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
    /// A name with arguments.
    Call(String, Vec<Syntax>),
    /// An operator with what it is applied to.
    Operator(Function, Vec<Syntax>),
}

/// Levels of parentheses, calls and operators that follow each other: enough for any formula, and little for
/// the stack.
const MOST_LEVELS: usize = 200;

/// The tree of an expression.
///
/// # Errors
/// It is not finished, or something stands where it cannot.
pub fn parse(text: &Text) -> Result<Syntax, Mistake> {
    let mut parser = Parser { text, tokens: lex(text)?, next: 0 };
    let syntax = parser.expression(0, 0)?;
    match parser.peek() {
        Token::End => Ok(syntax),
        _ => Err(parser.unexpected("an operator, or the end of the expression, is expected here")),
    }
}

struct Parser<'a> {
    text: &'a Text,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
}

/// Strength, function, and whether the operands are exchanged, of an operator between two operands; one
/// that is negated afterwards has the function that is.
fn infix(token: &Token) -> Option<(u8, Function, bool)> {
    use Function::{Add, And, Divide, Equal, Less, LessEqual, Multiply, Or, Power, Subtract};
    Some(match token {
        Token::Name(word) if word == "or" => (1, Or, false),
        Token::Name(word) if word == "and" => (2, And, false),
        Token::Symbol("<") => (4, Less, false),
        Token::Symbol("<=") => (4, LessEqual, false),
        Token::Symbol(">") => (4, Less, true),
        Token::Symbol(">=") => (4, LessEqual, true),
        Token::Symbol("==" | "!=") => (4, Equal, false),
        Token::Symbol("+") => (5, Add, false),
        Token::Symbol("-") => (5, Subtract, false),
        Token::Symbol("*") => (6, Multiply, false),
        Token::Symbol("/") => (6, Divide, false),
        Token::Symbol("^") => (8, Power, false),
        _ => return None,
    })
}

/// Strengths of what stands before its operand, and of the comparisons.
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SIGN: u8 = 7;
const POWER: u8 = 8;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn take(&mut self) -> (Token, Range<usize>) {
        let taken = self.tokens[self.next].clone();
        // The end stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        taken
    }

    fn unexpected(&self, expected: &str) -> Mistake {
        self.text.mistake(self.tokens[self.next].1.clone(), expected)
    }

    /// What binds at least so strongly.
    fn expression(&mut self, least: u8, level: usize) -> Result<Syntax, Mistake> {
        if level > MOST_LEVELS {
            let deep = self.unexpected("the expression is nested too deep here");
            return Err(deep.hint("give parts of it names, under [terms]"));
        }
        let mut left = self.operand(level)?;
        let mut count = 0;
        while let Some((strength, function, exchanged)) = infix(self.peek()) {
            if strength < least {
                break;
            }
            count += 1;
            if level + count > MOST_LEVELS {
                let long = self.unexpected("too many operators follow each other here");
                return Err(long.hint("give parts of it names, under [terms]"));
            }
            let (token, _) = self.take();
            let from_the_right = strength == POWER;
            let next = if from_the_right { SIGN } else { strength + 1 };
            let right = self.expression(next, level + count)?;
            if strength == COMPARISON && infix(self.peek()).is_some_and(|next| next.0 == strength) {
                let chained = self.unexpected("comparisons cannot follow each other");
                return Err(chained.hint("join two of them by 'and'"));
            }
            let both = left.at.start..right.at.end;
            let operands = if exchanged { vec![right, left] } else { vec![left, right] };
            left = Syntax { kind: SyntaxKind::Operator(function, operands), at: both.clone() };
            if token == Token::Symbol("!=") {
                let kind = SyntaxKind::Operator(Function::Not, vec![left]);
                left = Syntax { kind, at: both };
            }
        }
        Ok(left)
    }

    fn operand(&mut self, level: usize) -> Result<Syntax, Mistake> {
        let prefix = |function, operand: Syntax, start: usize| {
            let at = start..operand.at.end;
            Ok(Syntax { kind: SyntaxKind::Operator(function, vec![operand]), at })
        };
        let here = self.next;
        match self.take() {
            (Token::Number(number), at) => Ok(Syntax { kind: SyntaxKind::Number(number), at }),
            (Token::Symbol("-"), at) => {
                prefix(Function::Negate, self.expression(SIGN, level + 1)?, at.start)
            }
            (Token::Symbol("+"), _) => self.expression(SIGN, level + 1),
            (Token::Name(word), at) if word == "not" => {
                prefix(Function::Not, self.expression(NOT, level + 1)?, at.start)
            }
            (Token::Name(word), _) if word == "and" || word == "or" => {
                self.next = here;
                Err(self.unexpected(&format!("a value is expected before '{word}'")))
            }
            (Token::Name(name), at) if *self.peek() == Token::Symbol("(") => {
                let (arguments, end) = self.arguments(level + 1)?;
                Ok(Syntax { kind: SyntaxKind::Call(name, arguments), at: at.start..end })
            }
            (Token::Name(name), at) => Ok(Syntax { kind: SyntaxKind::Name(name), at }),
            (Token::Symbol("("), at) => {
                let inner = self.expression(0, level + 1)?;
                let end = self.close(at.clone())?;
                Ok(Syntax { at: at.start..end.end, ..inner })
            }
            _ => {
                self.next = here;
                Err(self.unexpected("a number, a name or ( is expected here"))
            }
        }
    }

    /// What stands in the parentheses of a call, and where they end.
    fn arguments(&mut self, level: usize) -> Result<(Vec<Syntax>, usize), Mistake> {
        let (_, open) = self.take();
        let mut arguments = Vec::new();
        if *self.peek() == Token::Symbol(")") {
            return Ok((arguments, self.take().1.end));
        }
        loop {
            arguments.push(self.expression(0, level)?);
            if *self.peek() != Token::Symbol(",") {
                return Ok((arguments, self.close(open)?.end));
            }
            self.take();
        }
    }

    /// The parenthesis that ends what this one began.
    fn close(&mut self, open: Range<usize>) -> Result<Range<usize>, Mistake> {
        match self.peek() {
            Token::Symbol(")") => Ok(self.take().1),
            Token::End => Err(self.text.mistake(open, "this ( is not closed")),
            _ => Err(self.unexpected("an operator or ) is expected here")),
        }
    }
}
