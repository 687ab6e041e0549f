//! The colours of the shop's pages: which follow from an owner's three, and whether texts in them can be read
//! (store-format.md, "The shop's pages"). Contrast is that of WCAG 2.2, in integers.

use crate::model::Palette;

/// The least contrast of text, 4.5 to 1, in thousandths.
pub const LEAST_CONTRAST: u64 = 4_500;

/// Red, green and blue.
pub type Colour = [u8; 3];

/// All colours of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    pub page: Colour,
    pub card: Colour,
    pub sunk: Colour,
    pub ink: Colour,
    pub soft: Colour,
    pub line: Colour,
    pub accent: Colour,
    pub on_accent: Colour,
}

impl Scheme {
    pub fn of(palette: &Palette) -> Self {
        let Palette { accent, background: page, text: ink } = *palette;
        let [light, dark] = [[255; 3], [0; 3]];
        let is_dark = contrast(page, light) > contrast(page, dark);
        Self {
            page,
            card: mix(page, light, if is_dark { 5 } else { 60 }),
            sunk: mix(page, ink, 6),
            ink,
            soft: mix(ink, page, 22),
            line: mix(page, ink, 15),
            accent,
            on_accent: if contrast(accent, light) >= contrast(accent, dark) { light } else { dark },
        }
    }

    /// The text that is hardest to read, with what it is on, and its contrast in thousandths.
    #[must_use]
    pub fn worst(&self) -> (&'static str, u64) {
        let texts = [("text", self.ink), ("text", self.soft), ("accent", self.accent)];
        let on = [self.page, self.card, self.sunk];
        let pairs = texts.iter().flat_map(|(name, text)| on.iter().map(move |on| (*name, contrast(*text, *on))));
        let button = ("accent", contrast(self.on_accent, self.accent));
        pairs.chain([button]).min_by_key(|(_, contrast)| *contrast).unwrap_or(button)
    }
}

/// `percent` of the second colour in the first.
fn mix(first: Colour, second: Colour, percent: u32) -> Colour {
    std::array::from_fn(|channel| {
        let sum = u32::from(first[channel]) * (100 - percent) + u32::from(second[channel]) * percent;
        u8::try_from((sum + 50) / 100).unwrap_or(u8::MAX)
    })
}

/// The contrast of two colours, 1,000 to 21,000.
pub fn contrast(one: Colour, other: Colour) -> u64 {
    let (one, other) = (luminance(one), luminance(other));
    // 0.05 of a luminance of 1,000,000.
    let flare = 50_000;
    (one.max(other) + flare) * 1_000 / (one.min(other) + flare)
}

/// The relative luminance in millionths.
fn luminance(colour: Colour) -> u64 {
    let [red, green, blue] = colour.map(linear);
    (red * 2_126 + green * 7_152 + blue * 722) / 10_000
}

/// A channel of sRGB as light, in millionths: ((c + 0.055) / 1.055) ^ 2.4, between two points of a table.
fn linear(channel: u8) -> u64 {
    const STEP: usize = 15;
    const LIGHT: [u64; 18] = [
        0, 4_777, 12_983, 26_241, 45_186, 70_360, 102_242, 141_263, 187_821, 242_281, 304_987, 376_262, 456_411,
        545_724, 644_480, 752_942, 871_367, 1_000_000,
    ];
    let (whole, rest) = (usize::from(channel) / STEP, (usize::from(channel) % STEP) as u64);
    let next = LIGHT[(whole + 1).min(LIGHT.len() - 1)];
    LIGHT[whole] + (next - LIGHT[whole]) * rest / STEP as u64
}

/// `#rrggbb` or `#rgb`.
pub fn parse(text: &str) -> Option<Colour> {
    let digits = text.strip_prefix('#').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    let value = |pair: &str| u8::from_str_radix(pair, 16).ok();
    match digits.len() {
        6 => Some([value(digits.get(..2)?)?, value(digits.get(2..4)?)?, value(digits.get(4..)?)?]),
        3 => Some([value(digits.get(..1)?)? * 17, value(digits.get(1..2)?)? * 17, value(digits.get(2..)?)? * 17]),
        _ => None,
    }
}

/// A colour as style sheets write it.
pub fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        // Of WCAG 2.2, in hundredths.
        for (one, other, expected) in [
            ("#000000", "#ffffff", 2_100),
            ("#777777", "#ffffff", 448),
            ("#b1380e", "#faf6f0", 566),
            ("#0000ff", "#ffffff", 859),
        ] {
            let found = contrast(parse(one).unwrap(), parse(other).unwrap()) / 10;
            assert!(found.abs_diff(expected) <= 6, "{one} on {other}: {found}");
        }
        assert_eq!(parse("#fa0"), Some([255, 170, 0]));
        for text in ["fff", "#ffff", "#gggggg", "#é1234", "red", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
