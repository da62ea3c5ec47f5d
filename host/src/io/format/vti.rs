// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as VTK's images, which ParaView opens: a header in XML, then the values of each field as they are, behind
//! their number of bytes.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::Format;
use crate::io::colours::Look;
use crate::io::content::Content;
use crate::io::npy;
use crate::{Dtype, Shape};

/// Any number of fields on the points of a grid of up to three axes. f16 and bf16, which VTK lacks, are written
/// as f32.
pub struct Vti;

impl Format for Vti {
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
        Some(fields as u64 * (array_bytes(shape, dtype) + 8 + 128) + 1024)
    }

    fn write(&self, content: &mut Content, _: &Look, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(header(content).as_bytes())?;
        let bytes = array_bytes(content.shape, content.dtype);
        for field in 0..content.fields.len() {
            to.write_all(&bytes.to_le_bytes())?;
            content.values(field, &mut |values| npy::write_wide(to, values))?;
        }
        to.write_all(b"\n  </AppendedData>\n</VTKFile>\n")
    }
}

/// Bytes of the values of a field.
fn array_bytes(shape: Shape, dtype: Dtype) -> u64 {
    let value = if dtype == Dtype::F64 { 8 } else { 4 };
    shape.points() as u64 * value
}

fn header(content: &Content) -> String {
    let [nz, ny, nx] = content.shape.extents().map(|extent| extent - 1);
    let extent = format!("0 {nx} 0 {ny} 0 {nz}");
    let kind = if content.dtype == Dtype::F64 { "Float64" } else { "Float32" };
    let mut arrays = String::new();
    for (field, name) in content.fields.iter().enumerate() {
        let offset = field as u64 * (array_bytes(content.shape, content.dtype) + 8);
        // Names of fields are those of a language's variables: nothing in them has to be escaped.
        writeln!(
            arrays,
            r#"        <DataArray type="{kind}" Name="{name}" format="appended" offset="{offset}"/>"#
        )
        .expect("a string takes any text");
    }
    let value = content.time.unwrap_or(content.step as f64);
    let first = content.fields.first().map_or("", String::as_str);
    format!(
        r#"<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="1 1 1">
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;
    use crate::io::content::About;

    #[test]
    fn values_lie_where_the_header_says() {
        let grids = [0.0, 100.0].map(|first: f64| {
            let values: Vec<f64> = (0..6).map(|i| first + f64::from(i)).collect();
            Grid::new(&[2, 3], values).unwrap()
        });
        let fields = vec!["u".to_owned(), "v".to_owned()];
        let about = About { fields, step: 7, time: Some(0.5) };
        let (mut file, mut content) = (Vec::new(), Content::of_grids(about, &grids));
        Vti.write(&mut content, &Look::default(), &mut file).unwrap();
        assert!(file.len() as u64 <= Vti.bytes(grids[0].shape, Dtype::F64, 2).unwrap());
        let start = file.windows(5).position(|window| window == b"\n   _").unwrap() + 5;
        let text = String::from_utf8(file[..start].to_vec()).unwrap();
        assert!(text.contains(r#"WholeExtent="0 2 0 1 0 0""#), "{text}");
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
