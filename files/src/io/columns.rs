// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of a few numbers each, such as places or points of a curve: a `.csv` text or a `.npy` array.
//!
//! In a text cells are parted by commas, else by semicolons, else by blanks. Empty lines and what follows a `#` are left out, and so is
//! a first line without a number.

use std::path::{Path, PathBuf};

use problem::Error;

use super::npy;

/// The numbers of a row, and the line of a text in which it stands.
type Row = (Option<usize>, Vec<f64>);

/// Rows of as many numbers each.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    path: PathBuf,
    rows: Vec<Row>,
}

/// Whether a name is that of such a file.
#[must_use]
pub fn is_file(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| it.eq_ignore_ascii_case("csv") || it.eq_ignore_ascii_case("npy"))
}

impl Columns {
    /// Reads a file: an array of one axis has one column, one of two axes a row for each row.
    ///
    /// # Errors
    /// [`Error::Columns`] with the line or row: what stands there is no finite number, or the row is longer or shorter than the first
    /// one; [`Error::Read`] and those of arrays.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let is_array = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("npy"));
        let rows = if is_array { array(path)? } else { text(path)? };
        let all = Self { path: path.to_owned(), rows };
        let Some((_, first)) = all.rows.first() else {
            return Err(bad(path, "there are no numbers in it".to_owned()));
        };
        for (row, (_, numbers)) in all.rows.iter().enumerate() {
            if numbers.len() != first.len() {
                let (found, expected) = (numbers.len(), first.len());
                return Err(
                    all.wrong(row, &format!("{found} numbers, the first row has {expected}"))
                );
            }
            if let Some(number) = numbers.iter().find(|it| !it.is_finite()) {
                return Err(all.wrong(row, &format!("{number} is not finite")));
            }
        }
        Ok(all)
    }

    /// Numbers of a row.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows[0].1.len()
    }

    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.rows.iter().map(|(_, numbers)| numbers.as_slice())
    }

    /// What is wrong with a row, which is counted from 0.
    #[must_use]
    pub fn wrong(&self, row: usize, what: &str) -> Error {
        let place = match self.rows[row].0 {
            Some(line) => format!("line {line}"),
            None => format!("row {row}, counted from 0"),
        };
        bad(&self.path, format!("{place}: {what}"))
    }

    /// What is wrong with the file.
    #[must_use]
    pub fn refused(&self, what: &str) -> Error {
        bad(&self.path, what.to_owned())
    }
}

fn bad(path: &Path, reason: String) -> Error {
    Error::Columns { path: path.to_owned(), reason }
}

fn array(path: &Path) -> Result<Vec<Row>, Error> {
    let axes = npy::axes(path)?;
    let grid = npy::read_grid(path, if axes == 1 { 1 } else { 2 })?;
    let [_, _, last] = grid.shape.extents();
    let columns = if axes == 1 { 1 } else { last };
    let values: Vec<f64> = (0..grid.shape.points()).map(|at| grid.get(at)).collect();
    Ok(values.chunks(columns).map(|row| (None, row.to_vec())).collect())
}

fn text(path: &Path) -> Result<Vec<Row>, Error> {
    let bytes =
        std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let (mut rows, mut is_first) = (Vec::new(), true);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let cells: Vec<&str> = match [',', ';'].into_iter().find(|mark| line.contains(*mark)) {
            Some(mark) => line.split(mark).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let numbers = || cells.iter().map(|cell| cell.parse::<f64>());
        let is_head = std::mem::take(&mut is_first) && numbers().all(|it| it.is_err());
        if is_head {
            continue;
        }
        let found: Result<Vec<f64>, _> = numbers().collect();
        match found {
            Ok(found) => rows.push((Some(number), found)),
            Err(_) => {
                let cell = numbers().zip(&cells).find(|(number, _)| number.is_err());
                let cell = cell.map_or("", |(_, cell)| cell);
                return Err(bad(path, format!("line {number}: '{cell}' is no number")));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &[u8]) -> Result<Columns, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Columns::read(&path)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), name))
    }

    #[test]
    fn texts_have_rows_of_numbers() {
        for text in [
            "1,2\n3,4\n",
            "y, x\n1, 2\n\n3, 4 # the last one",
            "# places\n1 2\n3\t4",
            "\u{feff}y;x\r\n1;2\r\n3;4\r\n",
        ] {
            let columns = read("a.csv", text.as_bytes()).unwrap();
            assert_eq!(columns.count(), 2);
            assert_eq!(columns.rows().collect::<Vec<_>>(), [[1.0, 2.0], [3.0, 4.0]]);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("1,2\n3,b\n", "a.csv: line 2: 'b' is no number"),
            ("y,x\n1,2\n\n3\n", "a.csv: line 4: 1 numbers, the first row has 2"),
            ("1,,2\n", "a.csv: line 1: '' is no number"),
            ("1,inf\n", "a.csv: line 1: inf is not finite"),
            ("y,x\n", "a.csv: there are no numbers in it"),
        ] {
            let error = read("a.csv", text.as_bytes()).unwrap_err();
            assert_eq!(error, expected, "{text}");
        }
    }

    /// An array of f64 of this shape, as numpy writes it.
    fn array(shape: &str, values: &[f64]) -> Vec<u8> {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let header = format!("{header:<117}\n");
        let start = [&b"\x93NUMPY\x01\x00"[..], &118u16.to_le_bytes(), header.as_bytes()].concat();
        start.into_iter().chain(values.iter().flat_map(|value| value.to_le_bytes())).collect()
    }

    #[test]
    fn arrays_have_one_column_or_several() {
        let one = read("a.npy", &array("(3,)", &[1.0, 2.0, 3.0])).unwrap();
        assert_eq!(one.rows().collect::<Vec<_>>(), [[1.0], [2.0], [3.0]]);
        let two = read("a.npy", &array("(2, 2)", &[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert_eq!(two.rows().collect::<Vec<_>>(), [[1.0, 2.0], [3.0, 4.0]]);
        let wrong = read("a.npy", &array("(2, 1)", &[1.0, f64::NAN])).unwrap_err();
        assert_eq!(wrong, "a.npy: row 1, counted from 0: NaN is not finite");
    }
}
