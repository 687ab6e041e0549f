//! `pages/*.yaml`, `staff.yaml`, links, and commands that run on game servers for what is bought; and of `store.yaml`, how the
//! shop's pages look (`shop`) and where the owner is notified of what (`notify`).

use super::At;
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::{CommandEvent, Font, Link, Section, TargetKind};
use std::collections::BTreeMap;

/// A page: one file each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageFile {
    /// Its id, unique among the pages.
    pub id: At<u64>,
    /// Its title.
    pub title: String,
    /// Its url, with or without a leading slash.
    pub url: At<String>,
    /// Its text.
    #[serde(default)]
    pub content: String,
}

/// `staff.yaml`: player group to members.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StaffFile(pub BTreeMap<String, Vec<StaffEntry>>);

/// A member of the staff.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffEntry {
    /// The member's name.
    pub username: At<String>,
    /// Text before the name in the game.
    #[serde(default)]
    pub prefix: String,
    /// Order inside the group, then by name.
    #[serde(default)]
    pub sorting: i64,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// Its text.
    pub name: String,
    /// Target of the link.
    pub url: At<String>,
}

impl From<&LinkFile> for Link {
    fn from(file: &LinkFile) -> Self {
        Self { name: file.name.clone(), url: file.url.value.clone() }
    }
}

/// A command that runs on game servers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandFile {
    /// The command without a leading slash, with placeholders such as `{player}`; `{{` is a brace.
    pub run: At<String>,
    /// The event after which it runs: `bought`, `expired`, `refunded`, `charged_back` or `renewed`.
    #[serde(default)]
    pub on: CommandEvent,
    /// Whether it runs only while the player is on the server.
    #[serde(default)]
    pub online: bool,
    /// The time between the event and the command, such as `30 minutes`.
    #[serde(default)]
    pub delay: Option<At<String>>,
    /// Whether it should rather not run at all than run twice.
    #[serde(default)]
    pub once: bool,
    /// Whether it runs once for each unit: a line then has at most 100 units.
    #[serde(default)]
    pub per_unit: bool,
    /// Ids of the servers it is limited to; all that the item is delivered to if they are left out.
    #[serde(default)]
    pub servers: Vec<At<u64>>,
}

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

/// A place that is notified of events. Its address is a secret that `storectl notify connect` takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyFile {
    /// Its name, unique, of `[a-z0-9-]`.
    pub name: At<String>,
    /// `discord` for a channel of Discord, `webhook` for an HTTPS address of the owner's own.
    pub to: TargetKind,
    /// The words of the events that it is notified of.
    pub events: Vec<At<String>>,
    /// By the word of an event, the text of its message.
    #[serde(default)]
    pub texts: BTreeMap<String, At<String>>,
}
