// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables: functions of one number by their values at some.

use std::path::Path;

use super::description::{Table, TableText};
use super::expression::{Node, Purpose, Scope};
use super::text::Text;
use files::io::columns::Columns;
use problem::Error;
use problem::error::Mistake;

/// The table of this name; files are looked for in `folder`.
///
/// # Errors
/// It has no values, arguments do not increase, or a number is not finite; those of files.
pub fn table(
    (name, text): &(Text, TableText),
    scope: &Scope,
    folder: &Path,
) -> Result<Table, Error> {
    match text {
        TableText::Points(table) => Ok(check(name, table)?),
        TableText::File { file, step, first } => {
            let rows = Columns::read(&folder.join(file.as_str()))?;
            match (rows.count(), step) {
                (1, Some(step)) => {
                    let increment = number(step, scope)?;
                    if increment <= 0.0 {
                        let what = format!("the step of a table's arguments is {increment}");
                        return Err(step.wrong(what).hint("give a number above 0").into());
                    }
                    let first = first.as_ref().map_or(Ok(0.0), |first| number(first, scope))?;
                    let values: Vec<f64> = rows.rows().map(|row| row[0]).collect();
                    let arguments = (0..values.len()).map(|row| first + row as f64 * increment);
                    Ok(Table { arguments: arguments.collect(), values })
                }
                (1, None) => {
                    let wrong = file.wrong("the file has values but no arguments");
                    let hint = "give the step between arguments: step = \"dt\", or step = 1 for a value for each n";
                    Err(wrong.hint(hint).into())
                }
                (2, None) => of_columns(&rows),
                (2, Some(step)) => {
                    let wrong = step.wrong("the file has the arguments in its first column");
                    Err(wrong.hint("leave this out").into())
                }
                (count, _) => {
                    let what =
                        format!("rows of {count} numbers; a table has an argument and a value");
                    Err(rows.refused(&what))
                }
            }
        }
    }
}

/// Arguments in the first column, values in the second.
fn of_columns(rows: &Columns) -> Result<Table, Error> {
    let column = |column: usize| rows.rows().map(|row| row[column]).collect::<Vec<f64>>();
    let (arguments, values) = (column(0), column(1));
    if let Some(row) = (1..arguments.len()).find(|row| arguments[*row] <= arguments[row - 1]) {
        let what = format!("{} does not increase; the arguments of a table must", arguments[row]);
        return Err(rows.wrong(row, &what));
    }
    Ok(Table { arguments, values })
}

fn number(text: &Text, scope: &Scope) -> Result<f64, Mistake> {
    match scope.number(text, Purpose::Constant)? {
        Node::Number(number) => Ok(number),
        _ => Err(text.wrong("this is no constant number")),
    }
}

fn check(name: &Text, table: &Table) -> Result<Table, Mistake> {
    let Table { arguments, values } = table;
    let finite = arguments.iter().chain(values).all(|number| number.is_finite());
    let increasing = arguments.windows(2).all(|pair| pair[0] < pair[1]);
    if arguments.len() == values.len() && !arguments.is_empty() && finite && increasing {
        return Ok(table.clone());
    }
    let what = format!("a table has {} arguments but {} values", arguments.len(), values.len());
    Err(name
        .wrong(what)
        .hint("give as many arguments as values, all finite, the arguments increasing"))
}
