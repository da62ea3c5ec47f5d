// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as VTK's images, which ParaView opens: a header in XML, then the values of each field as they are, behind
//! their number of bytes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};

use super::FileFormat;
use crate::io::colours::PictureStyle;
use crate::io::content::{Content, ContentInfo};
use crate::io::{npy, positioned};
use problem::{Dtype, Region, Shape, ViewLayout};

/// Any number of fields on the points of a grid of up to three axes. f16 and bf16, which VTK lacks, are written
/// as f32.
pub struct Vti;

/// What follows the values.
const END: &[u8] = b"\n  </AppendedData>\n</VTKFile>\n";

impl FileFormat for Vti {
    fn extensions(&self) -> &'static [&'static str] {
        &["vti"]
    }

    fn holds_many(&self) -> bool {
        true
    }

    fn index(&self) -> Option<&'static str> {
        Some("pvd")
    }

    fn bytes(&self, shape: Shape, dtype: Dtype, fields: usize) -> Option<u64> {
        Some(fields as u64 * (bytes_of(shape.points(), dtype) + 8 + 128) + 1024)
    }

    fn write(&self, content: &mut Content, _: &PictureStyle, to: &mut dyn Write) -> io::Result<()> {
        let (dtype, about) = (content.dtype, content.about.clone());
        let heading = Heading { about: &about, dtype, of: about.layout.region() };
        to.write_all(heading.text().as_bytes())?;
        let bytes = heading.array_bytes();
        for field in 0..about.fields.len() {
            to.write_all(&bytes.to_le_bytes())?;
            content.values(field, &mut |values| npy::write_wide(to, values))?;
        }
        to.write_all(END)
    }
}

/// What is said of an image before its values.
pub struct Heading<'a> {
    /// Its fields, and when.
    pub about: &'a ContentInfo,
    /// The type that they have where they are computed.
    pub dtype: Dtype,
    /// Which points of the grid it is of.
    pub of: Region,
}

impl Heading<'_> {
    /// Makes a file of one field but for its values, and returns where these begin.
    ///
    /// # Errors
    /// The system refuses.
    pub fn begin(&self, mut file: &File) -> io::Result<u64> {
        let (text, bytes) = (self.text(), self.array_bytes());
        file.write_all(text.as_bytes())?;
        file.write_all(&bytes.to_le_bytes())?;
        let start = text.len() as u64 + 8;
        positioned::write(file, END, start + bytes)?;
        Ok(start)
    }

    /// Bytes of the values of a field.
    fn array_bytes(&self) -> u64 {
        bytes_of(self.of.points(), self.dtype)
    }

    fn text(&self) -> String {
        let (extent, kind, about) = (extent(self.of), kind(self.dtype), self.about);
        let mut arrays = String::new();
        for (field, name) in about.fields.iter().enumerate() {
            let offset = field as u64 * (self.array_bytes() + 8);
            // Names of fields are those of a language's variables: nothing in them has to be escaped.
            writeln!(
                arrays,
                r#"        <DataArray type="{kind}" Name="{name}" format="appended" offset="{offset}"/>"#
            )
            .expect("a string takes any text");
        }
        let value = about.time.unwrap_or(about.step as f64);
        let first = about.fields.first().map_or("", String::as_str);
        let lattice = lattice(&about.layout);
        format!(
            r#"<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{extent}" {lattice}>
    <FieldData>
      <DataArray type="Float64" Name="TimeValue" NumberOfTuples="1" format="ascii">{value}</DataArray>
    </FieldData>
    <Piece Extent="{extent}">
      <PointData Scalars="{first}">
{arrays}      </PointData>
    </Piece>
  </ImageData>
  <AppendedData encoding="raw">
   _"#
        )
    }
}

/// Bytes of so many values.
fn bytes_of(points: usize, dtype: Dtype) -> u64 {
    points as u64 * if dtype == Dtype::F64 { 8 } else { 4 }
}

/// The first and the last point along x, y and z.
pub fn extent(of: Region) -> String {
    let axis = |axis: usize| format!("{} {}", of.low[axis], of.high[axis] - 1);
    [2, 1, 0].map(axis).join(" ")
}

/// Where the point 0 lies, and how far it is from a point to the next, along x, y and z.
pub fn lattice(layout: &ViewLayout) -> String {
    let along = |[z, y, x]: [f64; 3]| format!("{x} {y} {z}");
    format!(r#"Origin="{}" Spacing="{}""#, along(layout.origin), along(layout.spacing))
}

/// VTK's name of the type that values are written as.
pub fn kind(dtype: Dtype) -> &'static str {
    if dtype == Dtype::F64 { "Float64" } else { "Float32" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::{Grid, View};

    #[test]
    fn values_lie_where_the_header_says() {
        let grids = [0.0, 100.0].map(|first: f64| {
            let values: Vec<f64> = (0..6).map(|i| first + f64::from(i)).collect();
            Grid::new(&[2, 3], values).unwrap()
        });
        let fields = vec!["u".to_owned(), "v".to_owned()];
        let layout = View::whole(grids[0].shape).layout([1.0, 2.5, 0.1]);
        let about = ContentInfo { fields, step: 7, time: Some(0.5), layout };
        let (mut file, mut content) = (Vec::new(), Content::of_grids(about, &grids));
        Vti.write(&mut content, &PictureStyle::default(), &mut file).unwrap();
        assert!(file.len() as u64 <= Vti.bytes(grids[0].shape, Dtype::F64, 2).unwrap());
        let start = file.windows(5).position(|window| window == b"\n   _").unwrap() + 5;
        let text = String::from_utf8(file[..start].to_vec()).unwrap();
        assert!(text.contains(r#"WholeExtent="0 2 0 1 0 0""#), "{text}");
        assert!(text.contains(r#"Origin="0 0 0" Spacing="0.1 2.5 1""#), "{text}");
        assert!(text.contains(r#"Name="v" format="appended" offset="56""#), "{text}");
        assert!(text.contains(">0.5</DataArray>"), "{text}");
        let at = |offset: usize| {
            let bytes = &file[start + offset..];
            let length = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            (length, f64::from_le_bytes(bytes[8 + 16..8 + 24].try_into().unwrap()))
        };
        assert_eq!((at(0), at(56)), ((48, 2.0), (48, 102.0)));
        assert!(file.ends_with(b"</VTKFile>\n"));
    }
}
