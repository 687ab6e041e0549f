//! An item as a page shows it to everyone.

use shared::model::{Item, Money, PriceTier, Sold, StoreConfig};
use shared::rules::pricing::{Availability, availability, is_cumulative};

/// A picture; without an address, a sign is shown in its place.
pub struct Picture {
    pub src: String,
    /// Whether it is at the top of its page, and loaded at once.
    pub is_first: bool,
}

impl Picture {
    pub fn of(image: &str, config: &StoreConfig) -> Self {
        Self { src: config.picture(image).into_owned(), is_first: false }
    }

    pub fn srcset(&self) -> Option<String> {
        shop::srcset(&self.src)
    }
}

pub struct Offer<'a> {
    pub item: &'a Item,
    /// Whether what a buyer has paid for lower items of its category is taken off.
    pub is_step: bool,
    availability: Availability,
    config: &'a StoreConfig,
}

impl<'a> Offer<'a> {
    pub fn new(item: &'a Item, tiers: &[PriceTier], sold: &Sold, config: &'a StoreConfig) -> Self {
        Self { item, is_step: is_cumulative(item, tiers), availability: availability(item, tiers, sold, None), config }
    }

    pub fn picture(&self) -> Picture {
        Picture::of(&self.item.image, self.config)
    }

    pub fn first_picture(&self) -> Picture {
        Picture { is_first: true, ..self.picture() }
    }

    pub fn description(&self) -> &str {
        self.item.description.as_deref().unwrap_or_default()
    }

    pub const fn price(&self) -> Money {
        self.availability.quote.price
    }

    pub fn regular(&self) -> Money {
        self.availability.quote.original_price()
    }

    pub fn is_sale(&self) -> bool {
        self.availability.quote.discount > Money::ZERO
    }

    pub fn is_free(&self) -> bool {
        self.price() == Money::ZERO
    }

    pub const fn unavailable(&self) -> bool {
        self.availability.unavailable
    }

    /// The discount in percent, of an item that can be bought.
    pub fn sale_percent(&self) -> Option<i64> {
        let (regular, discount) = (self.regular().minor(), self.availability.quote.discount.minor());
        (discount > 0 && !self.unavailable()).then(|| (discount * 100 + regular / 2).checked_div(regular)).flatten()
    }

    /// The units left of a limited item, and its limit.
    pub fn left(&self) -> Option<(u64, u32)> {
        let limits = self.availability.limits;
        let left = |limit: u32| u64::from(limit).saturating_sub(limits.global_current.unwrap_or_default());
        limits.global.map(|limit| (left(limit), limit))
    }

    /// The item's cell in a row of its category's comparison table.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub fn cell(&self, row: &u64) -> &str {
        let cell = self.item.comparison.iter().find(|cell| cell.comparison_id == *row);
        cell.map_or("", |cell| &cell.value)
    }
}
