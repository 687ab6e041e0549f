//! The live data of a store, which is not published: users, carts, codes, orders, and what the orders add up to. Read
//! from `live/*.yaml` and loaded into an empty table, for the local server and the tests; a publish never touches it.

mod carts;
mod codes;
mod context;
mod data;
mod orders;
mod seed;
mod users;
mod when;

pub use data::{CodeUse, Live};
pub use seed::seed;
pub use when::{WhenError, resolve};

use crate::fault::{Fault, Report};
use crate::files::{LiveFiles, StoreFiles};
use crate::{lower, read};
use context::Context;
use shared::model::User;
use shared::rules::statistics::derive;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads `live/` in a store's directory. `now`, in seconds since 1970 UTC, is what relative times are counted
/// from and whose month the top donators belong to.
///
/// # Errors
/// Every fault found; `files` itself is taken to be free of faults, see [`crate::check`].
pub fn read_live(dir: &Path, files: &StoreFiles, now: i64) -> Result<Live, Vec<Fault>> {
    parse_live(dir).check(files, now)
}

/// The content of `live/`, not checked yet.
#[derive(Debug)]
pub struct Written {
    files: LiveFiles,
    report: Report,
}

/// Parses `live/` in a store's directory: the part of [`read_live`] that needs nothing of the store's other files, and
/// that takes longest if there are very many orders.
#[must_use]
pub fn parse_live(dir: &Path) -> Written {
    let mut report = Report::default();
    let files = read::read_live(dir, &mut report);
    Written { files, report }
}

impl Written {
    /// What does not parse, if the store's other files cannot be looked at.
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
    let mut context = Context::new(&lowered, files, now, &mut report);
    context.enter("users.yaml");
    let users = users::users(written.users.as_deref().unwrap_or_default(), &mut context);
    context.users = written.users.is_some().then(|| names_of(&users));
    let (codes, code_uses) = codes::codes(&written, &mut context);
    context.enter("referrals.yaml");
    let referrals = codes::referrals(written.referrals.as_deref().unwrap_or_default(), &mut context);
    let whole = written.coupons.is_some() && written.gift_cards.is_some();
    let texts = carts::Known {
        codes: whole.then(|| codes.iter().map(|code| (code.text().clone(), code)).collect()),
        referrals: written.referrals.is_some().then(|| referrals.iter().map(|found| found.code.clone()).collect()),
    };
    context.enter("carts.yaml");
    let carts = carts::carts(written.carts.as_deref().unwrap_or_default(), &texts, &mut context);
    context.enter("orders.yaml");
    let orders = orders::orders(written.orders.as_deref().unwrap_or_default(), &mut context);
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
