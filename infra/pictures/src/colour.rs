//! Colour profiles. Pictures are served as sRGB without a profile: the colours of a file that has one are converted.

use image::{DynamicImage, RgbaImage};
use moxcms::{ColorProfile, DataColorSpace, Layout, Transform8BitExecutor, TransformOptions};
use std::sync::Arc;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

/// The colours of a file, by its profile.
pub struct Colours(ColorProfile);

impl Colours {
    /// `None` if there is no profile, or one that cannot be read, which browsers ignore too.
    pub fn of(profile: Option<Vec<u8>>) -> Option<Self> {
        ColorProfile::new_from_slice(&profile?).ok().map(Self)
    }

    /// The picture as sRGB, of a JPEG in inks; `None` if it is in other colours, or the profile is not one of four inks.
    pub fn of_inks(&self, jpeg: &[u8]) -> Option<RgbaImage> {
        if self.0.color_space != DataColorSpace::Cmyk {
            return None;
        }
        let (inks, width, height) = inks(jpeg)?;
        let mut picture = RgbaImage::new(width, height);
        convert(&*self.to_srgb(Layout::Rgba, Layout::Rgba)?, &inks, 4, &mut picture)?;
        for pixel in picture.pixels_mut() {
            pixel.0[3] = u8::MAX;
        }
        Some(picture)
    }

    /// A decoded picture as sRGB; `None` if the profile is not one of its colours.
    pub fn of_decoded(&self, picture: &DynamicImage) -> Option<RgbaImage> {
        let mut converted = RgbaImage::new(picture.width(), picture.height());
        match (self.0.color_space, picture.color().has_color()) {
            (DataColorSpace::Rgb, true) => {
                convert(&*self.to_srgb(Layout::Rgba, Layout::Rgba)?, &picture.to_rgba8(), 4, &mut converted)?;
            }
            (DataColorSpace::Gray, false) => {
                let greys = picture.to_luma_alpha8();
                convert(&*self.to_srgb(Layout::GrayAlpha, Layout::Rgba)?, &greys, 2, &mut converted)?;
            }
            _ => return None,
        }
        Some(converted)
    }

    fn to_srgb(&self, from: Layout, to: Layout) -> Option<Arc<Transform8BitExecutor>> {
        self.0.create_transform_8bit(from, &ColorProfile::new_srgb(), to, TransformOptions::default()).ok()
    }
}

/// Converts row by row.
fn convert(transform: &Transform8BitExecutor, from: &[u8], channels: usize, to: &mut RgbaImage) -> Option<()> {
    let width = usize::try_from(to.width()).ok()?;
    let rows = from.chunks_exact(width * channels).zip(to.chunks_exact_mut(width * 4));
    rows.into_iter().try_for_each(|(from, to)| transform.transform(from, to).ok())
}

/// The inks of a JPEG, 255 being all of one, with its width and height; `None` if it is not in inks. They are stored as what the
/// paper keeps, as every program that writes such files does.
fn inks(jpeg: &[u8]) -> Option<(Vec<u8>, u32, u32)> {
    let options = DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    decoder.decode_headers().ok()?;
    let (stored, (width, height)) = (decoder.input_colorspace()?, decoder.dimensions()?);
    if !matches!(stored, ColorSpace::CMYK | ColorSpace::YCCK) {
        return None;
    }
    decoder.set_options(options.jpeg_set_out_colorspace(stored));
    let mut pixels = decoder.decode().ok()?;
    for pixel in pixels.as_chunks_mut::<4>().0 {
        let [first, second, third, black] = *pixel;
        let coloured = if stored == ColorSpace::YCCK {
            rgb(first, second, third)
        } else {
            [first, second, third].map(|paper| u8::MAX - paper)
        };
        *pixel = [coloured[0], coloured[1], coloured[2], u8::MAX - black];
    }
    Some((pixels, u32::try_from(width).ok()?, u32::try_from(height).ok()?))
}

/// Red, green and blue of a brightness and two differences of colour (ITU-T T.871).
fn rgb(brightness: u8, blue: u8, red: u8) -> [u8; 3] {
    let (brightness, blue, red) = (i32::from(brightness) << 16, i32::from(blue) - 128, i32::from(red) - 128);
    [91_881 * red, -22_554 * blue - 46_802 * red, 116_130 * blue].map(|difference| {
        let value = (brightness + difference + (1 << 15)) >> 16;
        u8::try_from(value.clamp(0, 255)).unwrap_or_default()
    })
}
