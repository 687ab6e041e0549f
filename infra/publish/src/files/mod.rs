//! The format in which owners write their stores; `infra/docs/store-format.md` explains it to them.
//!
//! These structs are what is in the files and nothing else: unknown fields are refused, everything that can
//! be left out has a default, and values that can be wrong remember their line ([`At`]); decimals are kept as text
//! ([`Decimal`]).

mod catalog;
mod content;
mod forms;
mod sale;
mod store;

pub use catalog::{CategoryFile, ChooseFile, ComparisonRow, ItemFile, PromotionFile, VariableFile};
pub use content::{
    ColoursFile, CommandFile, HeroFile, LinkFile, NotifyFile, PageFile, PaletteFile, ShopFile, StaffEntry, StaffFile,
};
pub use forms::{IntervalFile, LimitFile, OptionFile, RequiresFile};
pub use sale::{Choice, SaleFile, SalesFile, ScopeFile, WhoFile};
pub use store::{
    AnnouncementFile, ChatClientFile, ChatFile, CurrencyFile, GameServerFile, GoalFile, LanguageFile, MaintenanceFile,
    NO_ID, OnDisputeFile, PatronsFile, PaymentsFile, PlayersFile, RateFile, ServerFile, ServerPlayersFile, StoreFile,
    StorefrontFile, VirtualCurrencyFile,
};

use crate::fault::Fault;
use crate::own_files::OwnFiles;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use shared::model::{DecimalError, Money, Rate};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};

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

/// A picture's address in a file.
#[derive(Debug)]
pub struct NamedImage<'a> {
    /// File, line and field; there is no problem.
    pub place: Fault,
    pub url: &'a mut String,
}

impl StoreFiles {
    /// Every address of a picture in these files.
    pub fn named_images(&mut self) -> Vec<NamedImage<'_>> {
        let mut found = Vec::new();
        let shop = self.store.content.shop.iter_mut();
        let shop = shop.flat_map(|shop| [(&mut shop.logo, "shop.logo"), (&mut shop.hero.image, "shop.hero.image")]);
        for (image, field) in shop {
            let (file, line) = (self.store.path.clone(), image.line);
            let place = Fault { file, line, field: field.to_owned(), problem: String::new() };
            found.push(NamedImage { place, url: &mut image.value });
        }
        for source in &mut self.categories {
            of_category(&source.path, "", &mut source.content, &mut found);
        }
        found
    }
}

fn of_category<'a>(file: &Path, prefix: &str, category: &'a mut CategoryFile, found: &mut Vec<NamedImage<'a>>) {
    let place = |line, field| Fault { file: file.to_path_buf(), line, field, problem: String::new() };
    if let Some(url) = &mut category.image {
        found.push(NamedImage { place: place(category.id.line, format!("{prefix}image")), url });
    }
    for item in &mut category.items {
        let place = place(item.id.line, format!("{prefix}items[{}].image", *item.id));
        found.push(NamedImage { place, url: &mut item.image });
    }
    for inner in &mut category.subcategories {
        of_category(file, &format!("subcategories[{}].", *inner.id), inner, found);
    }
}

/// A value and the line it was read from. Two are equal when their values are.
#[derive(Debug, Clone, Default)]
pub struct At<T> {
    pub value: T,
    /// The line, counted from 1; `None` for a value that was not read from a file.
    pub line: Option<u64>,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> From<T> for At<T> {
    fn from(value: T) -> Self {
        Self { value, line: None }
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for At<T> {}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { value, line: Some(referenced.line()).filter(|line| *line > 0) })
    }
}

/// A decimal number as its owner wrote it, such as `9.99`. It stays text until the number of digits is known,
/// so that it never passes through binary floating point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(transparent)]
pub struct Decimal(pub At<String>);

impl Decimal {
    /// The line it is in.
    pub const fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The amount of money in a currency of `digits` digits. Fails also above [`Money::LARGEST`].
    pub fn money(&self, digits: u8) -> Result<Money, DecimalError> {
        Money::parse(&self.0, digits)
    }

    /// The exchange rate, with at most six digits. Fails for 0.
    pub fn rate(&self) -> Result<Rate, DecimalError> {
        Rate::parse(&self.0)
    }
}

/// Default of a switch that is on unless its owner says otherwise.
pub const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal(text.to_owned().into())
    }

    #[test]
    fn a_price_is_read_digit_by_digit() {
        for (text, minor) in [("9.99", 999), ("9.9", 990), ("9", 900), ("0", 0), ("0.07", 7)] {
            assert_eq!(decimal(text).money(2), Ok(Money::from_minor(minor)), "{text}");
        }
        assert_eq!(decimal("5").money(0), Ok(Money::from_minor(5)));
        assert_eq!(decimal("10000000000").money(2), Ok(Money::LARGEST));
    }

    #[test]
    fn what_is_no_price_is_refused_with_its_reason() {
        for text in ["", ".5", "5.", "1e3", "1_000", "1,5", "+1", "½", "٣"] {
            assert_eq!(decimal(text).money(2), Err(DecimalError::NotADecimal), "{text}");
        }
        assert_eq!(decimal("-1").money(2), Err(DecimalError::Negative));
        for text in ["017", "007.00", "00"] {
            assert_eq!(decimal(text).money(2), Err(DecimalError::LeadingZero), "{text}");
        }
        assert_eq!(decimal("9.999").money(2), Err(DecimalError::TooManyDigits(2)));
        assert_eq!(decimal("9.0").money(0), Err(DecimalError::TooManyDigits(0)));
        let largest = Money::LARGEST.minor();
        for text in ["10000000000.01", "99999999999999999999999999"] {
            assert_eq!(decimal(text).money(2), Err(DecimalError::TooLarge(largest)), "{text}");
        }
    }

    #[test]
    fn a_rate_has_six_digits_and_is_never_nothing() {
        assert_eq!(decimal("1.084512").rate(), Ok(Rate::from_millionths(1_084_512)));
        assert_eq!(decimal("0.0000001").rate(), Err(DecimalError::TooManyDigits(6)));
        assert_eq!(decimal("0").rate(), Err(DecimalError::Zero));
    }
}
