//! `sales.yaml`: which items each sale covers, and what they cost then.

use super::catalog::Category;
use super::site::Site;
use super::text::check_name;
use super::{amount, check_id, percentage};
use crate::calendar;
use crate::fault::{Report, Unique};
use crate::files::{At, Choice, Decimal, SaleFile, SalesFile, ScopeFile, WhoFile};
use shared::model::{Discount, Item, ItemId, Money, NamedItem, Sale, SaleId};
use shared::money::CurrencyFormat;
use shared::rules::pricing::price_in;
use std::collections::{BTreeMap, BTreeSet};

/// The most sales of a store: every function reads them with the active version.
const MOST_SALES: usize = 100;
const NOT_EVERYTHING: &str = "must be `everything`, or which: {categories: [1], items: [101]}";
const NOT_EVERYONE: &str = "must be `everyone`, or who: {owners_of: [101]}";

/// Reads the sales, by id, and notes on each item which of them cover it.
pub(super) fn sales(file: &SalesFile, categories: &mut [Category], site: &Site, report: &mut Report) -> Vec<Sale> {
    if let Some(extra) = file.0.get(MOST_SALES) {
        report.fault(extra.id.line, "", format!("a store has at most {MOST_SALES} sales: remove those that are over"));
    }
    let mut ids = Unique::new("sale id");
    let mut sales = Vec::with_capacity(file.0.len());
    for written in &file.0 {
        let reader = SaleReader { file: written, site };
        check_id(*written.id, written.id.line, &reader.field("id"), report);
        ids.take(report, *written.id, written.id.line, &reader.field("id"));
        sales.extend(reader.sale(categories, report));
    }
    sales.sort_by_key(|sale| sale.id);
    for item in Category::every_item(categories) {
        item.sales.sort();
    }
    sales
}

/// The items of a part of the catalog: ids of items, and of categories with their subcategories. `fault` is called with ids that do not
/// exist, with the field that they are in.
pub(super) fn items_in(
    (of_items, of_categories): (&[At<u64>], &[At<u64>]),
    categories: &[Category],
    mut fault: impl FnMut(Option<u64>, &str, String),
) -> BTreeSet<ItemId> {
    let items = Category::items_of(categories);
    let mut found = BTreeSet::new();
    for id in of_items {
        if items.contains_key(&**id) {
            found.insert(ItemId::new(**id));
        } else {
            fault(id.line, "items", format!("there is no item {}", **id));
        }
    }
    for id in of_categories {
        let is_it = |category: &Category| category.shelf.head.id.get() == **id;
        let of = |category: &Category| category.shelf.items.iter().map(|item| item.id).collect::<Vec<_>>();
        let mut is_known = false;
        for top in categories {
            for category in std::iter::once(top).chain(&top.subcategories).filter(|one| is_it(top) || is_it(one)) {
                is_known = true;
                found.extend(of(category));
            }
        }
        if !is_known {
            fault(id.line, "categories", format!("there is no category {}", **id));
        }
    }
    found
}

/// Reads one sale.
struct SaleReader<'a> {
    file: &'a SaleFile,
    site: &'a Site,
}

impl SaleReader<'_> {
    fn field(&self, name: &str) -> String {
        format!("[{}].{name}", *self.file.id)
    }

    fn fault(&self, line: Option<u64>, name: &str, problem: impl Into<String>, report: &mut Report) {
        report.fault(line.or(self.file.id.line), self.field(name), problem);
    }

    fn warn(&self, line: Option<u64>, name: &str, problem: impl Into<String>, report: &mut Report) {
        report.warn(line.or(self.file.id.line), self.field(name), problem);
    }

    fn sale(&self, categories: &mut [Category], report: &mut Report) -> Option<Sale> {
        let file = self.file;
        check_name(&file.name, file.id.line, &self.field("name"), report);
        let times = (file.from.as_ref(), file.until.as_ref());
        let runs = calendar::on_sale(times, &self.site.time_zone, &self.field(""), report);
        let owners_of = self.owners(&Category::items_of(categories), report);
        let covered = self.covered(categories, report);
        let discount = self.discount(report)?;
        let id = SaleId::new(*file.id);
        let sale = Sale { id, name: file.name.clone(), discount, runs, owners_of, with_codes: file.with_codes };
        for item in Category::every_item(categories).filter(|item| covered.contains(&item.id)) {
            item.sales.push(id);
        }
        self.check_prices(&sale, categories, report);
        Some(sale)
    }

    fn discount(&self, report: &mut Report) -> Option<Discount> {
        let file = self.file;
        match (&file.percentage, &file.amount) {
            (Some(percent), None) => percentage(percent, &self.field("percentage"), report).map(Discount::Percentage),
            (None, Some(off)) => {
                let read = amount(off, self.site.config.digits, &self.field("amount"), report)?;
                if read == Money::ZERO {
                    self.fault(off.line(), "amount", "must be more than 0", report);
                }
                Some(Discount::Amount(read))
            }
            (Some(percent), Some(_)) => {
                self.fault(percent.line(), "percentage", "a sale has a percentage or an amount: remove one", report);
                None
            }
            (None, None) => {
                self.fault(None, "percentage", "is missing: write what the sale takes off, or an amount", report);
                None
            }
        }
    }

    /// The items that it is for, without those whose price no sale changes.
    fn covered(&self, categories: &[Category], report: &mut Report) -> BTreeSet<ItemId> {
        let items = Category::items_of(categories);
        let takes = |id: &ItemId| items.get(&id.get()).is_some_and(|item| item.takes_sales());
        let named = match &self.file.covers {
            Choice::Word(word) if word == "everything" => items.keys().copied().map(ItemId::new).collect(),
            Choice::Word(_) => {
                self.fault(None, "for", NOT_EVERYTHING, report);
                return BTreeSet::new();
            }
            Choice::Fields(scope) if scope.categories.is_empty() && scope.items.is_empty() => {
                self.fault(None, "for", NOT_EVERYTHING, report);
                return BTreeSet::new();
            }
            Choice::Fields(scope) => {
                for id in scope.items.iter().filter(|id| items.get(*id).is_some_and(|item| !item.takes_sales())) {
                    let problem = format!(
                        "item {} has no sale: it is a subscription, its buyer names the price, or it is for virtual \
                         currency only",
                        id.value
                    );
                    self.warn(id.line, "for.items", problem, report);
                }
                self.items_in(scope, "for", categories, report)
            }
        };
        let except = self.items_in(&self.file.except, "except", categories, report);
        let covered: BTreeSet<ItemId> = named.difference(&except).copied().filter(takes).collect();
        if covered.is_empty() {
            self.warn(None, "for", "covers no item: nothing is reduced", report);
        }
        covered
    }

    fn items_in(
        &self,
        scope: &ScopeFile,
        name: &str,
        categories: &[Category],
        report: &mut Report,
    ) -> BTreeSet<ItemId> {
        items_in((&scope.items, &scope.categories), categories, |line, field, problem| {
            self.fault(line, &format!("{name}.{field}"), problem, report);
        })
    }

    fn owners(&self, items: &BTreeMap<u64, &Item>, report: &mut Report) -> Vec<NamedItem> {
        let ids: &[At<u64>] = match &self.file.who {
            Choice::Word(word) if word.is_empty() || word == "everyone" => &[],
            Choice::Fields(WhoFile { owners_of }) if !owners_of.is_empty() => owners_of,
            Choice::Word(_) | Choice::Fields(_) => {
                self.fault(None, "who", NOT_EVERYONE, report);
                &[]
            }
        };
        let mut owners = Vec::with_capacity(ids.len());
        for id in ids {
            match items.get(&**id) {
                Some(item) => owners.push(NamedItem { id: item.id, name: item.name.clone() }),
                None => self.fault(id.line, "who.owners_of", format!("there is no item {}", **id), report),
            }
        }
        owners
    }

    /// Refuses prices that cannot be paid, as those of an item's own discount are.
    fn check_prices(&self, sale: &Sale, categories: &[Category], report: &mut Report) {
        let config = &self.site.config;
        let least = if config.payments.methods.is_empty() || self.site.least_is_doubtful {
            Money::SMALLEST
        } else {
            config.payments.least.max(Money::SMALLEST)
        };
        let items = Category::items_of(categories);
        let low = |item: &&Item| {
            let prices =
                std::iter::once((1, item.price)).chain(item.price_from.iter().map(|step| (step.from, step.price)));
            let totals = prices.map(|(units, price)| (units, price.times(units), price_in(sale, price).times(units)));
            let (units, _, total) =
                totals.into_iter().find(|(_, regular, total)| *regular >= least && *total < least)?;
            Some((item.id, units, total))
        };
        let covered = items.values().copied().filter(|item| item.sales.contains(&sale.id));
        let low: Vec<(ItemId, u32, Money)> = covered.filter_map(|item| low(&item)).collect();
        let Some((first, units, total)) = low.first() else { return };
        let format = CurrencyFormat::new(config.digits);
        let ids: Vec<String> = low.iter().map(|(id, ..)| id.to_string()).collect();
        let problem = format!(
            "{}item {first} would cost {}: the least that can be paid is {}; leave it out with except: {{items: [{}]}}",
            if *units > 1 { format!("{units} of ") } else { String::new() },
            format.money(*total),
            format.money(least),
            ids.join(", ")
        );
        let (name, written): (_, Option<&Decimal>) = match sale.discount {
            Discount::Percentage(_) => ("percentage", self.file.percentage.as_ref()),
            Discount::Amount(_) => ("amount", self.file.amount.as_ref()),
        };
        self.fault(written.and_then(Decimal::line), name, problem, report);
    }
}
