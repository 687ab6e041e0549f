//! `subscription`.

use clap::{Args, Subcommand};
use shared::model::{RunName, SubscriptionState};

#[derive(Debug, Clone, Subcommand)]
pub enum SubscriptionCommand {
    /// List subscriptions, those that renew or end next first; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl subscription list --stack storefront\n  \
                            storectl subscription list --user Thornwick --stack storefront\n  \
                            storectl subscription list --status past_due --json --stack storefront")]
    List(ListSubscriptions),
    /// Show a subscription: its price, its orders, until when it gives access, and what is still to be done.
    #[command(after_help = "Example:\n  storectl subscription show sub_1MowQV --stack storefront")]
    Show(OneSubscription),
    /// Ask the payment provider about a subscription now, as the sweep does, and write what it says.
    #[command(after_help = "Example:\n  storectl subscription settle sub_1MowQV --stack storefront")]
    Settle(OneSubscription),
    /// Cancel a subscription at the payment provider.
    #[command(after_help = "Examples:\n  storectl subscription cancel sub_1MowQV --stack storefront\n  \
                            storectl subscription cancel sub_1MowQV --now --stack storefront\n  \
                            storectl subscription cancel sub_1MowQV --refund --stack storefront\n\n\
                            The buyer keeps what is paid until the end of the period, and is not charged again. With \
                            --now access ends at once. --refund refunds the newest payment in full, and ends access at \
                            once too; older ones: `storectl order refund`. If it is interrupted, run it again: nothing is \
                            done twice.")]
    Cancel(CancelSubscription),
    /// Let subscriptions, and timed items, last some days longer: an outage is given back.
    #[command(
        after_help = "Examples:\n  storectl subscription extend --days 3 --run outage-2031-05-01 --stack storefront\n  \
                            storectl subscription extend sub_1MowQV --days 3 --run sorry-thornwick --stack storefront\n\n\
                            Without an id every subscription that gives access, and every timed item that lasts; with one only \
                            that subscription. It is our end of access that moves: the payment provider goes on charging on \
                            the same days, so that a subscription that renews lasts the days longer when it ends. The same \
                            command with the same name goes on where it stopped, and gives nothing twice."
    )]
    Extend(ExtendSubscriptions),
}

#[derive(Debug, Clone, Args)]
pub struct ListSubscriptions {
    /// Only subscriptions of this user: id or name.
    #[arg(long, alias = "player", value_name = "USER")]
    pub user: Option<String>,
    /// Only subscriptions in this state: active, trialing, paused, `past_due`, unpaid,
    /// incomplete, cancelled or ended.
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub status: Option<SubscriptionState>,
}

/// A subscription and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneSubscription {
    /// The provider's id, `sub_…`.
    pub id: String,
}

#[derive(Debug, Clone, Args)]
pub struct CancelSubscription {
    /// The provider's id, `sub_…`.
    pub id: String,
    /// End access at once, not with the paid period.
    #[arg(long)]
    pub now: bool,
    /// Refund the newest payment in full, which ends access at once.
    #[arg(long)]
    pub refund: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ExtendSubscriptions {
    /// Only the subscription with this id of the provider's, `sub_…`.
    pub id: Option<String>,
    /// How many days longer, from 1 to 366.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=366))]
    pub days: u16,
    /// A name for this run, under which nothing is extended twice.
    #[arg(long, value_name = "NAME", value_parser = RunName::parse)]
    pub run: Option<RunName>,
    /// Show what would be extended, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

fn status(text: &str) -> Result<SubscriptionState, &'static str> {
    let wanted = text.trim().to_lowercase().replace('-', "_");
    let known = SubscriptionState::ALL.into_iter().find(|status| status.as_str() == wanted);
    known.ok_or("must be active, past_due, cancelled or ended")
}
