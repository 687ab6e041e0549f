//! The format in which owners write their stores; `infra/docs/store-format.md` explains it to them.
//!
//! These structs are what is in the files and nothing else: unknown fields are refused, everything that can
//! be left out has a default, and values that can be wrong remember their line.

mod catalog;
mod content;
mod images;
mod interval;
mod limit;
mod notify;
mod option;
mod sale;
mod scalar;
mod sets;
mod shop;
mod store;

pub use catalog::{CategoryFile, ChooseFile, ComparisonRow, ItemFile, PromotionFile, VariableFile};
pub use content::{CommandFile, LinkFile, PageFile, StaffEntry, StaffFile};
pub use images::NamedImage;
pub use interval::IntervalFile;
pub use limit::LimitFile;
pub use notify::NotifyFile;
pub use option::OptionFile;
pub use sale::{Choice, SaleFile, SalesFile, ScopeFile, WhoFile};
pub use scalar::{At, Decimal};
pub use sets::RequiresFile;
pub use shop::{ColoursFile, HeroFile, PaletteFile, ShopFile};
pub use store::{
    AnnouncementFile, ChatClientFile, ChatFile, CurrencyFile, GameServerFile, GoalFile, LanguageFile, MaintenanceFile,
    NO_ID, OnDisputeFile, PatronsFile, PaymentsFile, PlayersFile, RateFile, ServerFile, ServerPlayersFile, StoreFile,
    StorefrontFile, VirtualCurrencyFile,
};

use crate::own_files::OwnFiles;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The only format there is so far, `format` in `store.yaml`.
pub const FORMAT: u32 = 1;

/// The content of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source<T> {
    /// The file, relative to the store's directory.
    pub path: PathBuf,
    pub content: T,
}

/// A store as its owner wrote it: all that is published.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreFiles {
    /// `store.yaml`.
    pub store: Source<StoreFile>,
    /// `categories/*.yaml`, by file name.
    pub categories: Vec<Source<CategoryFile>>,
    /// `pages/*.yaml`, by file name.
    pub pages: Vec<Source<PageFile>>,
    /// `sales.yaml`; empty if there is none.
    pub sales: Source<SalesFile>,
    /// `staff.yaml`; empty if there is none.
    pub staff: Source<StaffFile>,
    /// The pictures in `img/` as items name them, such as `/img/crown.png`. Empty if the store brings none: then they are
    /// elsewhere, and are not looked for.
    pub images: BTreeSet<String>,
    /// The shop's address, if the store is for a deployment with a shop: not from the files, so that they can be published
    /// anywhere. Empty if there is none.
    pub shop_url: String,
    /// The owner's style sheet, which `shop.css` of `store.yaml` names; empty if there is none.
    pub css: String,
    /// All of these files as they are written; empty of a store that was not read from files.
    pub own: OwnFiles,
}
