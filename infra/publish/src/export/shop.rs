//! How the shop's pages look, as a file.

use super::links;
use crate::files::{At, ColoursFile, HeroFile, PaletteFile, ShopFile, StoreFiles};
use shared::model::{Palette, Shop};
use shared::rules::colours;
use std::path::Path;
use std::{fs, io};

/// Writes the owner's style sheet beside `store.yaml`.
pub(super) fn write_css(dir: &Path, files: &StoreFiles) -> io::Result<()> {
    match &files.store.content.shop {
        Some(shop) if !files.css.is_empty() => fs::write(dir.join(&shop.css.value), &files.css),
        _ => Ok(()),
    }
}

pub(super) fn shop(shop: &Shop) -> ShopFile {
    let hex = |colour| At::from(colours::hex(colour));
    let palette = |palette: Palette| PaletteFile {
        accent: hex(palette.accent),
        background: hex(palette.background),
        text: hex(palette.text),
    };
    ShopFile {
        logo: shop.logo.clone().into(),
        hero: HeroFile {
            image: shop.hero.image.clone().into(),
            title: shop.hero.title.clone(),
            text: shop.hero.text.clone(),
            button: links(shop.hero.button.as_slice()).pop(),
        },
        colours: ColoursFile { light: shop.light.map(palette), dark: shop.dark.map(palette) },
        font: shop.font,
        links: links(&shop.links),
        sections: shop.sections.clone().into(),
        css: if shop.css.is_empty() { String::new() } else { "shop.css".to_owned() }.into(),
    }
}
