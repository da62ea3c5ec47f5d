// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grey pictures as grids: black is 0, white is 1, the first row on top.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::{ColorType, DynamicImage, ImageDecoder, ImageError};
use rayon::prelude::*;

use crate::{Dtype, Error, Grid, Shape, Values};

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
    let of_image = |error: ImageError| match error {
        ImageError::IoError(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::Read { path: path.clone(), source }
        }
        other => Error::Picture { path: path.clone(), reason: other.to_string() },
    };
    let file = File::open(&path).map_err(unreadable)?;
    let decoder = PngDecoder::new(BufReader::new(file)).map_err(of_image)?;
    let (width, height) = decoder.dimensions();
    let shape = Shape::new(&[height as usize, width as usize])?;
    // The values beside the picture.
    Grid::check_memory(shape, Dtype::F64)?;
    match decoder.color_type() {
        ColorType::L8 | ColorType::L16 => (),
        ColorType::La8 | ColorType::La16 => {
            return Err(bad("its points have a transparency besides their grey".into()));
        }
        _ => return Err(bad("it has colours".into())),
    }
    let values: Vec<f32> = match DynamicImage::from_decoder(decoder).map_err(of_image)? {
        DynamicImage::ImageLuma8(picture) => {
            picture.as_raw().par_iter().map(|value| f32::from(*value) / 255.0).collect()
        }
        DynamicImage::ImageLuma16(picture) => {
            picture.as_raw().par_iter().map(|value| f32::from(*value) / 65535.0).collect()
        }
        _ => return Err(bad("it has colours".into())),
    };
    Ok(Grid { shape, values: Values::F32(values) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{GrayImage, ImageBuffer, Luma, RgbImage};

    #[test]
    fn black_is_0_and_white_is_1() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grey.png");
        GrayImage::from_raw(3, 2, vec![0, 255, 51, 102, 153, 204]).unwrap().save(&path).unwrap();
        let grid = read(&path, 2).unwrap();
        assert_eq!(grid.shape.axes(), [2, 3]);
        assert_eq!(grid.values, Values::F32(vec![0.0, 1.0, 0.2, 0.4, 0.6, 0.8]));
        let deep = ImageBuffer::<Luma<u16>, _>::from_raw(2, 1, vec![65535u16, 13107]).unwrap();
        deep.save(&path).unwrap();
        assert_eq!(read(&path, 2).unwrap().values, Values::F32(vec![1.0, 0.2]));
        let rank = read(&path, 3).unwrap_err().to_string();
        assert!(rank.ends_with("holds an array with 2 axes, the stencil has 3"), "{rank}");
        RgbImage::new(2, 2).save(&path).unwrap();
        assert!(read(&path, 2).unwrap_err().to_string().ends_with("grey.png: it has colours"));
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 4, 20, whole.len() - 20] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let error = read(&path, 2).unwrap_err();
            assert!(matches!(error, Error::Picture { .. }), "{cut}: {error}");
        }
    }
}
