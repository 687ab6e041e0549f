//! Pictures made of pixels: looked at before they are decoded, converted to sRGB, turned upright, made smaller, and
//! written as WebP without anything else that the file had. They are served without a colour profile: the colours of a
//! file that has one are converted.

use crate::Problem;
use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{AnimationDecoder as _, DynamicImage, ImageDecoder, ImageFormat, Limits, RgbaImage};
use moxcms::{ColorProfile, DataColorSpace, Layout, Transform8BitExecutor, TransformOptions};
use shop::WIDTHS;
use std::io::Cursor;
use std::sync::Arc;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

/// The most pixels of a picture: decoded, they are four times as many bytes.
pub const MOST_PIXELS: u64 = 40_000_000;
/// The longer side of what is served at most.
const LONGEST_SIDE: u32 = 2560;
/// Up to this many pixels, a drawing is also tried without loss, which takes long.
const EXACT_PIXELS: u32 = 1_500_000;

/// Checks all that can be known without decoding.
pub fn inspect(bytes: &[u8]) -> Result<(), Problem> {
    open(bytes).map(drop)
}

/// The media type of a picture that is served unchanged.
pub fn media_type(bytes: &[u8]) -> Result<&'static str, Problem> {
    open(bytes).map(|(format, _)| format.to_mime_type())
}

/// The picture as WebP, then in each of [`WIDTHS`]; one that is narrower is never made wider.
pub fn make(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Problem> {
    let (format, mut decoder) = open(bytes)?;
    if format == ImageFormat::Jpeg && !has_end(bytes) {
        return Err(Problem::CutOff);
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let colours = Colours::of(decoder.icc_profile().ok().flatten());
    let pixels = DynamicImage::from_decoder(decoder)?;
    let inks = || colours.as_ref()?.of_inks(bytes).filter(|_| format == ImageFormat::Jpeg);
    let converted = inks().or_else(|| colours.as_ref()?.of_decoded(&pixels));
    let mut picture = converted.map_or(pixels, DynamicImage::from);
    picture.apply_orientation(orientation);
    let mut picture = picture.into_rgba8();
    let drawn = matches!(format, ImageFormat::Png | ImageFormat::Gif);
    let (width, height) = picture.dimensions();
    if width.max(height) > LONGEST_SIDE {
        picture = shrunk(picture, LONGEST_SIDE, width.max(height));
    }
    let mut made = vec![encode(&picture, drawn)?];
    for wanted in WIDTHS.into_iter().rev() {
        if picture.width() > wanted {
            let width = picture.width();
            picture = shrunk(picture, wanted, width);
            made.insert(1, encode(&picture, drawn)?);
        } else {
            made.insert(1, made.get(1).unwrap_or(&made[0]).clone());
        }
    }
    Ok(made)
}

/// The decoder of a still picture of a size that can be decoded.
fn open(bytes: &[u8]) -> Result<(ImageFormat, Box<dyn ImageDecoder + '_>), Problem> {
    let format = image::guess_format(bytes).map_err(|_| Problem::NoPicture)?;
    let cursor = Cursor::new(bytes);
    let mut is_animated = false;
    let decoder: Box<dyn ImageDecoder> = match format {
        ImageFormat::Png => {
            let png = PngDecoder::with_limits(cursor, Limits::default())?;
            is_animated = png.is_apng()?;
            Box::new(png)
        }
        ImageFormat::Jpeg => Box::new(JpegDecoder::new(cursor)?),
        ImageFormat::WebP => {
            let webp = WebPDecoder::new(cursor)?;
            is_animated = webp.has_animation();
            Box::new(webp)
        }
        ImageFormat::Gif => Box::new(GifDecoder::new(cursor)?),
        _ => return Err(Problem::NoPicture),
    };
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(Problem::TooManyPixels(width, height));
    }
    if format == ImageFormat::Gif {
        // Only its frames say so; of one that is not whole, the first is missing too.
        is_animated = GifDecoder::new(Cursor::new(bytes))?.into_frames().take(2).flatten().count() > 1;
    }
    if is_animated { Err(Problem::Animated) } else { Ok((format, decoder)) }
}

/// Whether the data of a JPEG have an end. The decoder fills what is missing with grey. Within the data, `FF` is followed by 0 or
/// the number of a restart, so the last start of data is that of the picture.
fn has_end(bytes: &[u8]) -> bool {
    let last = |mark: u8| bytes.windows(2).rposition(|pair| pair == [0xff, mark]);
    last(0xd9) > last(0xda)
}

/// The picture made smaller, to `to` of `of` pixels. Colours count by how opaque they are: those of invisible pixels would show at the edges.
fn shrunk(mut picture: RgbaImage, to: u32, of: u32) -> RgbaImage {
    for pixel in picture.pixels_mut() {
        let [colours @ .., alpha] = &mut pixel.0;
        for colour in colours {
            *colour = weighted(*colour, *alpha, 255);
        }
    }
    // Below the length, since `to` is below `of`; rounded.
    let side = |length: u32| {
        let shorter = (u64::from(length) * u64::from(to) + u64::from(of) / 2) / u64::from(of);
        u32::try_from(shorter).unwrap_or(length).max(1)
    };
    let mut small = imageops::resize(&picture, side(picture.width()), side(picture.height()), FilterType::CatmullRom);
    for pixel in small.pixels_mut() {
        let [colours @ .., alpha] = &mut pixel.0;
        for colour in colours {
            *colour = weighted(*colour, 255, *alpha);
        }
    }
    small
}

/// `colour` × `times` / `by`, rounded; 0 if `by` is 0.
fn weighted(colour: u8, times: u8, by: u8) -> u8 {
    let (colour, times, by) = (u32::from(colour), u32::from(times), u32::from(by));
    let weighted = (colour * times + by / 2).checked_div(by).unwrap_or_default();
    u8::try_from(weighted).unwrap_or(u8::MAX)
}

/// The picture as WebP: with a loss that is not seen, or without one if `drawn` and that is shorter.
fn encode(picture: &RgbaImage, drawn: bool) -> Result<Vec<u8>, Problem> {
    let (width, height) = picture.dimensions();
    let encoder = webp::Encoder::from_rgba(picture, width, height);
    let encode = |exact, quality| {
        let result = encoder.encode_simple(exact, quality);
        result.map(|bytes| bytes.to_vec()).map_err(|error| Problem::NotEncoded(format!("{error:?}")))
    };
    let lossy = encode(false, 82.0)?;
    if !drawn || width * height > EXACT_PIXELS {
        return Ok(lossy);
    }
    let exact = encode(true, 75.0)?;
    Ok(if exact.len() <= lossy.len() { exact } else { lossy })
}

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
