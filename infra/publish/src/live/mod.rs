//! What lives beside a published store: users, carts, codes, orders, and what the orders add up to. Read from
//! `live/*.yaml` and loaded into an empty table, for the local server and the tests; a publish never touches it.

mod carts;
mod codes;
mod orders;
mod seed;
mod users;
mod when;

pub use seed::seed;
pub use when::{WhenError, resolve};

use crate::fault::{Fault, Report};
use crate::files::{At, CategoryFile, LiveFiles, StoreFiles};
use crate::lower::{self, Category, Lowered};
use crate::read;
use shared::model::{Cart, Code, CodeText, Item, Order, Referral, User, UserId};
use shared::rules::statistics::{Derived, derive};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How often a user used a coupon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeUse {
    /// The coupon.
    pub code: CodeText,
    /// The user.
    pub user: UserId,
    /// Times.
    pub uses: u32,
}

/// Everything that lives beside a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// Buyers.
    pub users: Vec<User>,
    /// Carts; a user without one has never put anything in it.
    pub carts: Vec<Cart>,
    /// Coupons and gift cards.
    pub codes: Vec<Code>,
    /// Who used which coupon.
    pub code_uses: Vec<CodeUse>,
    /// Referral codes.
    pub referrals: Vec<Referral>,
    /// Orders.
    pub orders: Vec<Order>,
    /// What the orders add up to.
    pub derived: Derived,
}

/// Reads `live/` in a store's directory. `now`, in seconds since 1970 UTC, is what relative times are counted
/// from and whose month the top donators belong to.
///
/// # Errors
/// Every fault found; `files` itself is taken to be free of faults, see [`crate::check`].
pub fn read_live(dir: &Path, files: &StoreFiles, now: i64) -> Result<Live, Vec<Fault>> {
    parse_live(dir).check(files, now)
}

/// What stands in `live/`, not looked at yet.
#[derive(Debug)]
pub struct Written {
    files: LiveFiles,
    report: Report,
}

/// Parses `live/` in a store's directory: the part of [`read_live`] that needs nothing of the store's other files, and
/// that takes longest where there are very many orders.
#[must_use]
pub fn parse_live(dir: &Path) -> Written {
    let mut report = Report::default();
    let files = read::read_live(dir, &mut report);
    Written { files, report }
}

impl Written {
    /// What does not parse, where the store's other files cannot be looked at.
    #[must_use]
    pub fn into_faults(self) -> Vec<Fault> {
        self.report.into_faults()
    }

    /// The other part of [`read_live`].
    ///
    /// # Errors
    /// Every fault found; `files` itself is taken to be free of faults.
    pub fn check(self, files: &StoreFiles, now: i64) -> Result<Live, Vec<Fault>> {
        live(self, files, now)
    }
}

fn live(written: Written, files: &StoreFiles, now: i64) -> Result<Live, Vec<Fault>> {
    let lowered = lower::lower(files, &mut Report::default());
    let Written { files: written, mut report } = written;
    let mut desk = Desk::new(&lowered, files, now, &mut report);
    desk.enter("users.yaml");
    let users = users::users(written.users.as_deref().unwrap_or_default(), &mut desk);
    desk.users = written.users.is_some().then(|| names_of(&users));
    let (codes, code_uses) = codes::codes(&written, &mut desk);
    desk.enter("referrals.yaml");
    let referrals = codes::referrals(written.referrals.as_deref().unwrap_or_default(), &mut desk);
    let whole = written.coupons.is_some() && written.gift_cards.is_some();
    let texts = carts::Known {
        codes: whole.then(|| codes.iter().map(|code| (code.text().clone(), code)).collect()),
        referrals: written.referrals.is_some().then(|| referrals.iter().map(|found| found.code.clone()).collect()),
    };
    desk.enter("carts.yaml");
    let carts = carts::carts(written.carts.as_deref().unwrap_or_default(), &texts, &mut desk);
    desk.enter("orders.yaml");
    let orders = orders::orders(written.orders.as_deref().unwrap_or_default(), &mut desk);
    if !report.is_empty() {
        return Err(report.into_faults());
    }
    let by_id = users.iter().map(|user| (user.id, user)).collect();
    let derived = derive(&orders, &by_id, &lowered.site.settings.goals, now);
    Ok(Live { users, carts, codes, code_uses, referrals, orders, derived })
}

fn names_of(users: &[User]) -> BTreeMap<u64, String> {
    users.iter().map(|user| (user.id.get(), user.username.clone())).collect()
}

/// What the readers of single files need to know of everything else.
struct Desk<'a> {
    now: i64,
    digits: u8,
    currency: &'a str,
    /// What a buyer may pay in, the currency of the prices included.
    currencies: BTreeSet<&'a str>,
    items: BTreeMap<u64, &'a Item>,
    categories: BTreeSet<u64>,
    given_up: GivenUp,
    /// Names by id; `None` where `users.yaml` is broken, so that one fault does not become many.
    users: Option<BTreeMap<u64, String>>,
    report: &'a mut Report,
}

/// What lies in deleted categories, which nobody will ever be shown again.
#[derive(Default)]
struct GivenUp {
    categories: BTreeSet<u64>,
    items: BTreeSet<u64>,
}

impl GivenUp {
    fn of(files: &StoreFiles) -> Self {
        let mut found = Self::default();
        for top in &files.categories {
            found.take(&top.content, false);
        }
        found
    }

    fn take(&mut self, category: &CategoryFile, parent_is: bool) {
        let is = parent_is || category.deleted;
        if is {
            self.categories.insert(*category.id);
            self.items.extend(category.items.iter().map(|item| *item.id));
        }
        for inner in &category.subcategories {
            self.take(inner, is);
        }
    }
}

impl<'a> Desk<'a> {
    fn new(lowered: &'a Lowered, files: &'a StoreFiles, now: i64, report: &'a mut Report) -> Self {
        let categories = Category::all_of(&lowered.categories);
        Self {
            now,
            digits: lowered.site.config.digits,
            currency: &files.store.content.currency.code.value,
            currencies: lowered.site.settings.order_currencies().collect(),
            items: Category::items_of(&lowered.categories),
            categories: categories.iter().map(|category| category.shelf.head.id.get()).collect(),
            given_up: GivenUp::of(files),
            users: None,
            report,
        }
    }

    fn enter(&mut self, name: &str) {
        self.report.enter(&Path::new("live").join(name));
    }

    /// Notes a user that nobody knows.
    fn check_user(&mut self, id: u64, line: Option<u64>, field: &str) {
        if self.users.as_ref().is_some_and(|users| !users.contains_key(&id)) {
            self.report.fault(line, field, format!("there is no user {id} in live/users.yaml"));
        }
    }

    /// Finds an item or notes that nobody knows it.
    fn item(&mut self, id: &At<u64>, field: &str) -> Option<&'a Item> {
        let found = self.items.get(&id.value).copied();
        if found.is_none() {
            self.report.fault(id.line, field, format!("there is no item {}", id.value));
        }
        found
    }

    /// Reads a time; one that cannot be read is noted and counts as now.
    fn time(&mut self, text: &At<String>, field: &str) -> i64 {
        resolve(text, self.now).unwrap_or_else(|error| {
            self.report.fault(text.line, field, error.to_string());
            self.now
        })
    }

    /// Reads the text of a code of at most `longest` characters.
    fn code(&mut self, text: &At<String>, longest: usize, field: &str) -> Option<CodeText> {
        if text.chars().count() > longest {
            self.report.fault(text.line, field, format!("must have at most {longest} characters"));
            return None;
        }
        let parsed = CodeText::parse(text);
        if let Err(error) = parsed {
            self.report.fault(text.line, field, error.to_string());
        }
        parsed.ok()
    }
}
