//! Pictures that a store's files name, and the files made of them.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, Frame, GrayImage, ImageEncoder as _, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use moxcms::ColorProfile;
use pictures::{Made, Picture, by_name, keys_of, name_pictures};
use publish::Fault;
use publish::files::StoreFiles;
use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use tempfile::TempDir;

const DRAWING: &str = r#"<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>"#;

/// A store with these files in img/; item 1 names the first of them, and so on.
fn store(images: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("store.yaml", b"format: 1\nname: Test\ncurrency: {code: EUR}\n");
    let mut category = "id: 1\nslug: a\nname: A\nitems:\n".to_owned();
    for (place, (name, bytes)) in images.iter().enumerate() {
        let id = place + 1;
        writeln!(category, "  - {{id: {id}, name: {id}, price: 1, image: /img/{name}}}").unwrap();
        write(&format!("img/{name}"), bytes);
    }
    write("categories/a.yaml", category.as_bytes());
    dir
}

fn named(dir: &Path) -> (StoreFiles, Vec<Picture>, Vec<Fault>) {
    let mut files = publish::read(dir).unwrap();
    let (pictures, faults) = name_pictures(dir, &mut files, &|_| {});
    (files, pictures, faults)
}

/// The pictures made of one file, or its fault.
fn made(name: &str, bytes: &[u8]) -> Result<Vec<Made>, String> {
    let dir = store(&[(name, bytes)]);
    match named(dir.path()) {
        (_, pictures, faults) if faults.is_empty() => pictures[0].make(dir.path()).map_err(|fault| fault.to_string()),
        (_, _, faults) => Err(faults[0].to_string()),
    }
}

fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A picture of which no part is like another.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, _] = state.to_be_bytes();
        Rgb([a, b, c])
    })
    .into()
}

fn read(made: &Made) -> RgbaImage {
    image::load_from_memory_with_format(&made.bytes, ImageFormat::WebP).unwrap().into_rgba8()
}

fn animation() -> Vec<u8> {
    let mut bytes = Vec::new();
    let frames = [0, 255].map(|grey| Frame::new(RgbaImage::from_pixel(8, 8, Rgba([grey, grey, grey, 255]))));
    GifEncoder::new(&mut bytes).encode_frames(frames).unwrap();
    bytes
}

#[test]
fn every_file_that_is_no_picture_is_refused_by_name_with_file_line_and_field() {
    let bomb = written(&GrayImage::new(7_000, 7_000).into(), ImageFormat::Png);
    assert!(bomb.len() < 300_000, "a small file: {}", bomb.len());
    let wide_gif = b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x4c\x01\0;";
    let large = vec![b'x'; 10_000_001];
    let still = written(&RgbImage::new(2, 2).into(), ImageFormat::Png);
    let script = DRAWING.replace("<path", "<script>alert(1)</script><path");
    let cases: [(&str, &[u8], &str); 9] = [
        ("empty.png", b"", "is not a picture"),
        ("page.jpg", b"<!doctype html><script>alert(1)</script>", "is not an SVG"),
        ("script.svg", script.as_bytes(), "the element script"),
        ("program.png", b"\x7fELF\x02\x01\x01", "is not a picture"),
        ("bomb.png", &bomb, "has 7000 × 7000 pixels"),
        ("bomb.gif", wide_gif, "pixels"),
        ("moving.gif", &animation(), "is animated"),
        ("large.png", &large, "is larger than 10 MB"),
        ("sound.png", &still, ""),
    ];
    let dir = store(&cases.map(|(name, bytes, _)| (name, bytes)));
    let (mut files, pictures, faults) = named(dir.path());
    assert_eq!(pictures.len(), 1, "the sound one");
    for (place, (name, _, expected)) in cases.iter().enumerate().take(8) {
        let head = format!("categories/a.yaml, line {}, items[{}].image: img/{name} ", place + 5, place + 1);
        let fault = faults.iter().map(ToString::to_string).find(|fault| fault.starts_with(&head));
        let fault = fault.unwrap_or_else(|| panic!("{head} is not in {faults:?}"));
        assert!(fault.contains(expected), "{fault}");
    }
    let urls: Vec<String> = files.named_images().into_iter().map(|image| image.url.clone()).collect();
    assert_eq!((urls[0].as_str(), urls[8].as_str()), ("/img/empty.png", pictures[0].url().as_str()));
}

#[test]
fn a_picture_that_is_cut_off_is_refused_wherever_it_ends() {
    let image = noise(90, 70);
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif] {
        let whole = written(&image, format);
        assert!(made("a.png", &whole).is_ok(), "{format:?}");
        for tenths in 1..10 {
            let cut = &whole[..whole.len() * tenths / 10];
            let fault = made("a.png", cut).err();
            assert!(fault.is_some_and(|fault| fault.contains("img/a.png")), "{format:?} after {tenths} tenths");
        }
    }
    let cut = &DRAWING[..DRAWING.len() - 6];
    assert!(made("a.svg", cut.as_bytes()).is_err());
}

#[test]
fn only_an_svg_that_is_a_drawing_is_kept_and_it_is_kept_as_it_is() {
    let with = |part: &str| DRAWING.replace("<path", &format!("{part}<path"));
    let refused = [
        with("<script/>"),
        with("<SCRIPT>x</SCRIPT>"),
        with(r#"<s:script xmlns:s="http://www.w3.org/2000/svg">x</s:script>"#),
        with("<foreignObject><p>x</p></foreignObject>"),
        with(r#"<img xmlns="http://www.w3.org/1999/xhtml"/>"#),
        with(r#"<rect onload="x()"/>"#),
        with(r#"<rect oNcLick="x()"/>"#),
        with(r#"<image href="https://a.example/p.png"/>"#),
        with(r#"<image xmlns:x="http://www.w3.org/1999/xlink" x:href="//a.example/p.png"/>"#),
        with(r#"<a href="java&#115;cript:x()"/>"#),
        with(r#"<use href="data:image/svg+xml,x"/>"#),
        with(r#"<set attributeName="href" to="javascript:x()"/>"#),
        with(r#"<animate attributeName="onclick"/>"#),
        with(r#"<rect fill="url(https://a.example/#x)"/>"#),
        with(r#"<rect style="fill: u\72l(https://a.example/)"/>"#),
        with("<style>@import 'https://a.example';</style>"),
        with("<style><![CDATA[a{fill:url( 'https://a.example')}]]></style>"),
        with("<style>@im&#112;ort 'https://a.example';</style>"),
        format!(r#"<!DOCTYPE svg [<!ENTITY a "&b;">]>{DRAWING}"#),
        format!(r#"<?xml-stylesheet href="https://a.example"?>{DRAWING}"#),
        "<svg><path/></svg>".to_owned(),
        with("<rect></g>"),
    ];
    for svg in refused {
        let fault = made("a.svg", svg.as_bytes()).err();
        assert!(fault.is_some_and(|fault| fault.contains("items[1].image: img/a.svg")), "{svg}");
    }
    let inside =
        r##"<use href="#a"/><rect fill="url(#a)" style="mask:url('#b')"/><image href="data:image/png;base64,AA"/>"##;
    let foreign = r#"<i:view xmlns:i="http://www.inkscape.org/" i:file="C:\a"/><style>a{fill:red}</style>"#;
    let head = "\u{feff}<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"a.dtd\"><!-- x -->";
    for svg in [with(inside), with(foreign), format!("{head}{DRAWING}")] {
        let made = made("a.svg", svg.as_bytes()).unwrap_or_else(|fault| panic!("{svg}: {fault}"));
        assert_eq!((made.len(), made[0].media_type), (1, "image/svg+xml"));
        assert_eq!(made[0].bytes, svg.as_bytes());
    }
}

#[test]
fn a_picture_is_made_in_every_width_and_never_wider_than_it_is() {
    for (width, height, expected) in [
        (1_500, 500, [(1_500, 500), (320, 107), (640, 214), (1_280, 427)]),
        (500, 300, [(500, 300), (320, 192), (500, 300), (500, 300)]),
        (20, 10, [(20, 10); 4]),
        (100, 3_000, [(85, 2_560); 4]),
    ] {
        let made = made("a.jpg", &written(&noise(width, height), ImageFormat::Jpeg)).unwrap();
        let sizes: Vec<(u32, u32)> = made.iter().map(|made| read(made).dimensions()).collect();
        assert_eq!(sizes, expected, "{width} × {height}");
        let keys: Vec<String> = made.iter().map(|made| made.key.clone()).collect();
        assert_eq!(keys_of(&format!("/{}", keys[0])), Some(keys.clone()));
        let ends: Vec<&str> = keys.iter().map(|key| &key[4 + 32..]).collect();
        assert_eq!(ends, [".webp", "-320.webp", "-640.webp", "-1280.webp"]);
    }
    for other in ["/img/a.webp", "/img/0123456789abcdef0123456789abcdef.png", "0123456789abcdef0123456789abcdef.webp"] {
        assert_eq!(keys_of(other), None, "{other}");
    }
}

#[test]
fn a_photo_is_turned_upright_and_nothing_else_of_its_file_is_kept() {
    // Little-endian TIFF with one entry: orientation 6, "turn right". Then private data.
    let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    exif.extend(b"48.2082N 16.3738E");
    let lying = RgbImage::from_fn(64, 32, |x, _| if x < 32 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) });
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new(&mut bytes);
    encoder.set_exif_metadata(exif).unwrap();
    encoder.encode_image(&lying).unwrap();
    assert!(bytes.windows(8).any(|part| part == b"48.2082N"));
    let made = made("a.jpg", &bytes).unwrap();
    let upright = read(&made[0]);
    assert_eq!(upright.dimensions(), (32, 64));
    let (top, bottom) = (upright.get_pixel(16, 10), upright.get_pixel(16, 54));
    assert!(top[0] > 200 && top[2] < 60 && bottom[2] > 200 && bottom[0] < 60, "{top:?} {bottom:?}");
    for file in made {
        assert!(!file.bytes.windows(4).any(|part| part == b"EXIF" || part == b"Exif" || part == b"48.2"));
    }
}

#[test]
fn invisible_pixels_do_not_colour_the_edges_and_print_colours_are_read() {
    let logo = RgbaImage::from_fn(800, 800, |x, _| if x % 10 < 5 { Rgba([255; 4]) } else { Rgba([0; 4]) });
    let made_of_logo = made("a.png", &written(&logo.into(), ImageFormat::Png)).unwrap();
    let dark = read(&made_of_logo[1]).pixels().filter(|pixel| pixel[3] > 60 && pixel[0] < 200).count();
    assert_eq!(dark, 0, "white stays white");
    let red = read(&made("a.jpg", include_bytes!("cmyk.jpg")).unwrap()[0]);
    let pixel = red.get_pixel(8, 8);
    assert!(pixel[0] > 200 && pixel[1] < 60 && pixel[2] < 60, "CMYK 0 100 100 0 is red: {pixel:?}");
}

/// A small profile of four inks on paper that keeps half of the light of cyan, magenta and yellow: a table of two steps for each
/// ink, in Lab (ICC.1, lut8Type).
fn profile_of_inks() -> Vec<u8> {
    let mut table = b"mft1\0\0\0\0\x04\x03\x02\0".to_vec();
    for number in [1, 0, 0, 0, 1, 0, 0, 0, 1_u32] {
        table.extend((number << 16).to_be_bytes());
    }
    let straight = || 0..=255_u8;
    table.extend((0..4).flat_map(|_| straight()));
    for inks in 0..16_u8 {
        // Black ink leaves nothing; each other one half of the light, without a colour.
        let coloured = (inks >> 1).count_ones();
        table.extend([if inks & 1 == 1 { 0 } else { 255_u8 >> coloured }, 128, 128]);
    }
    table.extend((0..3).flat_map(|_| straight()));
    let tag_at = 128 + 4 + 12;
    let size = u32::try_from(tag_at + table.len()).unwrap();
    let mut profile = vec![0; 128];
    let mut put = |at: usize, bytes: &[u8]| profile[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &size.to_be_bytes());
    put(8, &[2, 0x40, 0, 0]);
    put(12, b"prtrCMYKLab ");
    put(36, b"acsp");
    for (at, part) in [(68, 0xf6d6_u32), (72, 0x1_0000), (76, 0xd32d)] {
        put(at, &part.to_be_bytes());
    }
    profile.extend(1_u32.to_be_bytes());
    profile.extend(b"A2B0");
    profile.extend(u32::try_from(tag_at).unwrap().to_be_bytes());
    profile.extend(u32::try_from(table.len()).unwrap().to_be_bytes());
    profile.extend(table);
    profile
}

/// A JPEG with this profile.
fn with_profile(jpeg: &[u8], profile: &[u8]) -> Vec<u8> {
    let mut segment = b"ICC_PROFILE\0\x01\x01".to_vec();
    segment.extend(profile);
    let length = u16::try_from(segment.len() + 2).unwrap();
    [&jpeg[..2], &[0xff, 0xe2], &length.to_be_bytes(), &segment, &jpeg[2..]].concat()
}

#[test]
fn colours_of_a_profile_are_served_as_srgb() {
    let profile = |profile: ColorProfile| profile.encode().unwrap();
    let of = |colour: [u8; 3]| DynamicImage::from(RgbImage::from_pixel(16, 16, Rgb(colour)));
    let png = |image: &DynamicImage, profile: Option<Vec<u8>>| {
        let mut bytes = Vec::new();
        let mut encoder = PngEncoder::new(&mut bytes);
        if let Some(profile) = profile {
            encoder.set_icc_profile(profile).unwrap();
        }
        encoder.write_image(image.as_bytes(), 16, 16, image.color().into()).unwrap();
        bytes
    };
    let shown = |name: &str, bytes: &[u8]| read(&made(name, bytes).unwrap()[0]).get_pixel(8, 8).0;
    let near = |pixel: [u8; 4], wanted: [u8; 3], by: u8| {
        assert!(pixel.iter().zip(wanted).all(|(is, wanted)| is.abs_diff(wanted) <= by), "{pixel:?}, not {wanted:?}");
    };
    // A phone's picture. CSS Color 4 has the same colours: color(display-p3 0.6 0.4 0.4) is rgb(162 99 101).
    let p3 = || Some(profile(ColorProfile::new_display_p3()));
    near(shown("a.png", &png(&of([153, 102, 102]), p3())), [162, 99, 101], 2);
    let mut jpeg = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut jpeg, 95);
    encoder.set_icc_profile(p3().unwrap()).unwrap();
    encoder.encode_image(&of([153, 102, 102])).unwrap();
    near(shown("a.jpg", &jpeg), [162, 99, 101], 4);
    // Nothing changes for the usual profile, none, a broken one, and one of other colours.
    let other = Some(profile_of_inks());
    for profile in [Some(profile(ColorProfile::new_srgb())), None, Some(vec![1; 200]), other] {
        for colour in [[255, 255, 255], [1, 128, 254], [200, 30, 90]] {
            assert_eq!(shown("a.png", &png(&of(colour), profile.clone()))[..3], colour);
        }
    }
    let grey = DynamicImage::from(GrayImage::from_pixel(16, 16, image::Luma([128])));
    let linear = Some(profile(ColorProfile::new_gray_with_gamma(1.0)));
    near(shown("a.png", &png(&grey, linear)), [188, 188, 188], 2);
    // Inks: magenta and yellow leave a quarter of the brightness of paper by this profile, and are red without it.
    let inks = with_profile(include_bytes!("cmyk.jpg"), &profile_of_inks());
    near(shown("a.jpg", &inks), [59, 59, 59], 4);
}

#[test]
fn a_name_is_the_content_and_a_picture_that_changes_meanwhile_is_refused() {
    let (one, other) = (noise(3, 3), noise(4, 3));
    let [one, other] = [one, other].map(|image| written(&image, ImageFormat::Png));
    let dir = store(&[("a.png", &one), ("b/c d.png", &one), ("other.png", &other)]);
    let text = fs::read_to_string(dir.path().join("categories/a.yaml")).unwrap();
    fs::write(dir.path().join("categories/a.yaml"), text.replace("b/c d.png", "b/c%20d.png?v=1")).unwrap();
    let (mut files, pictures, faults) = named(dir.path());
    assert!(faults.is_empty() && pictures.len() == 2, "{faults:?}");
    let urls: Vec<String> = files.named_images().into_iter().map(|image| image.url.clone()).collect();
    assert!(urls[0] == urls[1] && urls[0] != urls[2], "{urls:?}");
    assert!(publish::check(&files).is_empty());
    fs::write(dir.path().join("img/a.png"), &other).unwrap();
    fs::write(dir.path().join("img/b/c d.png"), &other).unwrap();
    let outcomes: Vec<bool> = pictures.iter().map(|picture| picture.make(dir.path()).is_ok()).collect();
    assert_eq!(outcomes.iter().filter(|is_made| **is_made).count(), 1);
    // Pictures at an address of the owner's own keep the names that they have there.
    let mut store = fs::read_to_string(dir.path().join("store.yaml")).unwrap();
    store.push_str("assets_url: https://cdn.example\n");
    fs::write(dir.path().join("store.yaml"), store).unwrap();
    let (mut files, pictures, faults) = named(dir.path());
    assert!(pictures.is_empty() && faults.is_empty());
    assert_eq!(*files.named_images()[0].url, "/img/a.png");
}

#[test]
fn of_ten_thousand_files_only_those_that_are_named_are_read_and_none_outside_of_img() {
    let dir = store(&[("a.svg", DRAWING.as_bytes())]);
    for number in 0..10_000 {
        fs::write(dir.path().join(format!("img/{number}.png")), b"no picture").unwrap();
    }
    fs::write(dir.path().join(".outside.svg"), DRAWING).unwrap();
    let mut items = String::new();
    for (place, name) in ["../", "%2e%2e/", "/../", "..\\\\"].iter().enumerate() {
        let id = place + 2;
        writeln!(items, "  - {{id: {id}, name: n{id}, price: 1, image: \"/img/{name}.outside.svg\"}}").unwrap();
    }
    let path = dir.path().join("categories/a.yaml");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &items).unwrap();
    let (mut files, pictures, faults) = named(dir.path());
    assert_eq!((pictures.len(), faults.len()), (1, 0), "{faults:?}");
    let urls: Vec<String> = files.named_images().into_iter().map(|image| image.url.clone()).collect();
    assert!(!urls[0].contains("a.svg") && urls[1..].iter().all(|url| url.contains("outside")), "{urls:?}");
    assert!(!publish::check(&files).is_empty(), "the check names those that are not in img/");
}

#[test]
fn pictures_that_storefronts_ask_for_by_name_keep_it() {
    let logo = written(&noise(9, 9), ImageFormat::Png);
    let dir = store(&[("a.png", &logo)]);
    for (name, bytes) in [("logo.png", logo.as_slice()), ("banner.png", b"<svg/>"), ("other.png", &logo)] {
        fs::write(dir.path().join("img").join(name), bytes).unwrap();
    }
    let (found, faults) = by_name(dir.path(), &publish::read(dir.path()).unwrap());
    let [Made { key, bytes, media_type }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((key.as_str(), bytes, *media_type), ("img/logo.png", &logo, "image/png"));
    assert_eq!(
        faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["img/banner.png: is not a picture: PNG, JPEG, WebP, GIF and SVG are read"]
    );
}
