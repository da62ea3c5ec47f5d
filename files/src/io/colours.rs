// SPDX-License-Identifier: MIT OR Apache-2.0
//! How values become colours: a map, and the range of values that it spans.

use std::str::FromStr;

use colorous::Gradient;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use problem::names::{self, UnknownName};

/// Entries of a map as a palette.
pub const ENTRIES: usize = 256;

/// A map from values to colours.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(parse_err_ty = UnknownName, parse_err_fn = names::unknown::<Colours>, serialize_all = "kebab-case")]
pub enum Colours {
    /// From blue over green to yellow; equal steps look equal
    #[default]
    Viridis,
    /// From black over red to white; equal steps look equal
    Magma,
    /// From black over orange to bright yellow; equal steps look equal
    Inferno,
    /// From blue to yellow, also for those who see no red or green; equal steps look equal
    Cividis,
    /// From black to white, as a picture without a palette
    Grey,
    /// From blue over white at 0 to red: for values of both signs
    BlueRed,
    /// From brown over white at 0 to green: for values of both signs
    BrownGreen,
}

impl Colours {
    /// The colour of an entry, as red, green, blue.
    #[must_use]
    pub fn entry(self, entry: usize) -> [u8; 3] {
        let of = |map: Gradient, entry: usize| map.eval_rational(entry, ENTRIES).as_array();
        match self {
            Self::Viridis => of(colorous::VIRIDIS, entry),
            Self::Magma => of(colorous::MAGMA, entry),
            Self::Inferno => of(colorous::INFERNO, entry),
            Self::Cividis => of(colorous::CIVIDIS, entry),
            Self::Grey => [entry as u8; 3],
            // Red is its first colour.
            Self::BlueRed => of(colorous::RED_BLUE, ENTRIES - 1 - entry),
            Self::BrownGreen => of(colorous::BROWN_GREEN, entry),
        }
    }

    /// Whether its middle means 0, unless a range says otherwise.
    #[must_use]
    pub fn diverges(self) -> bool {
        matches!(self, Self::BlueRed | Self::BrownGreen)
    }
}

/// The values that the first and the last colour stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ColourRange {
    /// The least and the largest of all that is drawn into a file: a picture, or all pictures of an animation. Of a
    /// map that diverges as far below 0 as above.
    #[default]
    Auto,
    /// The least and the largest value of each picture, also in an animation.
    Each,
    /// These.
    Fixed(f64, f64),
}

impl ColourRange {
    /// The range of values of which these are the least and the largest.
    #[must_use]
    pub fn of(self, [least, largest]: [f64; 2], colours: Colours) -> [f64; 2] {
        match self {
            Self::Fixed(low, high) => [low, high],
            Self::Auto | Self::Each if colours.diverges() => {
                let far = least.abs().max(largest.abs());
                [-far, far]
            }
            Self::Auto | Self::Each => [least, largest],
        }
    }
}

/// The least and the largest of no values.
pub const NO_VALUES: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

/// The least and the largest of all values of which these are parts.
#[must_use]
pub fn widest(one: [f64; 2], other: [f64; 2]) -> [f64; 2] {
    [one[0].min(other[0]), one[1].max(other[1])]
}

impl FromStr for ColourRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if text == "each" {
            return Ok(Self::Each);
        }
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match text.split_once(':').map(|(low, high)| (number(low), number(high))) {
            Some((Some(low), Some(high))) if low < high => Ok(Self::Fixed(low, high)),
            _ => {
                Err("give auto, each, or the values of the first and the last colour, such as -1:1"
                    .into())
            }
        }
    }
}

/// How a picture is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PictureStyle {
    /// Its colours.
    pub colours: Colours,
    /// Their values.
    pub range: ColourRange,
}

/// The entry of a value in a range; what lies outside has the colour of the end.
#[must_use]
pub fn entry(value: f64, [low, high]: [f64; 2]) -> u8 {
    // Halves, since the difference of two finite numbers need not be one.
    let part = (0.5 * value - 0.5 * low) / (0.5 * high - 0.5 * low);
    // Of a picture of a single value that is 0 / 0, and becomes 0.
    (part.clamp(0.0, 1.0) * (ENTRIES - 1) as f64).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_others_answered() {
        assert_eq!("auto".parse(), Ok(ColourRange::Auto));
        assert_eq!("each".parse(), Ok(ColourRange::Each));
        assert_eq!("-1:2.5e3".parse(), Ok(ColourRange::Fixed(-1.0, 2500.0)));
        for wrong in ["", "1", "1:1", "2:1", "0:inf", "a:b", "nan:1"] {
            assert!(wrong.parse::<ColourRange>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_ends_of_a_range_have_the_first_and_the_last_colour() {
        assert_eq!([-1.0, 0.0, 0.5, 1.0, 7.0].map(|v| entry(v, [0.0, 1.0])), [0, 0, 128, 255, 255]);
        assert_eq!([3.0, 3.0].map(|v| entry(v, [3.0, 3.0])), [0, 0]);
        assert_eq!([-f64::MAX, f64::MAX].map(|v| entry(v, [-f64::MAX, f64::MAX])), [0, 255]);
    }

    #[test]
    fn maps_that_diverge_are_white_at_0() {
        for colours in [Colours::BlueRed, Colours::BrownGreen] {
            let range = ColourRange::Auto.of([-1.0, 3.0], colours);
            assert_eq!(range, [-3.0, 3.0]);
            let white = colours.entry(entry(0.0, range).into());
            assert!(white.iter().all(|part| *part > 230), "{white:?}");
        }
        let [red, _, blue] = Colours::BlueRed.entry(255);
        assert!(red > blue);
    }

    /// What a map is for: whoever sees no colours still sees which value is the larger one.
    #[test]
    fn others_become_brighter_from_entry_to_entry() {
        for colours in Colours::VARIANTS.iter().filter(|colours| !colours.diverges()) {
            let luminance = |entry| {
                let [red, green, blue] = colours.entry(entry).map(f64::from);
                0.2126 * red + 0.7152 * green + 0.0722 * blue
            };
            let falls = (8..ENTRIES).find(|entry| luminance(*entry) < luminance(entry - 8));
            assert_eq!(falls, None, "{colours}");
        }
    }
}
