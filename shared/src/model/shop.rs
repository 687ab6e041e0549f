//! How the shop's pages look, as the owner says (store-format.md, "The shop's pages").

use super::Link;
use serde::{Deserialize, Serialize};

/// A font of the shop's pages. All are fonts that devices have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Font {
    /// Headings with serifs.
    #[default]
    Serif,
    /// Without serifs.
    Sans,
    /// Rounded, without serifs.
    Round,
}

/// A section of the first page. The last three are beside the content, on the pages of categories as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Announcement,
    Deals,
    Categories,
    Goals,
    Top,
    Recent,
}

/// The large picture with a text at the top of the first page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hero {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The site's name if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The site's description if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<Link>,
}

/// Three colours as red, green and blue, from which all others of a page follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Palette {
    pub accent: [u8; 3],
    pub background: [u8; 3],
    pub text: [u8; 3],
}

/// The owner's settings for the shop's pages. Everything has a default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shop {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub logo: String,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub hero: Hero,
    /// The colours by day; the shop's own if the owner names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light: Option<Palette>,
    /// The colours in the dark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<Palette>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub font: Font,
    /// Links of the menu, after the categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The sections that are shown, in order; all of them if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// The owner's own style sheet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub css: String,
}

impl Shop {
    const SECTIONS: [Section; 6] =
        [Section::Announcement, Section::Deals, Section::Categories, Section::Goals, Section::Top, Section::Recent];

    /// The sections that are shown, in order.
    pub fn sections(&self) -> &[Section] {
        if self.sections.is_empty() { &Self::SECTIONS } else { &self.sections }
    }
}
