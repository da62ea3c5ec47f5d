// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of red, green and blue that the program draws pixel by pixel: charts, and matrices of a plan.

use png::{BitDepth, ColorType, Encoder};

/// A colour: red, green and blue.
pub type Colour = [u8; 3];

/// A picture, its first row on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rgb {
    width: usize,
    pixels: Vec<Colour>,
}

impl Rgb {
    /// A picture of one colour, with one pixel at least.
    #[must_use]
    pub fn filled([width, height]: [usize; 2], colour: Colour) -> Self {
        let [width, height] = [width.max(1), height.max(1)];
        Self { width, pixels: vec![colour; width * height] }
    }

    /// Pixels across and down.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        [self.width, self.pixels.len() / self.width]
    }

    /// The pixel in a column and a row, if the picture has it.
    pub fn pixel(&mut self, [x, y]: [usize; 2]) -> Option<&mut Colour> {
        if x >= self.width {
            return None;
        }
        self.pixels.get_mut(y * self.width + x)
    }

    /// The picture as a PNG file.
    #[must_use]
    pub fn png(&self) -> Vec<u8> {
        let [width, height] = self.size().map(|extent| extent as u32);
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, width, height);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(self.pixels.as_flattened())?;
            writer.finish()
        });
        written.expect("memory takes what is written");
        file
    }

    /// The first picture of a PNG file, a palette's entries as their colours, grey as three equal parts.
    #[cfg(test)]
    pub fn of_png(file: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        let pixels = match frame.color_type {
            ColorType::Rgb => bytes.as_chunks().0.to_vec(),
            ColorType::Grayscale => bytes.iter().map(|&grey| [grey; 3]).collect(),
            other => panic!("{other:?}"),
        };
        Self { width: frame.width as usize, pixels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_in_the_file() {
        let mut picture = Rgb::filled([3, 2], [255; 3]);
        *picture.pixel([2, 1]).unwrap() = [1, 2, 3];
        assert!([[3, 0], [0, 2]].iter().all(|beside| picture.pixel(*beside).is_none()));
        let read = Rgb::of_png(&picture.png());
        assert_eq!((&read, read.size()), (&picture, [3, 2]));
        assert_eq!(read.pixels[5], [1, 2, 3]);
    }
}
