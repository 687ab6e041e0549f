//! An item as a page shows it to everyone.

use super::Loaded;
use super::theme::Texts;
use shared::model::{
    Bundle, Discount, Item, LowestPrice, Money, PeriodUnit, Plan, PriceTier, QuantityPrice, Sale, StoreConfig,
};
use shared::money::{CurrencyFormat, date_and_time};
use shared::rules::price_history::lowest_price;
use shared::rules::pricing::{Availability, availability, is_cumulative, price_in, unit_price};

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
    /// The lower prices of more units of it, by count.
    pub quantity_prices: Vec<(u32, Money)>,
    availability: Availability,
    is_off_sale: bool,
    now: i64,
    lowest: Option<LowestPrice>,
    config: &'a StoreConfig,
}

/// The price of a sale that is for the owners of some items.
pub struct OwnersPrice<'a> {
    pub sale: &'a Sale,
    /// The names of the items.
    pub owners_of: String,
    pub price: Money,
    /// What is taken off a step of a cumulative category, whose price is another for each owner.
    pub off: Option<String>,
}

impl<'a> Offer<'a> {
    pub fn new(item: &'a Item, tiers: &[PriceTier], loaded: &'a Loaded) -> Self {
        let availability = availability(item, tiers, loaded.terms(), None);
        let is_off_sale = item.is_off_sale(loaded.now);
        let (is_step, config) = (is_cumulative(item, tiers), &loaded.active.config);
        let lowest = lowest_price(item, config, loaded.now);
        let price = |step: &QuantityPrice| unit_price(item, step.price, None, loaded.terms(), None).quote.price;
        let quantity_prices = item.price_from.iter().map(|step| (step.from, price(step))).collect();
        Self { item, is_step, quantity_prices, availability, is_off_sale, now: loaded.now, lowest, config }
    }

    /// The reason why it cannot be bought, as HTML. A script shows the time as the visitor's clock has it.
    pub fn hindrance(&self, texts: &Texts) -> String {
        match self.availability.available_again_at {
            Some(begins) => {
                let begins = date_and_time(begins);
                let time = format!("<time datetime=\"{}Z\">{begins} UTC</time>", begins.replace(' ', "T"));
                let is_new = self.item.on_sale.begins(self.now).is_some();
                texts.with(if is_new { "hindrance.not_yet" } else { "hindrance.again" }, time)
            }
            None if self.is_off_sale => texts.of("hindrance.inactive").to_owned(),
            None => texts.of("hindrance.sold_out").to_owned(),
        }
    }

    /// The sale whose price it is.
    pub fn sale(&self) -> Option<&'a Sale> {
        self.config.sale(self.availability.sale?)
    }

    /// When a sale ends, as programs read it and in words; a script shows it as the visitor's clock has it, and what is left.
    pub fn ends(&self, sale: &Sale) -> Option<(String, String)> {
        let ends = date_and_time(sale.runs.until.filter(|ends| *ends > self.now)?);
        Some((format!("{}Z", ends.replace(' ', "T")), format!("{ends} UTC")))
    }

    /// The better prices of the sales that are for owners, which a page for everyone only tells of.
    pub fn for_owners(&self, texts: &Texts) -> Vec<OwnersPrice<'a>> {
        let is_told = |sale: &&Sale| {
            let is_for_owners = !sale.owners_of.is_empty() && self.item.sales.contains(&sale.id);
            is_for_owners && sale.is_running(self.now) && self.item.takes_sales() && !self.is_off_sale
        };
        let names = |sale: &Sale| sale.owners_of.iter().map(|item| item.name.clone()).collect::<Vec<_>>();
        let sales = self.config.sales.iter().filter(is_told).map(|sale| OwnersPrice {
            sale,
            owners_of: names(sale).join(texts.of("sale.or")),
            price: price_in(sale, self.item.price),
            off: self.is_step.then(|| self.off(sale)),
        });
        sales.filter(|price| price.price < self.price()).collect()
    }

    fn off(&self, sale: &Sale) -> String {
        // Both have two digits after the point, or the currency's.
        match sale.discount {
            Discount::Percentage(percent) => {
                let text = CurrencyFormat::new(2).money(Money::from_minor(percent.hundredths().into())).to_string();
                format!("−{} %", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Discount::Amount(amount) => format!("−{}", CurrencyFormat::new(self.config.digits).money(amount)),
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

    /// What the price is reduced from: with a history of prices the lowest before the reduction, otherwise the regular price. The price
    /// itself if it is not reduced.
    pub fn regular(&self) -> Money {
        if self.config.price_history {
            self.lowest.and_then(|lowest| lowest.price).unwrap_or_default().max(self.price())
        } else {
            self.availability.quote.original_price()
        }
    }

    pub fn is_sale(&self) -> bool {
        self.regular() > self.price()
    }

    /// Whether it is reduced from the lowest price of the 30 days before.
    pub fn is_lowest(&self) -> bool {
        self.config.price_history && self.is_sale()
    }

    /// The day since when prices are known, if that is less than 30 days before the reduction.
    pub fn known_since(&self) -> Option<String> {
        let since = self.lowest.filter(|_| self.is_lowest())?.since?;
        date_and_time(since).get(..10).map(str::to_owned)
    }

    pub fn is_free(&self) -> bool {
        self.price() == Money::ZERO
    }

    pub const fn unavailable(&self) -> bool {
        self.availability.unavailable
    }

    /// The discount in percent, of an item that can be bought.
    pub fn sale_percent(&self) -> Option<i64> {
        let (regular, discount) = (self.regular().minor(), self.regular().less(self.price()).minor());
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
        let choices: Vec<_> = self.item.bundle.iter().flat_map(Bundle::variables).collect();
        let asked = self.item.variables.iter().filter(|variable| !choices.contains(&variable.id));
        asked.map(|variable| variable.name.as_str()).collect::<Vec<_>>().join(", ")
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
