//! The command line. Every command has a help text with examples.

mod accounts;
mod codes;
mod delivery;
mod hints;
mod orders;
mod people;
mod status;
mod subscriptions;

pub use accounts::{BanCommand, BanName, CreditUser, RenameUser, UnbanName};
pub use codes::{
    AddCoupon, AddGift, AddReferral, CouponCommand, DeleteCoupon, DiscountOptions, EditCoupon, EditGift, GiftCommand,
    OneCode, PeriodOptions, ReferralCommand, ReferralReport, ScopeOptions, TopUp,
};
pub use delivery::{
    AddServer, DecideDelivery, DeliveryCommand, ListDelivery, RetryDelivery, RevokeServer, RotateServer, ServerCommand,
};
pub use orders::{ConfirmedOrder, Connect, ListOrders, MoveOrder, PaymentsCommand, Reconcile, RefundOrder};
pub use people::{
    AddUser, CartCommand, EraseUser, ForLine, OneOrder, OneUser, OrderCommand, RecordOrder, SetStatus, UserCommand,
    WhichUser,
};
pub use subscriptions::{
    CancelSubscription, ExtendSubscriptions, ListSubscriptions, OneSubscription, SubscriptionCommand,
};

use crate::target::TargetOptions;
use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use jiff::{Span, SpanRelativeTo};
use std::ffi::OsString;
use std::path::PathBuf;

const AFTER_HELP: &str = "For developers:
  openapi      Print the OpenAPI document of the API; touches no table

Exit codes:
  0  done
  1  a local file cannot be read or written, or the command was interrupted
  2  the command line cannot be read
  3  the store's files have faults, or doctor or reconcile found something
  4  something was not found, or the rules do not allow it
  5  conflict: it was changed by another request
  6  the database did not respond or throttles; run the same command again in a moment
  7  credentials are missing or refused, or there is no such table, stack or key
  8  not confirmed

A command that was interrupted can be run again: it completes what was begun and repeats nothing. These cannot know
of the first time: `gift add` without --out, `order record` without --id, `rollback` without a version, and
`server rotate`.
With --json standard output is one line of JSON, and so is standard error if something failed.";

/// The end of a command's help, in which the options of the target are left out.
const TARGET_HELP: &str = "The options that name the table, such as --stack and --local, are in `storectl --help`.";

/// Runs a store: checks and publishes its files, issues tokens and codes, records orders, backs up the table.
#[derive(Debug, Clone, Parser)]
#[command(name = "storectl", version, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print JSON for scripts; questions are then not asked (see --yes).
    #[arg(long, global = true)]
    pub json: bool,
    /// The table to use.
    #[command(flatten)]
    pub target: TargetOptions,
}

impl Cli {
    /// The command line with its help: the options of the target are listed once, in the help of `storectl` itself.
    pub fn documented() -> clap::Command {
        let command = hints::with_negative_numbers(Self::command());
        let targets = TargetOptions::augment_args(clap::Command::new(""));
        let hidden: Vec<Arg> = targets.get_arguments().map(|option| option.clone().hide(true)).collect();
        hide(command, &hidden)
    }

    pub fn read(line: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let line: Vec<OsString> = line.into_iter().collect();
        let mut command = Self::documented();
        let matches = command.try_get_matches_from_mut(&line).map_err(|error| hints::with_hint(error, &line))?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Hides options in the help of all subcommands.
fn hide(command: clap::Command, options: &[Arg]) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| {
            let inner = inner.args(options);
            if inner.has_subcommands() {
                return hide(inner, options);
            }
            let help = inner.get_after_help().map(ToString::to_string).unwrap_or_default();
            inner.after_help(format!("{help}\n\n{TARGET_HELP}"))
        })
    })
}

/// Every command.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Read a store's files and report every fault at once, and what looks like a mistake; touches no table.
    #[command(
        after_help = "Examples:\n  storectl check my-store\n  storectl check my-store --json | jq '.faults[].file'"
    )]
    Check(Check),
    /// Check, show what changes, ask, then publish.
    #[command(after_help = "Examples:\n  storectl publish my-store --local ./data\n  \
                            storectl publish my-store --stack storefront --dry-run\n  \
                            storectl publish my-store --stack storefront --yes --label 'Summer sale'\n\n\
                            Readers see the old version whole until one write switches to the new one, and the new one \
                            whole after it. If another version is published after the changes were shown, nothing is \
                            switched: exit code 5, and the changes against that version.")]
    Publish(Publish),
    /// List the versions that are in the table, and what was active when, newest first.
    #[command(after_help = "Examples:\n  storectl versions --stack storefront")]
    Versions,
    /// Show what changes, ask, then activate an older version again; without a name, the one that was active before.
    #[command(after_help = "Examples:\n  storectl rollback --stack storefront\n  \
                            storectl rollback 3f9a0c21d4e5b6a7c8d9 --stack storefront --yes")]
    Rollback(Rollback),
    /// Write the files of the published store, as they were published.
    #[command(after_help = "Examples:\n  storectl export from-aws --stack storefront\n\n\
                            Comments and hidden categories are among them, pictures are not.")]
    Export(Export),
    /// Write everything in the table to a compressed file.
    #[command(after_help = "Examples:\n  storectl backup store.jsonl.gz --stack storefront\n  \
                            storectl backup my-store/live.jsonl --demo --local ./data")]
    Backup(Backup),
    /// Fill an empty table from a backup; if it was interrupted, the same command continues.
    #[command(after_help = "Examples:\n  storectl restore store.jsonl.gz --table other --region eu-central-1")]
    Restore(Restore),
    /// Bring the data of an earlier version to today's format; the functions of that version go on meanwhile.
    #[command(after_help = "Examples:\n  storectl upgrade --dry-run --stack storefront\n  \
                            storectl upgrade --stack storefront\n\n\
                            Before the deploy of a version that stores more than the one before. It reads the whole table, \
                            writes the rows that are missing, and raises the schema number last; the functions of the new \
                            version respond 503 until then. Interrupted, the same command continues; run again, it \
                            changes nothing.")]
    Upgrade(Upgrade),
    /// Print an access token for a user (id or name).
    #[command(after_help = "Examples:\n  storectl token 7 --local ./data\n  \
                            storectl token Thornwick --ttl 6h --stack storefront\n  \
                            storectl token --name \"$BUYER\" --json --stack storefront")]
    Token(Token),
    /// Revoke every token that a user has so far.
    #[command(after_help = "Examples:\n  storectl revoke 7 --stack storefront\n\n\
                            Where players log in by name (`auth_type: username`), the name can be entered again at once: \
                            `storectl ban` refuses it, for the player too.")]
    Revoke(OneUser),
    /// Ban a name: it cannot log in, and every token of its account is refused. Or list the bans.
    #[command(after_help = "Examples:\n  storectl ban Grimble --reason 'chargeback of May 3' --stack storefront\n  \
                            storectl ban list --stack storefront\n\n\
                            The name need not have an account yet, and case does not matter. `storectl unban` lifts the \
                            ban; tokens from before it stay refused. \
                            A player whose name is list: `storectl ban -- list`.")]
    Ban(BanName),
    /// Lift the ban of a name.
    #[command(after_help = "Examples:\n  storectl unban Grimble --stack storefront")]
    Unban(UnbanName),
    /// Close the storefront for maintenance, open it, or leave it to store.yaml.
    #[command(after_help = "Examples:\n  storectl maintenance on --stack storefront\n  \
                            storectl maintenance default --stack storefront\n\n\
                            It takes effect within five seconds, survives a publish, and overrides \
                            `maintenance` in store.yaml until it is set to default. The storefront learns of it by \
                            checkAccessibility; the other calls continue to work.")]
    Maintenance(Maintenance),
    /// The shop in front of the API.
    #[command(subcommand)]
    Shop(ShopCommand),
    /// Login through the chat platform.
    #[command(subcommand)]
    Chat(ChatCommand),
    /// Buyers' accounts.
    #[command(subcommand)]
    User(UserCommand),
    /// Coupons.
    #[command(subcommand)]
    Coupon(CouponCommand),
    /// Gift cards.
    #[command(subcommand)]
    Gift(GiftCommand),
    /// Referral codes.
    #[command(subcommand)]
    Referral(ReferralCommand),
    /// Orders: those of checkouts, and those that were paid elsewhere.
    #[command(subcommand)]
    Order(OrderCommand),
    /// Subscriptions.
    #[command(subcommand)]
    Subscription(SubscriptionCommand),
    /// The payment provider.
    #[command(subcommand)]
    Payments(PaymentsCommand),
    /// Game servers and their keys.
    #[command(subcommand)]
    Server(ServerCommand),
    /// Commands on their way to game servers.
    #[command(subcommand)]
    Delivery(DeliveryCommand),
    /// Buyers' carts, with the same rules as the API.
    #[command(subcommand)]
    Cart(CartCommand),
    /// Print the OpenAPI document of the API; touches no table.
    #[command(hide = true, after_help = "Examples:\n  storectl openapi > openapi.json")]
    Openapi,
    /// Print one screen: what was sold today, what is open, what waits, and the game servers.
    #[command(
        after_help = "Examples:\n  storectl status --stack storefront\n  storectl status --json --local ./data\n\n\
                            Today begins at midnight in UTC. Sales are those with an owner and a price, in the store's \
                            currency, less refunds. It reads today's orders, the open ones and the servers' queues, and \
                            looks through the table once, which takes some seconds if it is large, for what waits for \
                            you. It compares nothing and asks no provider: `storectl doctor` does."
    )]
    Status,
    /// Say what needs you, with the command for it, and check the deployment and the table.
    #[command(after_help = "Examples:\n  storectl doctor --stack storefront --origin https://shop.example\n  \
                            storectl doctor --local ./data\n  \
                            storectl doctor --repair --local ./data\n\n\
                            A line that begins with bad is a fault, todo waits for you, note is worth knowing. The last \
                            line names what is well. The exit code is 3 if there is a bad or a todo.")]
    Doctor(Doctor),
}

#[derive(Debug, Clone, Args)]
pub struct Check {
    /// Directory of the store's files (see infra/docs/store-format.md).
    pub dir: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct Publish {
    /// Directory of the store's files.
    pub dir: PathBuf,
    /// Show what would change and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask; the changes are printed anyway.
    #[arg(long, short)]
    pub yes: bool,
    /// Allow the store's currency to become this one; --yes is not enough.
    #[arg(long, value_name = "CODE")]
    pub allow_currency: Option<String>,
    /// Allow removing more than a fifth of the active items.
    #[arg(long)]
    pub allow_removals: bool,
    /// Allow changing a third of the prices, or more, by more than half; --yes is not enough.
    #[arg(long)]
    pub allow_price_changes: bool,
    /// Allow commands that, with the longest values, are too long for RCON; --yes is not enough.
    #[arg(long)]
    pub allow_long_commands: bool,
    /// Allow what makes buyers own something else: an id that was sold becomes another item or gets another one, servers swap
    /// their names; --yes is not enough.
    #[arg(long)]
    pub allow_id_changes: bool,
    /// Cancel the commands that wait for servers which store.yaml no longer has, also those that are due later.
    #[arg(long)]
    pub drop_queue: bool,
    /// Label of this version, shown by `versions` and `rollback`.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub label: Option<String>,
    /// How long a version stays after it was replaced, such as 1h or 2d; the last three stay longer.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds)]
    pub grace: i64,
}

#[derive(Debug, Clone, Args)]
pub struct Upgrade {
    /// Show what would be written and stop.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Rollback {
    /// Name of the version, see `storectl versions`.
    pub version: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
    /// Allow the store's currency to become this one; --yes is not enough.
    #[arg(long, value_name = "CODE")]
    pub allow_currency: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Directory to write; it must be empty or not exist.
    pub dir: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct Backup {
    /// File to write; it must not exist.
    pub file: PathBuf,
    /// Write what a demo store is loaded with (live.jsonl in its folder), as text: accounts, bans, carts, codes and orders.
    #[arg(long)]
    pub demo: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Restore {
    /// File that `backup` wrote.
    pub file: PathBuf,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Token {
    /// The owner of the token.
    #[command(flatten)]
    pub user: WhichUser,
    /// How long it is valid, such as 30m, 6h or 7d.
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = seconds)]
    pub ttl: i64,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ShopCommand {
    /// Upload the scripts and styles of this build's shop, before the functions that name them are deployed.
    #[command(after_help = "Examples:\n  storectl shop upload --stack storefront\n\n\
                            `storectl publish` uploads them too. Those of earlier builds stay.")]
    Upload,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ChatCommand {
    /// Store the client secret of the chat platform in the stack, and print the deploy that takes it over.
    #[command(after_help = "Examples:\n  storectl chat connect --stack storefront --secret-file client-secret.txt\n  \
                            storectl chat connect --stack storefront < client-secret.txt\n\n\
                            The secret is never an argument and is never shown. Remove the file afterwards.")]
    Connect(ConnectChat),
}

#[derive(Debug, Clone, Args)]
pub struct ConnectChat {
    /// File with the client secret and nothing else; by default standard input.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct Maintenance {
    /// The mode.
    #[arg(value_enum)]
    pub mode: MaintenanceMode,
}

/// A mode of `maintenance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaintenanceMode {
    /// Close the storefront.
    On,
    /// Open the storefront.
    Off,
    /// Do as store.yaml says.
    Default,
}

#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// Origin of a storefront that must be allowed, such as `https://shop.example`; may be given more than once.
    #[arg(long = "origin", value_name = "ORIGIN")]
    pub origins: Vec<String>,
    /// Correct units sold, what users own and what patrons gave from the orders, and what waits for game servers.
    #[arg(long)]
    pub repair: bool,
    /// Print a line for every check, also for what is well.
    #[arg(long)]
    pub all: bool,
}

/// A short text on one line.
fn short_text(text: &str) -> Result<String, &'static str> {
    const LONGEST: usize = 200;
    let text = text.trim();
    let fits = (1..=LONGEST).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("must be 1 to 200 characters on one line") }
}

/// Reads a duration such as `90s`, `6h`, `7d` or `1h 30m` as seconds: from one second to ten years, a day being 24
/// hours.
pub fn seconds(text: &str) -> Result<i64, String> {
    const LONGEST: i64 = 3_650 * 86_400;
    let span = text.trim().parse::<Span>().ok().filter(|_| !text.contains(['.', ',']));
    let span = span.ok_or("write whole numbers with s, m, h or d, such as 6h")?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map(|duration| duration.as_secs());
    duration.ok().filter(|seconds| (1..=LONGEST).contains(seconds)).ok_or_else(|| "must be from 1s to 3650d".to_owned())
}

#[cfg(test)]
mod tests;
