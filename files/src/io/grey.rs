// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grey pictures as grids: black is 0, white is 1, the first row on top.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};
use rayon::prelude::*;

use problem::{Dtype, Error, Grid, Shape, Values};

/// Reads a PNG of 8 or 16 bits a point, as f32.
///
/// # Errors
/// The file cannot be read, is no PNG, has colours or transparent points, or does not fit in memory;
/// [`Error::Rank`]: other than two axes are wanted.
pub fn read(path: &Path, dims: usize) -> Result<Grid, Error> {
    let path = path.to_owned();
    if dims != 2 {
        return Err(Error::Rank { path, found: 2, dims });
    }
    let unreadable = |source| Error::Read { path: path.clone(), source };
    let bad = |reason: String| Error::Picture { path: path.clone(), reason };
    let of_png = |error: DecodingError| match error {
        DecodingError::IoError(source) if source.kind() != ErrorKind::UnexpectedEof => {
            Error::Read { path: path.clone(), source }
        }
        other => bad(other.to_string()),
    };
    let file = File::open(&path).map_err(unreadable)?;
    // Whether there is memory is asked below.
    let unlimited = Limits { bytes: usize::MAX };
    let mut decoder = Decoder::new_with_limits(BufReader::new(file), unlimited);
    // Points of fewer than 8 bits become such of 8.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(of_png)?;
    let [width, height] = [reader.info().width, reader.info().height];
    let shape = Shape::new(&[height as usize, width as usize])?;
    // The values beside the picture.
    Grid::check_memory(shape, Dtype::F64)?;
    let (colours, depth) = reader.output_color_type();
    match colours {
        ColorType::Grayscale => (),
        ColorType::GrayscaleAlpha => {
            return Err(bad("its points have a transparency".into()));
        }
        _ => return Err(bad("it has colours".into())),
    }
    let room = reader.output_buffer_size().ok_or_else(|| bad("it is too large".into()))?;
    let mut bytes = vec![0; room];
    reader.next_frame(&mut bytes).map_err(of_png)?;
    let values: Vec<f32> = match depth {
        BitDepth::Sixteen => {
            let points = bytes.as_chunks().0;
            points.par_iter().map(|two| f32::from(u16::from_be_bytes(*two)) / 65535.0).collect()
        }
        _ => bytes.par_iter().map(|value| f32::from(*value) / 255.0).collect(),
    };
    Ok(Grid { shape, values: Values::F32(values) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these points.
    fn write(path: &Path, [width, height]: [u32; 2], colours: (ColorType, BitDepth), bytes: &[u8]) {
        let mut encoder = png::Encoder::new(File::create(path).unwrap(), width, height);
        encoder.set_color(colours.0);
        encoder.set_depth(colours.1);
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
    }

    #[test]
    fn black_is_0_and_white_is_1() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grey.png");
        let grey = ColorType::Grayscale;
        write(&path, [3, 2], (grey, BitDepth::Eight), &[0, 255, 51, 102, 153, 204]);
        let grid = read(&path, 2).unwrap();
        assert_eq!(grid.shape.axes(), [2, 3]);
        assert_eq!(grid.values, Values::F32(vec![0.0, 1.0, 0.2, 0.4, 0.6, 0.8]));
        write(&path, [2, 1], (grey, BitDepth::Sixteen), &[0xff, 0xff, 0x33, 0x33]);
        assert_eq!(read(&path, 2).unwrap().values, Values::F32(vec![1.0, 0.2]));
        write(&path, [4, 1], (grey, BitDepth::Two), &[0b0001_1011]);
        let thirds = Values::F32(vec![0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
        assert_eq!(read(&path, 2).unwrap().values, thirds);
        let rank = read(&path, 3).unwrap_err().to_string();
        assert!(rank.ends_with("holds an array with 2 axes, the stencil has 3"), "{rank}");
        write(&path, [1, 1], (ColorType::GrayscaleAlpha, BitDepth::Eight), &[5, 255]);
        let clear = read(&path, 2).unwrap_err().to_string();
        assert!(clear.ends_with("grey.png: its points have a transparency"));
        write(&path, [2, 2], (ColorType::Rgb, BitDepth::Eight), &[0; 12]);
        assert!(read(&path, 2).unwrap_err().to_string().ends_with("grey.png: it has colours"));
        write(
            &path,
            [64, 64],
            (grey, BitDepth::Eight),
            &(0..=255).cycle().take(4096).collect::<Vec<u8>>(),
        );
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 4, 20, whole.len() - 60] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let error = read(&path, 2).unwrap_err();
            assert!(matches!(error, Error::Picture { .. }), "{cut}: {error}");
        }
    }
}
