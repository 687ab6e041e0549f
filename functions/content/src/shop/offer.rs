//! An item as a page shows it to everyone.

use super::Loaded;
use super::texts::Texts;
use shared::model::{Item, Money, PeriodUnit, Plan, PriceTier, StoreConfig};
use shared::money::date_and_time;
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
    is_off_sale: bool,
    config: &'a StoreConfig,
}

impl<'a> Offer<'a> {
    pub fn new(item: &'a Item, tiers: &[PriceTier], loaded: &'a Loaded) -> Self {
        let availability = availability(item, tiers, loaded.terms(), None);
        let is_off_sale = item.is_off_sale(loaded.now);
        Self { item, is_step: is_cumulative(item, tiers), availability, is_off_sale, config: &loaded.active.config }
    }

    /// The reason why it cannot be bought, as HTML. A script shows the time as the visitor's clock has it.
    pub fn hindrance(&self, texts: &Texts) -> String {
        match self.availability.available_again_at {
            Some(begins) => {
                let begins = date_and_time(begins);
                let time = format!("<time datetime=\"{}Z\">{begins} UTC</time>", begins.replace(' ', "T"));
                texts.with("hindrance.not_yet", time)
            }
            None if self.is_off_sale => texts.of("hindrance.inactive").to_owned(),
            None => texts.of("hindrance.sold_out").to_owned(),
        }
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

    /// How often a subscription is paid.
    pub fn every(&self, texts: &Texts) -> String {
        period(self.item.plan, texts)
    }

    /// The names of what a buyer chooses in the cart.
    pub fn variables(&self) -> String {
        self.item.variables.iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The item's cell in a row of its category's comparison table.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub fn cell(&self, row: &u64) -> &str {
        let cell = self.item.comparison.iter().find(|cell| cell.comparison_id == *row);
        cell.map_or("", |cell| &cell.value)
    }
}

/// The period of a plan: "every month", "every 3 months".
fn period(Plan { every, unit, .. }: Plan, texts: &Texts) -> String {
    let (one, more) = match unit {
        PeriodUnit::Day => ("every.day.one", "every.day"),
        PeriodUnit::Week => ("every.week.one", "every.week"),
        PeriodUnit::Month => ("every.month.one", "every.month"),
        PeriodUnit::Year => ("every.year.one", "every.year"),
    };
    texts.with(if every == 1 { one } else { more }, every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_says_how_often_it_is_paid() {
        let (_, texts) = Texts::of_language("en");
        for (every, unit, expected) in [
            (1, PeriodUnit::Day, "every day"),
            (2, PeriodUnit::Week, "every 2 weeks"),
            (1, PeriodUnit::Month, "every month"),
            (3, PeriodUnit::Month, "every 3 months"),
            (1, PeriodUnit::Year, "every year"),
        ] {
            assert_eq!(period(Plan { every, unit, ..Plan::default() }, texts), expected);
        }
    }
}
