//! How the shop's pages look: `shop` of `store.yaml`.

use super::LinkFile;
use super::scalar::At;
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::{Font, Section};

/// How the shop's pages look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShopFile {
    /// Picture beside the site's name; the shop's own if it is left out.
    #[serde(default)]
    pub logo: At<String>,
    /// The top of the first page.
    #[serde(default)]
    pub hero: HeroFile,
    /// Colours by day and in the dark; the shop's own if they are left out.
    #[serde(default)]
    pub colours: ColoursFile,
    /// Font of the pages.
    #[serde(default)]
    pub font: Font,
    /// Links of the menu, after the categories.
    #[serde(default)]
    pub links: Vec<LinkFile>,
    /// Sections of the first page, in order; all of them if they are left out.
    #[serde(default)]
    pub sections: At<Vec<Section>>,
    /// Whether pages of items show how long it took from the payment until commands ran, in the last 24 hours.
    #[serde(default)]
    pub delivery_times: bool,
    /// A style sheet of the owner's, a file beside `store.yaml`, such as `shop.css`.
    #[serde(default)]
    pub css: At<String>,
}

/// The top of the first page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeroFile {
    /// The picture behind the text. It is dark, or made dark on its left.
    #[serde(default)]
    pub image: At<String>,
    /// Heading; the site's name if it is left out.
    #[serde(default)]
    pub title: String,
    /// Text below it; the site's description if it is left out.
    #[serde(default)]
    pub text: String,
    /// The button; one to the first category if it is left out.
    #[serde(default)]
    pub button: Option<LinkFile>,
}

/// Colours by day and in the dark.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColoursFile {
    /// By day.
    #[serde(default)]
    pub light: Option<PaletteFile>,
    /// In the dark.
    #[serde(default)]
    pub dark: Option<PaletteFile>,
}

/// Three colours such as `#b1380e`, from which all others follow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaletteFile {
    /// Of buttons and of what is marked.
    pub accent: At<String>,
    /// Of the page.
    pub background: At<String>,
    /// Of texts.
    pub text: At<String>,
}
