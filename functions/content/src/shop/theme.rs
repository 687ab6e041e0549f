//! The style sheet of a store: its colours, its font, and what its owner wrote.

use shared::model::{Font, Palette, Shop};
use shared::rules::colours::{Colour, Scheme, hex};
use std::fmt::Write as _;

/// The shop's own colours, for the half that an owner does not name.
const LIGHT: Palette = Palette { accent: [177, 56, 14], background: [250, 246, 240], text: [43, 31, 25] };
const DARK: Palette = Palette { accent: [255, 154, 82], background: [21, 17, 15], text: [244, 233, 223] };

pub fn is_plain(shop: &Shop) -> bool {
    shop.light.is_none() && shop.dark.is_none() && shop.font == Font::default() && shop.css.is_empty()
}

pub fn css(shop: &Shop) -> String {
    let (mut css, mut fallback) = (String::from(":root {\n"), String::new());
    if shop.light.is_some() || shop.dark.is_some() {
        let light = Scheme::of(&shop.light.unwrap_or(LIGHT));
        let dark = Scheme::of(&shop.dark.unwrap_or(DARK));
        let mut plain = String::new();
        let mut pair = |name: &str, of: fn(&Scheme) -> Colour| {
            _ = writeln!(css, "  --{name}: light-dark({}, {});", hex(of(&light)), hex(of(&dark)));
            _ = write!(plain, " --{name}: {};", hex(of(&light)));
        };
        pair("page", |scheme| scheme.page);
        pair("card", |scheme| scheme.card);
        pair("sunk", |scheme| scheme.sunk);
        pair("ink", |scheme| scheme.ink);
        pair("soft", |scheme| scheme.soft);
        pair("line", |scheme| scheme.line);
        pair("accent", |scheme| scheme.accent);
        pair("on-accent", |scheme| scheme.on_accent);
        // Browsers without light-dark() have the light half, as of the shop's own colours.
        fallback = format!("@supports not (color: light-dark(#000, #fff)) {{ :root {{{plain} }} }}\n");
        // The large picture is dark by day as well.
        _ = writeln!(css, "  --hero-accent: {}; --on-hero-accent: {};", hex(dark.accent), hex(dark.on_accent));
    }
    css += match shop.font {
        Font::Serif => "",
        Font::Sans => "  --head: var(--sans);\n",
        Font::Round => "  --head: var(--round-font);\n  --text: var(--round-font);\n",
    };
    css += "}\n";
    css += &fallback;
    css += &shop.css;
    css
}
