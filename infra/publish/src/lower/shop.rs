//! How the shop's pages look.

use super::text::check_image;
use crate::fault::Report;
use crate::files::{At, PaletteFile, ShopFile, StoreFiles};
use shared::model::{Hero, Link, Palette, Shop};
use shared::rules::colours::{self, Scheme};

/// The largest style sheet of an owner in bytes: every visitor loads it before anything is shown.
const LARGEST_CSS: usize = 16 * 1024;

pub(super) fn shop(files: &StoreFiles, report: &mut Report) -> Option<Shop> {
    let file = files.store.content.shop.as_ref()?;
    for (image, field) in [(&file.logo, "shop.logo"), (&file.hero.image, "shop.hero.image")] {
        check_image(image, &files.images, image.line, field, report);
    }
    let mut sections = file.sections.value.clone();
    sections.sort_by_key(|section| *section as u8);
    sections.dedup();
    if sections.len() < file.sections.len() {
        report.fault(file.sections.line, "shop.sections", "names a section twice");
    }
    Some(Shop {
        logo: file.logo.value.clone(),
        hero: Hero {
            image: file.hero.image.value.clone(),
            title: file.hero.title.clone(),
            text: file.hero.text.clone(),
            button: file.hero.button.as_ref().map(Link::from),
        },
        light: palette(file.colours.light.as_ref(), "light", report),
        dark: palette(file.colours.dark.as_ref(), "dark", report),
        font: file.font,
        links: file.links.iter().map(Link::from).collect(),
        sections: file.sections.value.clone(),
        delivery_times: file.delivery_times,
        css: css(file, &files.css, report),
    })
}

/// Three colours in which every text of a page can be read.
fn palette(file: Option<&PaletteFile>, name: &str, report: &mut Report) -> Option<Palette> {
    let file = file?;
    let mut colour = |text: &At<String>, part: &str| {
        let parsed = colours::parse(text);
        if parsed.is_none() {
            report.fault(
                text.line,
                format!("shop.colours.{name}.{part}"),
                "must be a colour such as \"#b1380e\", in quotes",
            );
        }
        parsed
    };
    let (accent, background, text) =
        (colour(&file.accent, "accent"), colour(&file.background, "background"), colour(&file.text, "text"));
    let palette = Palette { accent: accent?, background: background?, text: text? };
    let (part, contrast) = Scheme::of(&palette).worst();
    if contrast < colours::LEAST_CONTRAST {
        let line = if part == "accent" { file.accent.line } else { file.text.line };
        let shown = |contrast: u64| format!("{}.{} to 1", contrast / 1_000, contrast % 1_000 / 100);
        let problem = format!(
            "cannot be read well: its contrast with the background is {}, and must be {} on every part of a page",
            shown(contrast),
            shown(colours::LEAST_CONTRAST)
        );
        report.fault(line, format!("shop.colours.{name}.{part}"), problem);
    }
    Some(palette)
}

/// The owner's style sheet. It can load nothing: the policy of the pages allows the shop's own style sheets only.
fn css(file: &ShopFile, text: &str, report: &mut Report) -> String {
    let mut fault = |problem: &str| report.fault(file.css.line, "shop.css", problem);
    if text.len() > LARGEST_CSS {
        fault(&format!("may have at most {} KiB, because every visitor loads it first", LARGEST_CSS / 1024));
    }
    if text.to_ascii_lowercase().contains("@import") {
        fault("must not have @import: browsers would refuse it; copy what it imports");
    }
    text.to_owned()
}
