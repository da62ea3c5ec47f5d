// SPDX-License-Identifier: MIT OR Apache-2.0
//! A field of two axes as a picture: a palette's entry for each point, the first row on top.

use std::io::{self, Write};

use png::{BitDepth, ColorType, Compression, Encoder};
use rayon::prelude::*;

use super::FileFormat;
use crate::io::colours::{ENTRIES, NO_VALUES, PictureStyle, entry, widest};
use crate::io::content::Content;
use problem::values::Element;
use problem::{Dtype, Shape, Values, with_values};

/// Points of a picture that is compressed in little time rather than to few bytes.
const LARGE: usize = 1 << 20;

/// A picture.
pub struct Png;

impl FileFormat for Png {
    fn extensions(&self) -> &'static [&'static str] {
        &["png", "apng"]
    }

    fn is_picture(&self) -> bool {
        true
    }

    fn bytes(&self, _: Shape, _: Dtype, _: usize) -> Option<u64> {
        // It is compressed.
        None
    }

    fn write(
        &self,
        content: &mut Content,
        look: &PictureStyle,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let pixels = draw(content, 0, look)?;
        let mut writer = encoder(to, content.shape, look)?.write_header()?;
        writer.write_image_data(&pixels)?;
        Ok(writer.finish()?)
    }
}

/// What writes pixels of a shape that is drawn so.
pub fn encoder<W: Write>(
    to: W,
    shape: Shape,
    look: &PictureStyle,
) -> io::Result<Encoder<'static, W>> {
    let [height, width] = [1, 2].map(|axis: usize| u32::try_from(shape.extents()[axis]));
    let (Ok(width), Ok(height)) = (width, height) else {
        let text = format!(
            "a picture of {shape} points is larger than the format allows; --stride thins it"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    };
    let mut encoder = Encoder::new(to, width, height);
    encoder.set_depth(BitDepth::Eight);
    if shape.points() > LARGE {
        encoder.set_compression(Compression::Fast);
    }
    let palette: Vec<u8> = (0..ENTRIES).flat_map(|entry| look.colours.entry(entry)).collect();
    if palette.chunks(3).enumerate().all(|(entry, colour)| colour == [entry as u8; 3]) {
        encoder.set_color(ColorType::Grayscale);
    } else {
        encoder.set_color(ColorType::Indexed);
        encoder.set_palette(palette);
    }
    Ok(encoder)
}

/// The entry of each point of a field, in C order.
///
/// # Errors
/// The content cannot be read.
fn draw(content: &mut Content, field: usize, look: &PictureStyle) -> io::Result<Vec<u8>> {
    // Twice through the values, in the first place for their range.
    let mut copies: Vec<Values> = Vec::new();
    let parts: Vec<&Values> = match content.held(field) {
        Some(values) => vec![values],
        None => {
            content.values(field, &mut |values| {
                copies.push(values.clone());
                Ok(())
            })?;
            copies.iter().collect()
        }
    };
    let ends = ends(&parts);
    Ok(pixels(&parts, look.range.of(ends, look.colours)))
}

/// The entry of each value in a range.
#[must_use]
pub fn pixels(parts: &[&Values], range: [f64; 2]) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        with_values!(part, values => {
            pixels.par_extend(values.par_iter().map(|value| entry(value.to_f64(), range)));
        });
    }
    pixels
}

/// The least and the largest value.
#[must_use]
pub fn ends(parts: &[&Values]) -> [f64; 2] {
    let of = |part: &Values| {
        with_values!(part, values => values
            .par_iter()
            .map(|value| [value.to_f64(); 2])
            .reduce(|| NO_VALUES, widest))
    };
    parts.iter().map(|part| of(part)).fold(NO_VALUES, widest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::colours::{ColourRange, Colours};
    use crate::io::content::ContentInfo;
    use crate::io::rgb::Rgb;
    use problem::{Grid, View};

    fn file(look: PictureStyle) -> Vec<u8> {
        let grid = Grid::new(&[2, 3], vec![-1.0, 0.0, 1.0, 2.0, 3.0, 0.5]).unwrap();
        let layout = View::whole(grid.shape).layout([1.0; 3]);
        let about = ContentInfo { fields: vec!["u".into()], step: 0, time: None, layout };
        let mut file = Vec::new();
        let grids = [grid];
        Png.write(&mut Content::of_grids(about, &grids), &look, &mut file).unwrap();
        file
    }

    #[test]
    fn a_picture_has_the_colours_of_its_values() {
        let range = ColourRange::Fixed(0.0, 2.0);
        for colours in [Colours::Viridis, Colours::BlueRed] {
            let mut picture = Rgb::of_png(&file(PictureStyle { colours, range }));
            assert_eq!(picture.size(), [3, 2]);
            for ([x, y], value) in [([0, 0], 0), ([2, 0], 128), ([1, 1], 255), ([2, 1], 64)] {
                assert_eq!(picture.pixel([x, y]), Some(&mut colours.entry(value)), "({x}, {y})");
            }
        }
    }

    #[test]
    fn grey_pictures_are_grey_files_from_the_least_value_to_the_largest() {
        let file = file(PictureStyle { colours: Colours::Grey, range: ColourRange::Auto });
        // The colour type, which says that there is no palette.
        assert_eq!(file[25], ColorType::Grayscale as u8);
        let mut picture = Rgb::of_png(&file);
        for (place, grey) in [0, 64, 128, 191, 255, 96].into_iter().enumerate() {
            assert_eq!(picture.pixel([place % 3, place / 3]), Some(&mut [grey; 3]));
        }
    }
    /// What is drawn of a grid that is too large to be read at once.
    #[test]
    fn a_picture_that_is_read_in_pieces_has_the_range_of_all() {
        let shape = Shape::new(&[6, 8]).unwrap();
        for (place, colours) in
            (0..48).flat_map(|place| [(place, Colours::Grey), (place, Colours::BlueRed)])
        {
            let mut values: Vec<f32> = (0..48).map(|i| (i * 7 % 48) as f32).collect();
            (values[place], values[47 - place]) = (1000.0, -100.0);
            let grids = [Grid::new(&[6, 8], values).unwrap()];
            let layout = View::whole(shape).layout([1.0; 3]);
            let about = || ContentInfo { fields: vec!["u".into()], step: 0, time: None, layout };
            let look = PictureStyle { colours, range: ColourRange::Auto };
            let whole = draw(&mut Content::of_grids(about(), &grids), 0, &look).unwrap();
            for bytes in [4, 32, 100] {
                let view = View::whole(shape);
                let mut pieces = 0;
                let read = |_: usize, region| {
                    pieces += 1;
                    Ok(grids[0].read(region))
                };
                let mut content = Content::of_view(about(), view, Dtype::F32, bytes, read);
                let drawn = draw(&mut content, 0, &look).unwrap();
                drop(content);
                assert!(pieces > 1 && drawn == whole, "{place}, {bytes} bytes in {pieces} pieces");
            }
        }
    }
}
