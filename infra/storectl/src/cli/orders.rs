//! `order` and `payments`.

use super::people::status;
use clap::{Args, Subcommand};
use shared::model::OrderStatus;
use std::path::PathBuf;

/// `order list`.
#[derive(Debug, Clone, Args)]
pub struct ListOrders {
    /// Only orders with this status.
    #[arg(long, value_parser = status)]
    pub status: Option<OrderStatus>,
    /// Only orders of this user, id or name.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Only orders with something left to do.
    #[arg(long)]
    pub open: bool,
    /// Only orders that need an operator, or are disputed.
    #[arg(long)]
    pub review: bool,
}

/// `order refund`.
#[derive(Debug, Clone, Args)]
pub struct RefundOrder {
    /// The internal id, matched exactly.
    pub id: String,
    /// Amount in the order's currency; by default everything that is left.
    #[arg(long, value_name = "A")]
    pub amount: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// `payments …`.
#[derive(Debug, Clone, Subcommand)]
pub enum PaymentsCommand {
    /// Connect a payment provider: check its key, create the endpoint of its webhooks, and store both secrets.
    #[command(after_help = "Examples:\n  storectl payments connect stripe --stack storefront < key.txt\n  \
                            storectl payments connect stripe --stripe-key key.txt --stack storefront\n  \
                            storectl payments connect stripe --finish --stack storefront\n\n\
                            The key is read from standard input or a file, never from the command line. It should be a \
                            restricted key with the rights that operations.md lists. Nothing changes for buyers before \
                            the deploy that is printed. Run it again to change the key; with --new-secret the secret of \
                            the webhooks is changed too: both are accepted until --finish.")]
    Connect(Connect),
    /// Show what is connected, without any secret.
    #[command(after_help = "Example:\n  storectl payments show --stack storefront")]
    Show,
}

/// `payments connect`.
#[derive(Debug, Clone, Args)]
pub struct Connect {
    /// The provider.
    #[arg(value_parser = ["stripe"])]
    pub provider: String,
    /// File with the key; standard input if it is left out.
    #[arg(long, value_name = "FILE", conflicts_with = "finish")]
    pub stripe_key: Option<PathBuf>,
    /// Address of the API that webhooks are sent to; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Create another endpoint although there is one, to change the secret of its webhooks.
    #[arg(long, conflicts_with = "finish")]
    pub new_secret: bool,
    /// After the deploy: delete the older endpoints of this address and forget their secrets.
    #[arg(long)]
    pub finish: bool,
}
