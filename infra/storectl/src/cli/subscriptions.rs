//! `subscription`.

use clap::{Args, Subcommand};
use shared::model::SubscriptionState;

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
}

#[derive(Debug, Clone, Args)]
pub struct ListSubscriptions {
    /// Only subscriptions of this user: id or name.
    #[arg(long, value_name = "USER")]
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

fn status(text: &str) -> Result<SubscriptionState, &'static str> {
    let wanted = text.trim().to_lowercase().replace('-', "_");
    let known = SubscriptionState::ALL.into_iter().find(|status| status.as_str() == wanted);
    known.ok_or("must be active, past_due, cancelled or ended")
}
