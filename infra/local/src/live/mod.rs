//! The live data of a store, which is not published: users, carts, codes, orders, and what the orders add up to. Read
//! from `live/*.yaml` and loaded into an empty table, for `cargo run` and the tests; a publish never touches it.

mod carts;
mod codes;
mod context;
pub mod files;
mod orders;
mod seed;
mod users;
mod when;

pub use seed::seed;
pub use when::{WhenError, resolve};

use context::Context;
use files::{CartFile, CouponFile, GiftCardFile, OrderFile, ReferralFile, UserFile};
use publish::Fault;
use publish::fault::Report;
use publish::files::StoreFiles;
use publish::lower::lower;
use publish::read::{Found, check_names, file};
use publish::schema::text;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use shared::model::{Cart, Code, CodeText, Order, Referral, User, UserId};
use shared::rules::statistics::{Derived, derive};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::ScopedJoinHandle;

/// The files in `live/`.
const FILES: [&str; 6] =
    ["users.yaml", "carts.yaml", "coupons.yaml", "gift_cards.yaml", "referrals.yaml", "orders.yaml"];
/// The largest file in `live/`, in bytes: some millions of orders.
const LARGEST: u64 = 1024 * 1024 * 1024;

/// The JSON Schemas of these files by the name of the schema's file.
pub fn schemas() -> [(&'static str, String); 6] {
    [
        ("users.json", text::<Vec<UserFile>>("live/users.yaml")),
        ("carts.json", text::<Vec<CartFile>>("live/carts.yaml")),
        ("coupons.json", text::<Vec<CouponFile>>("live/coupons.yaml")),
        ("gift_cards.json", text::<Vec<GiftCardFile>>("live/gift_cards.yaml")),
        ("referrals.json", text::<Vec<ReferralFile>>("live/referrals.yaml")),
        ("orders.json", text::<Vec<OrderFile>>("live/orders.yaml")),
    ]
}

/// How often a user used a coupon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeUse {
    pub code: CodeText,
    pub user: UserId,
    pub uses: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    pub users: Vec<User>,
    /// Carts; a user without one has never put anything in it.
    pub carts: Vec<Cart>,
    pub codes: Vec<Code>,
    pub code_uses: Vec<CodeUse>,
    pub referrals: Vec<Referral>,
    pub orders: Vec<Order>,
    pub derived: Derived,
}

/// Reads `live/` in a store's directory. `now`, in seconds since 1970 UTC, is what relative times are counted from and
/// whose month the top donators belong to. `files` itself is taken to be free of faults, see [`publish::check`].
pub fn read_live(dir: &Path, files: &StoreFiles, now: i64) -> Result<Live, Vec<Fault>> {
    Written::parse(dir).check(files, now)
}

/// The content of `live/`, not checked yet: a file that is not there reads as an empty list, a broken one as `None`.
#[derive(Debug)]
pub struct Written {
    users: Option<Vec<UserFile>>,
    carts: Option<Vec<CartFile>>,
    coupons: Option<Vec<CouponFile>>,
    gift_cards: Option<Vec<GiftCardFile>>,
    referrals: Option<Vec<ReferralFile>>,
    orders: Option<Vec<OrderFile>>,
    report: Report,
}

impl Written {
    /// Parses `live/` in a store's directory: the part of [`read_live`] that needs nothing of the store's other files. The
    /// largest files are read concurrently: a store of some age has very many orders and codes.
    pub fn parse(dir: &Path) -> Self {
        let mut report = Report::default();
        check_names(dir, Path::new("live"), &FILES, &mut report);
        std::thread::scope(|scope| {
            let orders = scope.spawn(|| list(dir, "orders.yaml"));
            let coupons = scope.spawn(|| list(dir, "coupons.yaml"));
            let gift_cards = scope.spawn(|| list(dir, "gift_cards.yaml"));
            Self {
                users: keep(list(dir, "users.yaml"), &mut report),
                carts: keep(list(dir, "carts.yaml"), &mut report),
                referrals: keep(list(dir, "referrals.yaml"), &mut report),
                coupons: keep(joined(coupons), &mut report),
                gift_cards: keep(joined(gift_cards), &mut report),
                orders: keep(joined(orders), &mut report),
                report,
            }
        })
    }

    /// The faults of files that do not parse, if the store's other files cannot be read.
    pub fn into_faults(self) -> Vec<Fault> {
        self.report.into_faults()
    }

    /// The other part of [`read_live`].
    pub fn check(mut self, files: &StoreFiles, now: i64) -> Result<Live, Vec<Fault>> {
        let lowered = lower(files, &mut Report::default());
        let mut report = std::mem::take(&mut self.report);
        let mut context = Context::new(&lowered, files, now, &mut report);
        context.enter("users.yaml");
        let users = users::users(self.users.as_deref().unwrap_or_default(), &mut context);
        let name = |user: &User| (user.id.get(), user.username.clone());
        context.users = self.users.is_some().then(|| users.iter().map(name).collect());
        let (codes, code_uses) = codes::codes(&self, &mut context);
        context.enter("referrals.yaml");
        let referrals = codes::referrals(self.referrals.as_deref().unwrap_or_default(), &mut context);
        let whole = self.coupons.is_some() && self.gift_cards.is_some();
        let texts = carts::Known {
            codes: whole.then(|| codes.iter().map(|code| (code.text().clone(), code)).collect()),
            referrals: self.referrals.is_some().then(|| referrals.iter().map(|found| found.code.clone()).collect()),
        };
        context.enter("carts.yaml");
        let carts = carts::carts(self.carts.as_deref().unwrap_or_default(), &texts, &mut context);
        context.enter("orders.yaml");
        let orders = orders::orders(self.orders.as_deref().unwrap_or_default(), &mut context);
        if !report.is_empty() {
            return Err(report.into_faults());
        }
        let by_id: BTreeMap<UserId, &User> = users.iter().map(|user| (user.id, user)).collect();
        let derived = derive(&orders, &by_id, &lowered.site.settings.goals, now);
        Ok(Live { users, carts, codes, code_uses, referrals, orders, derived })
    }
}

/// A file's list with the faults found; `None` for a broken file.
fn list<T: DeserializeOwned + JsonSchema>(dir: &Path, name: &str) -> (Option<Vec<T>>, Vec<Fault>) {
    let mut report = Report::default();
    let list = match file(dir, &Path::new("live").join(name), LARGEST, &mut report) {
        Found::Whole(list) => Some(list),
        Found::Missing => Some(Vec::new()),
        Found::Broken => None,
    };
    (list, report.into_faults())
}

fn keep<T>((list, faults): (Option<Vec<T>>, Vec<Fault>), report: &mut Report) -> Option<Vec<T>> {
    for fault in faults {
        report.push(fault);
    }
    list
}

/// The result of a thread; its panic becomes this one's.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
