//! The account that a key belongs to, and what a change of it would leave behind.

use super::of_stripe;
use crate::commands::common::{shown_account, shown_time};
use crate::commands::subscriptions::renewing;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use shared::config::is_account;
use shared::model::ProviderAccount;
use shared::rules::payment::{Origin, origin};
use shared::store::orders::StoredOrder;
use shared::usecases::checkouts::{is_settled, open_orders};
use stripe::{Account, Client, Error, RefusalKind};

/// The most orders that are named.
const NAMED: usize = 20;

pub(super) struct Known {
    pub(super) id: String,
    /// Whether it can take payments, if the key may know that.
    pub(super) charges_enabled: Option<bool>,
}

/// The account of a key: as Stripe says it, or as it was named if the key may not read it.
pub(super) async fn of_key(client: &Client, named: Option<&str>) -> Result<Known, Failure> {
    if let Some(id) = named.filter(|id| !is_account(id)) {
        let next = "It begins with acct_: Stripe's dashboard, Settings, Account details.";
        return Err(Failure::refused(format!("{id} is not the id of an account."), next));
    }
    match (client.send(&Account::retrieve()).await, named) {
        (Ok(account), Some(id)) if account.id.as_str() != id => {
            let what = format!("The key belongs to the account {}, not to {id}.", account.id);
            Err(Failure::refused(what, "Use a key of that account, or leave --account out."))
        }
        (Ok(account), _) => Ok(Known { id: account.id.to_string(), charges_enabled: Some(account.charges_enabled) }),
        (Err(Error::Refused(refusal)), Some(id)) if refusal.kind == RefusalKind::Permission => {
            Ok(Known { id: id.to_owned(), charges_enabled: None })
        }
        (Err(Error::Refused(refusal)), None) if refusal.kind == RefusalKind::Permission => {
            let next = "Give it that right, or add --account acct_… (Stripe's dashboard, Settings, Account details).";
            Err(Failure::new(Exit::Denied, "The key has no right to read its account.", next))
        }
        (Err(error), _) => Err(of_stripe(&error)),
    }
}

/// Open orders in a list, the first ones by id and time.
pub(in crate::commands) fn list(open: &[StoredOrder]) -> String {
    let until = |stored: &StoredOrder| {
        let checkout = stored.effects.provider.as_ref();
        checkout.map_or_else(String::new, |checkout| format!(" (until {})", shown_time(checkout.expires_at)))
    };
    let mut names: Vec<String> =
        open.iter().take(NAMED).map(|stored| format!("{}{}", stored.order.internal_id, until(stored))).collect();
    if open.len() > NAMED {
        names.push(format!("{} more", open.len() - NAMED));
    }
    names.join(", ")
}

/// Asks before keys of another account or mode are stored, unless nothing is left behind: no order is open there, and no
/// checkout can begin there any more.
pub(super) async fn must_be_drained(
    target: &Target,
    console: &Console,
    before: &ProviderAccount,
    to: &ProviderAccount,
    yes: bool,
) -> Result<(), Failure> {
    let is_left = |stored: &StoredOrder| {
        stored.effects.provider.as_ref().is_some_and(|checkout| origin(checkout, to) != Origin::Own)
    };
    let open: Vec<StoredOrder> = open_orders(&target.db).await?.into_iter().filter(is_left).collect();
    let subscriptions = renewing(target).await?.iter().filter(|one| one.account != *to).count();
    let takes_payments = target.stack.as_ref().is_none_or(|stack| stack.takes_payments);
    let is_settled = !takes_payments || is_settled(&target.db, target.clock.as_ref(), before).await?;
    if yes || (open.is_empty() && subscriptions == 0 && is_settled) {
        return Ok(());
    }
    let mut what =
        format!("The key is of {}; the store is connected with {}.", shown_account(to), shown_account(before));
    if !open.is_empty() {
        what = format!("{what} {} orders are open there: {}.", open.len(), list(&open));
    }
    if subscriptions > 0 {
        what =
            format!("{what} {subscriptions} subscriptions are active there: they would be charged, and give nothing.");
    }
    if !is_settled {
        what = format!("{what} Until the deploy, checkouts can still begin there.");
    }
    let question = "Connect all the same? What is open then is given up after its end, and marked for review";
    console.confirm(&what, question, false).map_err(|failure| {
        let next =
            "First run `storectl payments drain`, and cancel the subscriptions that `storectl subscription list` shows; or add \
             --yes, and look at `storectl order list --review` later.";
        Failure::new(failure.exit, what.as_str(), next)
    })
}
