//! The shop's static files: scripts, style and icons, which are served below `/assets/<hash>/`. They change only together
//! with the hash, so that browsers and the edge keep them for a year.

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The files of the shop: paths such as `js/app.js`, and their bytes.
pub static ASSETS: &[(&str, &[u8])] = FILES;

/// The languages that the shop speaks: the code of each, and its texts as a script that exports one object of JSON.
pub static TEXTS: &[(&str, &str)] = LANGUAGES;

/// The first 16 hexadecimal digits of the SHA-256 hash over the paths and contents of all [`ASSETS`]. A program that uses
/// only this does not link the files.
pub const fn hash() -> &'static str {
    HASH
}

/// The media type of a file by its name; `None` if the shop has no such files.
pub fn media_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        _ => return None,
    })
}

/// The widths in which a raster picture of a store is published, beside its own.
pub const WIDTHS: [u32; 3] = [320, 640, 1280];

/// The `srcset` of a picture that is published in several widths: a name of 32 hexadecimal digits and `.webp`. `None` for
/// any other picture, which has one size.
pub fn srcset(image: &str) -> Option<String> {
    let stem = image.strip_suffix(".webp")?;
    let name = stem.rsplit_once('/').map_or(stem, |(_, name)| name);
    let is_hash = name.len() == 32 && name.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| WIDTHS.map(|width| format!("{stem}-{width}.webp {width}w")).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_media_type_and_a_path_without_surprises() {
        assert!(ASSETS.len() > 10);
        for (path, bytes) in ASSETS {
            assert!(media_type(path).is_some() && !bytes.is_empty(), "{path}");
            assert!(path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)), "{path}");
        }
        assert!(hash().len() == 16 && hash().bytes().all(|digit| digit.is_ascii_hexdigit()), "{}", hash());
    }

    #[test]
    fn only_pictures_under_their_hash_have_several_widths() {
        let hash = "0123456789abcdef0123456789abcdef";
        let expected = format!("/img/{hash}-320.webp 320w, /img/{hash}-640.webp 640w, /img/{hash}-1280.webp 1280w");
        assert_eq!(srcset(&format!("/img/{hash}.webp")), Some(expected));
        for other in [
            "/img/hero.webp",
            "/img/a.svg",
            "",
            &format!("/img/{hash}-320.webp"),
            &format!("/img/{}.webp", hash.to_uppercase()),
        ] {
            assert_eq!(srcset(other), None, "{other}");
        }
    }

    /// A text that is missing would be shown as its name.
    #[test]
    fn every_text_is_in_every_language() {
        let pages = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/pages")).unwrap();
        let mut used: String = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap()).collect();
        for (_, script) in ASSETS.iter().filter(|(path, _)| path.starts_with("js/")) {
            used += std::str::from_utf8(script).unwrap();
        }
        let names = |text: &'static str| -> Vec<&'static str> {
            text.lines()
                .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\": ").map(|(name, _)| name))
                .collect()
        };
        let first = names(TEXTS[0].1);
        assert!(first.len() > 100 && first.is_sorted(), "{first:?}");
        for (language, text) in TEXTS {
            assert_eq!(names(text), first, "{language}");
        }
        for call in ["t.of(\"", "t.with(\"", "t.with2(\"", " t(\"", "(t(\"", "count(\"", "parts(\""] {
            for (at, _) in used.match_indices(call) {
                let name = used[at + call.len()..].split('"').next().unwrap();
                assert!(first.contains(&name), "{name} is not a text");
            }
        }
    }
}
