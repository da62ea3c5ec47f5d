// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as VTK's images in pieces: a `.vti` of each rank, which has one piece, and a list of them, which ParaView opens as
//! one image.
//!
//! Between two points that are neighbours VTK wants a cell, so a piece ends with the first points of the next ones. A rank
//! writes its own points; those others, few, are written by rank 0.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use super::FileFormat;
use super::vti::{self, Heading, Vti};
use crate::io::colours::PictureStyle;
use crate::io::content::{Content, ContentInfo};
use crate::io::rows::{self, PIECE_BYTES, SharedFields};
use crate::io::{Output, Staged};
use problem::observe::{FileRegion, PartContent, PartFile};
use problem::{Dtype, Error, Region, Shape};

/// As [`Vti`], a piece a file.
pub struct Pvti;

impl FileFormat for Pvti {
    fn extensions(&self) -> &'static [&'static str] {
        &["pvti"]
    }

    fn holds_many(&self) -> bool {
        true
    }

    fn index(&self) -> Option<&'static str> {
        Some("pvd")
    }

    fn bytes(&self, shape: Shape, dtype: Dtype, fields: usize) -> Option<u64> {
        Vti.bytes(shape, dtype, fields)
    }

    fn has_parts(&self, _: Shape, _: Dtype, _: &[Region]) -> bool {
        true
    }

    fn stage_parts<'a>(
        &self,
        output: &'a Output,
        shared: &mut SharedFields,
    ) -> Result<Staged<'a>, Error> {
        let whole = Region::whole(shared.shape);
        let failed = |source| Error::Write { path: output.path().to_owned(), source };
        let (mut made, mut files, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for (rank, own) in shared.parts.iter().enumerate() {
            let (of, piece) = (with_cells(*own, whole), piece(output, rank)?);
            listed.push((of, name_of(&piece)));
            let piece = piece.make()?;
            let heading = Heading { about: &shared.about, dtype: shared.dtype, of };
            let start = heading.begin(&piece.open()?).map_err(failed)?;
            let array = FileRegion { start, of, wide: true };
            let (name, path) = (output.path().to_owned(), piece.path());
            files.push((array, PartFile { name, path, what: PartContent::Rows(array) }));
            made.push(piece);
        }
        let (arrays, files): (Vec<FileRegion>, Vec<PartFile>) = files.into_iter().unzip();
        shared.by.write_parts(&files)?;
        for ((array, piece), own) in arrays.iter().zip(&made).zip(&shared.parts) {
            let piece = piece.open()?;
            for face in faces(*own, array.of) {
                for part in face.in_pieces(PIECE_BYTES / shared.dtype.bytes()) {
                    let values = shared.by.read(0, part)?;
                    rows::write(*array, &piece, part, &values).map_err(failed)?;
                }
            }
            piece.sync_all().map_err(failed)?;
        }
        let text = list(&shared.about, shared.dtype, whole, &listed);
        output.stage_with(made, |to| to.write_all(text.as_bytes()))
    }

    fn stage<'a>(
        &self,
        output: &'a Output,
        content: &mut Content,
        look: &PictureStyle,
    ) -> Result<Staged<'a>, Error> {
        let (piece, whole) = (piece(output, 0)?, content.about.layout.region());
        let listed = [(whole, name_of(&piece))];
        let piece = piece.make_with(|to| Vti.write(content, look, to))?;
        let text = list(&content.about, content.dtype, whole, &listed);
        output.stage_with(vec![piece], |to| to.write_all(text.as_bytes()))
    }

    fn write(&self, _: &mut Content, _: &PictureStyle, _: &mut dyn Write) -> io::Result<()> {
        let reason = "an image in pieces is several files";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }
}

/// A rank's points, and the first ones of the next ranks.
fn with_cells(own: Region, whole: Region) -> Region {
    let high = std::array::from_fn(|axis| (own.high[axis] + 1).min(whole.high[axis]));
    Region { low: own.low, high }
}

/// What a region has beyond one that has its first point.
fn faces(own: Region, of: Region) -> impl Iterator<Item = Region> {
    (0..3).filter(move |&axis| own.high[axis] < of.high[axis]).map(move |axis| {
        let mut face = of;
        // Of the axes before, what is left by their faces.
        face.high[..axis].copy_from_slice(&own.high[..axis]);
        face.low[axis] = own.high[axis];
        face
    })
}

/// The file of a rank's piece: beside the list, by its name.
fn piece(output: &Output, rank: usize) -> Result<Output, Error> {
    let target = output.target();
    let mut name = target.file_stem().map_or_else(OsString::new, OsString::from);
    name.push(format!("_rank{rank}.vti"));
    Output::new(&target.with_file_name(name))
}

fn name_of(piece: &Output) -> String {
    let name = PathBuf::from(piece.path().file_name().unwrap_or_default());
    let name = name.display().to_string();
    name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The list of pieces.
fn list(about: &ContentInfo, dtype: Dtype, whole: Region, pieces: &[(Region, String)]) -> String {
    let ContentInfo { fields, layout, .. } = about;
    let mut text = format!(
        r#"<?xml version="1.0"?>
<VTKFile type="PImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <PImageData WholeExtent="{}" GhostLevel="0" {}>
    <PPointData Scalars="{}">
"#,
        vti::extent(whole),
        vti::lattice(layout),
        fields.first().map_or("", String::as_str)
    );
    let add = "a string takes any text";
    for name in fields {
        let kind = vti::kind(dtype);
        writeln!(text, r#"      <PDataArray type="{kind}" Name="{name}"/>"#).expect(add);
    }
    text += "    </PPointData>\n";
    for (of, name) in pieces {
        let extent = vti::extent(*of);
        writeln!(text, r#"    <Piece Extent="{extent}" Source="{name}"/>"#).expect(add);
    }
    text + "  </PImageData>\n</VTKFile>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::View;

    #[test]
    fn pieces_share_the_points_between_them_and_faces_are_what_is_others() {
        let whole = Region { low: [0; 3], high: [4, 5, 6] };
        for (low, high, points) in [
            ([0, 0, 0], [2, 3, 6], 3 * 4 * 6),
            ([2, 3, 0], [4, 5, 6], 2 * 2 * 6),
            ([0, 0, 0], [1, 1, 1], 8),
        ] {
            let own = Region { low, high };
            let of = with_cells(own, whole);
            assert_eq!(of.points(), points);
            let others: Vec<Region> = faces(own, of).collect();
            let sum: usize = others.iter().map(Region::points).sum();
            assert_eq!(sum + own.points(), points);
            assert_eq!(problem::region::distinct_points(&[&others[..], &[own]].concat()), points);
        }
    }

    #[test]
    fn a_list_names_its_pieces() {
        let region = |low, high| Region { low, high };
        let whole = region([0; 3], [1, 4, 5]);
        let pieces = [
            (region([0; 3], [1, 3, 5]), "a&amp;b_rank0.vti".to_owned()),
            (region([0, 2, 0], [1, 4, 5]), "a&amp;b_rank1.vti".to_owned()),
        ];
        let layout = View::whole(Shape::new(&[4, 5]).unwrap()).layout([1.0, 30.0, 0.5]);
        let about = ContentInfo { fields: vec!["u".into()], step: 0, time: None, layout };
        let text = list(&about, Dtype::F16, whole, &pieces);
        assert!(text.contains(r#"Origin="0 0 0" Spacing="0.5 30 1""#), "{text}");
        assert!(text.contains(r#"WholeExtent="0 4 0 3 0 0""#), "{text}");
        assert!(text.contains(r#"<PDataArray type="Float32" Name="u"/>"#), "{text}");
        assert!(
            text.contains(r#"<Piece Extent="0 4 2 3 0 0" Source="a&amp;b_rank1.vti"/>"#),
            "{text}"
        );
    }
}
