// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as NetCDF files in the classic format, which xarray, Octave and the tools of weather and climate open: a header,
//! the coordinates, then the values of each field, all of them with the most significant byte first.
//!
//! The format is that of the "NetCDF Classic Format Specification" (Unidata): version 2 (64-bit offsets) where each field
//! has less than 4 GiB, else version 5 (64-bit sizes).

use std::io::{self, Write};

use super::FileFormat;
use crate::io::colours::PictureStyle;
use crate::io::content::{Content, ContentInfo};
use problem::values::Element;
use problem::{Dtype, Shape, Values, with_values};

/// Any number of fields on the points of a grid of up to three axes. f16 and bf16, which NetCDF lacks, are written as f32.
pub struct NetCdf;

/// The names of the axes, slowest first.
const AXES: [&str; 3] = ["z", "y", "x"];
/// Types of values.
const FLOAT: u32 = 5;
const DOUBLE: u32 = 6;
/// What lists begin with.
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

impl FileFormat for NetCdf {
    fn extensions(&self) -> &'static [&'static str] {
        &["nc"]
    }

    fn holds_many(&self) -> bool {
        true
    }

    fn bytes(&self, shape: Shape, dtype: Dtype, fields: usize) -> Option<u64> {
        let coordinates: usize = shape.axes().iter().sum();
        let values = padded(shape.points() as u64 * width(dtype));
        Some(fields as u64 * (values + 128) + 8 * coordinates as u64 + 1024)
    }

    fn write(&self, content: &mut Content, _: &PictureStyle, to: &mut dyn Write) -> io::Result<()> {
        let (dtype, about) = (content.dtype, content.about.clone());
        let bytes = content.shape.points() as u64 * width(dtype);
        to.write_all(&header(&about, dtype, bytes))?;
        for axis in about.layout.axes() {
            for place in coordinates(&about, axis) {
                to.write_all(&place.to_be_bytes())?;
            }
        }
        for field in 0..about.fields.len() {
            content.values(field, &mut |values| to.write_all(&big_endian(values)))?;
            to.write_all(&[0; 4][..(padded(bytes) - bytes) as usize])?;
        }
        Ok(())
    }
}

/// Bytes of a value.
fn width(dtype: Dtype) -> u64 {
    if dtype == Dtype::F64 { 8 } else { 4 }
}

/// Bytes with those that fill the last word.
fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(4)
}

/// Values as f8 or f4 with the most significant byte first.
fn big_endian(values: &Values) -> Vec<u8> {
    match values {
        Values::F64(values) => values.iter().flat_map(|value| value.to_be_bytes()).collect(),
        others => with_values!(others, values => {
            let wide = values.iter().map(|value| Element::to_f64(*value) as f32);
            wide.flat_map(f32::to_be_bytes).collect()
        }),
    }
}

/// Where the points of an axis lie.
fn coordinates(about: &ContentInfo, axis: usize) -> impl Iterator<Item = f64> {
    let layout = about.layout;
    let place = move |point: usize| layout.origin[axis] + point as f64 * layout.spacing[axis];
    (0..layout.extents[axis]).map(place)
}

/// All that comes before the values, of fields of so many bytes each.
fn header(about: &ContentInfo, dtype: Dtype, bytes: u64) -> Vec<u8> {
    let version = if padded(bytes) < 1 << 32 { 2 } else { 5 };
    // Where values begin depends on how long the header is, which does not depend on where they begin.
    let length = Header::new(version).text(about, dtype, bytes, 0).len() as u64;
    Header::new(version).text(about, dtype, bytes, length)
}

struct Header {
    version: u8,
    text: Vec<u8>,
}

impl Header {
    fn new(version: u8) -> Self {
        Self { version, text: vec![b'C', b'D', b'F', version] }
    }

    /// The header, after which values begin at this place of the file.
    fn text(mut self, about: &ContentInfo, dtype: Dtype, bytes: u64, mut begin: u64) -> Vec<u8> {
        let axes: Vec<usize> = about.layout.axes().collect();
        // There are no records, whose number may grow.
        self.count(0);
        self.list(DIMENSIONS, axes.len());
        for &axis in &axes {
            self.name(AXES[axis]);
            self.count(about.layout.extents[axis] as u64);
        }
        self.list(ATTRIBUTES, 1 + usize::from(about.time.is_some()));
        self.numbers("step", &[about.step as f64]);
        if let Some(time) = about.time {
            self.numbers("time", &[time]);
        }
        self.list(VARIABLES, axes.len() + about.fields.len());
        for (dimension, &axis) in axes.iter().enumerate() {
            let bytes = 8 * about.layout.extents[axis] as u64;
            self.variable(AXES[axis], &[dimension], DOUBLE, bytes, &mut begin);
        }
        let dimensions: Vec<usize> = (0..axes.len()).collect();
        let kind = if dtype == Dtype::F64 { DOUBLE } else { FLOAT };
        for name in &about.fields {
            self.variable(name, &dimensions, kind, bytes, &mut begin);
        }
        self.text
    }

    fn word(&mut self, word: u32) {
        self.text.extend(word.to_be_bytes());
    }

    /// A number of things, or of bytes.
    fn count(&mut self, count: u64) {
        match u32::try_from(count) {
            Ok(count) if self.version < 5 => self.word(count),
            _ => self.text.extend(count.to_be_bytes()),
        }
    }

    /// What a list of so many things begins with.
    fn list(&mut self, tag: u32, count: usize) {
        self.word(tag);
        self.count(count as u64);
    }

    fn name(&mut self, name: &str) {
        self.count(name.len() as u64);
        self.text.extend(name.as_bytes());
        self.text.resize(self.text.len().next_multiple_of(4), 0);
    }

    /// An attribute.
    fn numbers(&mut self, name: &str, numbers: &[f64]) {
        self.name(name);
        self.word(DOUBLE);
        self.count(numbers.len() as u64);
        self.text.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    }

    fn variable(
        &mut self,
        name: &str,
        dimensions: &[usize],
        kind: u32,
        bytes: u64,
        begin: &mut u64,
    ) {
        self.name(name);
        self.count(dimensions.len() as u64);
        dimensions.iter().for_each(|dimension| self.count(*dimension as u64));
        // It has no attributes.
        self.word(0);
        self.count(0);
        self.word(kind);
        self.count(padded(bytes));
        self.text.extend(begin.to_be_bytes());
        *begin += padded(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::{Grid, View};

    /// The file of a grid of 2 x 3 values of this type.
    fn file(dtype: Dtype) -> Vec<u8> {
        let grid = Grid::new(&[2, 3], (0..6).map(f64::from).collect::<Vec<_>>()).unwrap();
        let grids = [grid.stored_as(dtype).unwrap()];
        let layout = View::whole(grids[0].shape).layout([1.0, 2.5, 0.1]);
        let about = ContentInfo { fields: vec!["u".into()], step: 7, time: Some(0.5), layout };
        let (mut file, mut content) = (Vec::new(), Content::of_grids(about, &grids));
        NetCdf.write(&mut content, &PictureStyle::default(), &mut file).unwrap();
        assert!(file.len() as u64 <= NetCdf.bytes(grids[0].shape, dtype, 1).unwrap());
        file
    }

    #[test]
    fn values_lie_where_the_header_says() {
        for (dtype, width) in [(Dtype::F16, 4), (Dtype::F32, 4), (Dtype::F64, 8)] {
            let file = file(dtype);
            assert_eq!(&file[..4], b"CDF\x02");
            // The last variable's place ends the header: y and x have 5 numbers of 8 bytes, u 6 of its own.
            let begin = file.len() - 6 * width;
            let header = begin - 5 * 8;
            let place = u64::from_be_bytes(file[header - 8..header].try_into().unwrap());
            assert_eq!(place as usize, begin, "{dtype}");
            let x: Vec<f64> = file[header + 16..begin]
                .chunks(8)
                .map(|bytes| f64::from_be_bytes(bytes.try_into().unwrap()))
                .collect();
            assert_eq!(x, [0.0, 0.1, 0.2], "{dtype}");
            let last = &file[file.len() - width..];
            let last = match width {
                8 => f64::from_be_bytes(last.try_into().unwrap()),
                _ => f64::from(f32::from_be_bytes(last.try_into().unwrap())),
            };
            assert_eq!(last, 5.0, "{dtype}");
        }
    }

    #[test]
    fn large_fields_have_sizes_of_64_bits() {
        let layout = View::whole(Shape::new(&[70_000, 70_000]).unwrap()).layout([1.0; 3]);
        let about = ContentInfo { fields: vec!["u".into()], step: 0, time: None, layout };
        let bytes = 70_000 * 70_000 * 8;
        let text = header(&about, Dtype::F64, bytes);
        assert_eq!(&text[..4], b"CDF\x05");
        let [size, begin] = [16, 8]
            .map(|end| u64::from_be_bytes(text[text.len() - end..][..8].try_into().unwrap()));
        assert_eq!((size, begin), (bytes, text.len() as u64 + 2 * 70_000 * 8));
    }
}
