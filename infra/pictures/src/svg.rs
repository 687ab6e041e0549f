//! SVG: drawings that are text, and can have scripts. Nothing is removed from one: it is kept unchanged, or refused.

use crate::Problem;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::{NsReader, XmlVersion};

const SVG: &str = "http://www.w3.org/2000/svg";
const XHTML: &str = "http://www.w3.org/1999/xhtml";
/// Elements of SVG that run something or show another document.
const REFUSED: [&str; 11] = [
    "script",
    "foreignobject",
    "handler",
    "listener",
    "iframe",
    "object",
    "embed",
    "audio",
    "video",
    "canvas",
    "discard",
];

/// Whether a file begins as an SVG does: with a tag, after blanks and a byte order mark.
pub fn is_svg(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"<")
}

/// Refuses an SVG that is more than a drawing: scripts, event attributes, other documents in it, and anything that is loaded
/// from elsewhere. In a shop an SVG is served with a policy that runs no script either.
pub fn check(bytes: &[u8]) -> Result<(), Problem> {
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::NoSvg("its text must be UTF-8".to_owned()))?;
    let broken = |error: &dyn std::fmt::Display| Problem::NoSvg(error.to_string());
    let mut reader = NsReader::from_str(text.trim_start_matches('\u{feff}'));
    reader.config_mut().check_end_names = true;
    let (mut depth, mut is_style, mut has_root) = (0_u32, false, false);
    loop {
        let (namespace, event) = reader.read_resolved_event().map_err(|error| broken(&error))?;
        match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                let is_drawing = matches!(namespace, ResolveResult::Bound(Namespace(SVG)));
                if !(has_root || is_drawing && name(tag) == "svg") {
                    return Err(Problem::NoSvg("its first element must be svg of the namespace of SVG".to_owned()));
                }
                has_root = true;
                check_element(tag, &namespace)?;
                if matches!(event, Event::Start(_)) {
                    (depth, is_style) = (depth + 1, name(tag) == "style");
                }
            }
            Event::End(_) => (depth, is_style) = (depth.saturating_sub(1), false),
            Event::Text(text) if is_style => check_style(text)?,
            Event::CData(text) if is_style => check_style(text)?,
            Event::GeneralRef(_) if is_style => return Err(refused("a reference in a style")),
            Event::PI(_) => return Err(refused("a processing instruction, such as a style sheet of its own")),
            Event::DocType(text) if text.contains('[') => return Err(refused("entities in its DOCTYPE")),
            Event::Eof if depth > 0 => return Err(Problem::CutOff),
            Event::Eof if !has_root => return Err(Problem::NoPicture),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn refused(what: impl Into<String>) -> Problem {
    Problem::Unsafe(what.into())
}

fn name(tag: &BytesStart<'_>) -> String {
    tag.local_name().as_ref().to_ascii_lowercase()
}

fn check_element(tag: &BytesStart<'_>, namespace: &ResolveResult<'_>) -> Result<(), Problem> {
    let element = name(tag);
    if REFUSED.contains(&element.as_str()) || matches!(namespace, ResolveResult::Bound(Namespace(XHTML))) {
        return Err(refused(format!("the element {element}")));
    }
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| Problem::NoSvg(error.to_string()))?;
        let key = attribute.key.local_name().as_ref().to_ascii_lowercase();
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| Problem::NoSvg(error.to_string()))?;
        let value = value.trim();
        if key.starts_with("on") {
            return Err(refused(format!("the event attribute {key}")));
        }
        // An animation can set what the drawing itself must not have.
        let sets = key == "attributename" && (value.to_ascii_lowercase().contains("href") || value.starts_with("on"));
        if sets || matches!(key.as_str(), "href" | "src") && !is_inside(value) {
            return Err(refused(format!("a reference to {value:.60}")));
        }
        // Elements of drawing programs have a prefix, and are not styles.
        if attribute.key.prefix().is_none() {
            check_style(value)?;
        }
    }
    Ok(())
}

/// Whether a reference is to a part of the same drawing, or to a picture that is in it.
fn is_inside(reference: &str) -> bool {
    let kinds = ["data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"];
    reference.is_empty() || reference.starts_with('#') || kinds.iter().any(|kind| reference.starts_with(kind))
}

/// Refuses a style, or the value of an attribute, that loads something.
fn check_style(text: &str) -> Result<(), Problem> {
    let text = text.to_ascii_lowercase();
    let outside = |part: &str| !is_inside(part.trim_start().trim_start_matches(['"', '\'']));
    // A backslash can spell `url` in another way.
    if text.contains("@import") || text.contains('\\') || text.split("url(").skip(1).any(outside) {
        return Err(refused("a style that loads something"));
    }
    Ok(())
}
