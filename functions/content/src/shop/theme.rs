//! The texts of the pages, and the style sheet of a store: its colours, its font, and what its owner wrote. A language
//! is one file of the shop's assets, which scripts read as well.

use shared::model::{Font, Palette, Shop};
use shared::rules::colours::{Colour, Scheme, hex};
use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::sync::LazyLock;

/// The language of a store whose own the shop does not speak.
const USUAL: &str = "en";

static TEXTS: LazyLock<Vec<(&str, Texts)>> =
    LazyLock::new(|| shop::TEXTS.iter().map(|(code, file)| (*code, Texts::parse(file))).collect());

#[derive(Debug)]
pub struct Texts(HashMap<String, String>);

impl Texts {
    /// The texts of a language, or of the usual one, after the code.
    pub fn of_language(code: &str) -> (&'static str, &'static Self) {
        static NONE: LazyLock<Texts> = LazyLock::new(|| Texts(HashMap::new()));
        let find = |wanted: &str| TEXTS.iter().find(|(own, _)| *own == wanted);
        find(code).or_else(|| find(USUAL)).map_or((USUAL, &*NONE), |(code, texts)| (*code, texts))
    }

    fn parse(file: &str) -> Self {
        let json = file.find('{').zip(file.rfind('}')).and_then(|(begin, end)| file.get(begin..=end));
        Self(json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default())
    }

    /// The text with a name; the name itself if there is none, which a test excludes.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// The heading of a page; its short name in menus, if they are the same.
    pub fn title<'a>(&'a self, page: &'a str) -> &'a str {
        self.0.get(&format!("{page}.title")).map_or_else(|| self.of(page), String::as_str)
    }

    /// A text with a value in it.
    pub fn with(&self, name: &str, value: impl Display) -> String {
        self.of(name).replace("{0}", &value.to_string())
    }

    /// A text with two values in it.
    pub fn with2(&self, name: &str, first: impl Display, second: impl Display) -> String {
        let (before, after) = self.of(name).split_once("{1}").unwrap_or((self.of(name), ""));
        let (first, second) = (first.to_string(), second.to_string());
        format!("{}{second}{}", before.replace("{0}", &first), after.replace("{0}", &first))
    }
}

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
