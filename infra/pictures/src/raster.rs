//! Pictures made of pixels: looked at before they are decoded, converted to sRGB, turned upright, made smaller, and written as
//! WebP without anything else that the file had.

use crate::Problem;
use crate::colour::Colours;
use image::codecs::{gif::GifDecoder, jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder};
use image::imageops::{self, FilterType};
use image::metadata::Orientation;
use image::{AnimationDecoder as _, DynamicImage, ImageDecoder, ImageFormat, Limits, RgbaImage};
use shop::WIDTHS;
use std::io::Cursor;

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
