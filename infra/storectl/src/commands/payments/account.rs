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
use shared::shop::orders::StoredOrder;
use shared::shop::payments::open_orders;
use shared::table::published::set_leaving;
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

/// Asks before keys of another account or mode are stored, and lets no checkout begin in the former one from then on. Returns what
/// is open there, in words.
pub(super) async fn leave(
    target: &Target,
    console: &Console,
    before: &ProviderAccount,
    to: &ProviderAccount,
    yes: bool,
) -> Result<String, Failure> {
    let mut what =
        format!("The key is of {}; the store is connected with {}.", shown_account(to), shown_account(before));
    let open = open_in_another(target, to).await?;
    if !open.is_empty() {
        what = format!("{what} {open}");
    }
    let subscriptions = renewing(target).await?.iter().filter(|one| one.account != *to).count();
    if subscriptions > 0 {
        what =
            format!("{what} {subscriptions} subscriptions are active there: they would be charged, and give nothing.");
    }
    let question =
        "Connect it? No checkout begins until the deploy, and what is open after it is given up, marked for review";
    console.confirm(&what, question, yes).map_err(|failure| {
        let next = if subscriptions > 0 {
            "Cancel the subscriptions that `storectl subscription list` shows, then add --yes."
        } else {
            "Add --yes: no checkout begins until the deploy that it prints."
        };
        Failure::new(failure.exit, what.as_str(), next)
    })?;
    // Nothing is sold where nothing is published.
    set_leaving(&target.db, Some(before)).await?;
    open_in_another(target, to).await
}

/// The orders that are open in another account or mode, the first ones by id and time; empty if there are none.
async fn open_in_another(target: &Target, account: &ProviderAccount) -> Result<String, Failure> {
    let is_left = |stored: &StoredOrder| {
        stored.effects.provider.as_ref().is_some_and(|checkout| origin(checkout, account) != Origin::Own)
    };
    let open: Vec<StoredOrder> = open_orders(&target.db).await?.into_iter().filter(is_left).collect();
    let until = |stored: &StoredOrder| {
        let checkout = stored.effects.provider.as_ref();
        checkout.map_or_else(String::new, |checkout| format!(" (until {})", shown_time(checkout.expires_at)))
    };
    let mut names: Vec<String> =
        open.iter().take(NAMED).map(|stored| format!("{}{}", stored.order.internal_id, until(stored))).collect();
    if open.len() > NAMED {
        names.push(format!("{} more", open.len() - NAMED));
    }
    let names = names.join(", ");
    Ok(if open.is_empty() { names } else { format!("{} orders are open there: {names}.", open.len()) })
}
