//! The tool with which a store is run: it checks and publishes the files, hands out tokens and codes, records orders,
//! looks at carts, and backs everything up.
//!
//! A file for each group of commands has the options that can be typed, what is done, and what is answered; [`deployment`] finds
//! the table, [`console`] is who types. A command answers with what is [`answer::Printed`] or an [`error::Failure`]; nothing but
//! `main` prints.

#![expect(non_camel_case_types, reason = "the type of a fact has its name, see `facts!`")]

mod access;
mod account;
pub mod answer;
mod arguments;
mod cart;
mod chat;
mod check;
mod code;
mod code_file;
pub mod console;
mod coupon;
mod delivery;
pub mod deployment;
mod doctor;
pub mod error;
mod gift;
mod notify;
mod order;
mod payments;
mod plan;
mod prices;
mod publishing;
mod report;
mod restore;
mod server;
mod shop;
mod status;
mod subscription;
mod table;
mod try_item;
mod user;
mod versions;

/// Imports of almost every file of commands.
mod prelude {
    pub use crate::answer::{BAD, GOOD, Outcome, Printed, STRONG, Time, WARN, columns, paint, value};
    pub(crate) use crate::answer::{facts, note, ok, warning};
    pub use crate::console::Console;
    pub use crate::deployment::Deployment;
    pub use crate::error::{AGAIN, Exit, Failure, Unsure as _};
    pub use clap::{Args, Subcommand};

    /// Of what may fail with what a person reads.
    pub type Result<T, E = Failure> = std::result::Result<T, E>;
}

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser};
use deployment::DeploymentOptions;
use futures_util::future::LocalBoxFuture;
use prelude::*;
use publish::files::StoreFiles;
use serde_json::Value;
use shared::clock::Clock;
use shared::model::SCHEMA;
use shared::table::published::read_active_version;
use std::ffi::OsString;
use std::sync::Arc;

/// The OpenAPI document. A test of the crate `reference` fails if it is out of date.
const OPENAPI: &str = include_str!("../../openapi.json");

const AFTER_HELP: &str = "For developers:
  openapi      Print the OpenAPI document of the API; touches no table

Exit codes:
  0  done
  1  a local file cannot be read or written, or the command was interrupted
  2  the command line cannot be read
  3  the store's files have faults, or doctor, reconcile, report or try found something
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
    pub deployment: DeploymentOptions,
}

impl Cli {
    /// Runs the command, on the table that the options name.
    pub async fn run(&self, console: &Console, clock: &Arc<dyn Clock>) -> Outcome {
        // Faults of the files are reported before a table is looked for.
        let files = match &self.command {
            Command::Check(options) => return check::run(options, console),
            Command::Openapi => {
                let unreadable = |error| format!("infra/openapi.json is not JSON: {error}.");
                let document: Value = serde_json::from_str(OPENAPI)
                    .map_err(|error| Failure::refused(unreadable(error), "Report this."))?;
                return Ok(Printed::new(OPENAPI, &document));
            }
            Command::Publish(options) => Some(publishing::read(&options.dir)?),
            _ => None,
        };
        let at = Deployment::resolve(&self.deployment, clock).await?;
        // Boxed: the future of all commands is too deep for the compiler to lay out within another one.
        let command: LocalBoxFuture<'_, Outcome> = Box::pin(self.command.run_with(&at, console, files));
        command.await
    }

    /// The command line with its help: the options of the target are listed once, in the help of `storectl` itself.
    pub fn documented() -> clap::Command {
        let command = with_negative_numbers(Self::command());
        let targets = DeploymentOptions::augment_args(clap::Command::new(""));
        let hidden: Vec<Arg> = targets.get_arguments().map(|option| option.clone().hide(true)).collect();
        hide(command, &hidden)
    }

    pub fn read(line: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let line: Vec<OsString> = line.into_iter().collect();
        let mut command = Self::documented();
        let matches = command.try_get_matches_from_mut(&line).map_err(|error| with_hint(error, &line))?;
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
    Check(check::Check),
    /// Check, show what changes, ask, then publish.
    #[command(after_help = "Examples:\n  storectl publish my-store --local ./data\n  \
                            storectl publish my-store --stack storefront --dry-run\n  \
                            storectl publish my-store --stack storefront --yes --label 'Summer sale'\n\n\
                            Readers see the old version whole until one write switches to the new one, and the new one \
                            whole after it. If another version is published after the changes were shown, nothing is \
                            switched: exit code 5, and the changes against that version.")]
    Publish(publishing::Publish),
    /// List the versions that are in the table, and what was active when, newest first.
    #[command(after_help = "Examples:\n  storectl versions --stack storefront")]
    Versions,
    /// Show what changes, ask, then activate an older version again; without a name, the one that was active before.
    #[command(after_help = "Examples:\n  storectl rollback --stack storefront\n  \
                            storectl rollback 3f9a0c21d4e5b6a7c8d9 --stack storefront --yes")]
    Rollback(versions::Rollback),
    /// Write the files of the published store, as they were published.
    #[command(after_help = "Examples:\n  storectl export from-aws --stack storefront\n\n\
                            Comments and hidden categories are among them, pictures are not.")]
    Export(versions::Export),
    /// Write everything in the table to a compressed file.
    #[command(after_help = "Examples:\n  storectl backup store.jsonl.gz --stack storefront\n  \
                            storectl backup my-store/live.jsonl --demo --local ./data")]
    Backup(table::Backup),
    /// Fill an empty table from a backup; if it was interrupted, the same command continues.
    #[command(after_help = "Examples:\n  storectl restore store.jsonl.gz --table other --region eu-central-1\n  \
                            storectl restore store.jsonl.gz --local ./other\n\n\
                            A local server begins with an empty table with `cargo run -- --data ./other --empty`.")]
    Restore(restore::Restore),
    /// Bring the data of an earlier version to today's format; the functions of that version go on meanwhile.
    #[command(after_help = "Examples:\n  storectl upgrade --dry-run --stack storefront\n  \
                            storectl upgrade --stack storefront\n\n\
                            Before the deploy of a version that stores more than the one before. It reads the whole table, \
                            writes the rows that are missing, and raises the schema number last; the functions of the new \
                            version respond 503 until then. Interrupted, the same command continues; run again, it \
                            changes nothing.")]
    Upgrade(table::Upgrade),
    /// Print an access token for a user (id or name).
    #[command(after_help = "Examples:\n  storectl token 7 --local ./data\n  \
                            storectl token Thornwick --ttl 6h --stack storefront\n  \
                            storectl token --name \"$BUYER\" --json --stack storefront")]
    Token(access::Token),
    /// Revoke every token that a user has so far.
    #[command(after_help = "Examples:\n  storectl revoke 7 --stack storefront\n\n\
                            Where players log in by name (`auth_type: username`), the name can be entered again at once: \
                            `storectl ban` refuses it, for the player too.")]
    Revoke(user::WhichUser),
    /// Ban a name: it cannot log in, and every token of its account is refused. Or list the bans.
    #[command(after_help = "Examples:\n  storectl ban Grimble --reason 'chargeback of May 3' --stack storefront\n  \
                            storectl ban Grimble --card --stack storefront\n  \
                            storectl ban list --stack storefront\n\n\
                            The name need not have an account yet, and case does not matter. `storectl unban` lifts the \
                            ban; tokens from before it stay refused. \
                            A player whose name is list: `storectl ban -- list`.")]
    Ban(access::BanName),
    /// Lift the ban of a name.
    #[command(after_help = "Examples:\n  storectl unban Grimble --stack storefront")]
    Unban(access::UnbanName),
    /// Close the storefront for maintenance, open it, or leave it to store.yaml.
    #[command(after_help = "Examples:\n  storectl maintenance on --stack storefront\n  \
                            storectl maintenance default --stack storefront\n\n\
                            It takes effect within five seconds, survives a publish, and overrides \
                            `maintenance` in store.yaml until it is set to default. The storefront learns of it by \
                            checkAccessibility; the other calls continue to work.")]
    Maintenance(table::Maintenance),
    /// The shop in front of the API.
    #[command(subcommand)]
    Shop(crate::shop::ShopCommand),
    /// Login through the chat platform.
    #[command(subcommand)]
    Chat(chat::ChatCommand),
    /// Buyers' accounts.
    #[command(subcommand)]
    User(user::UserCommand),
    /// Coupons.
    #[command(subcommand)]
    Coupon(coupon::CouponCommand),
    /// Gift cards.
    #[command(subcommand)]
    Gift(gift::GiftCommand),
    /// Referral codes.
    #[command(subcommand)]
    Referral(code::ReferralCommand),
    /// Orders: those of checkouts, and those that were paid elsewhere.
    #[command(subcommand)]
    Order(order::OrderCommand),
    /// Subscriptions.
    #[command(subcommand)]
    Subscription(subscription::SubscriptionCommand),
    /// The payment provider.
    #[command(subcommand)]
    Payments(payments::PaymentsCommand),
    /// What owners are notified of, and where.
    #[command(subcommand)]
    Notify(notify::NotifyCommand),
    /// Game servers and their keys.
    #[command(subcommand)]
    Server(server::ServerCommand),
    /// Commands on their way to game servers.
    #[command(subcommand)]
    Delivery(delivery::DeliveryCommand),
    /// Run an item's commands for a player on the real game servers, show how long it took, and take them back.
    #[command(after_help = "Examples:\n  storectl try 201 --player Thornwick --stack storefront\n  \
                            storectl try 203 --player Thornwick --server Survival --var 7=red --stack storefront\n\n\
                            It is no purchase: no order is made, and goals, donators, stock, reports and the profile do not \
                            show it. The `bought` commands run without their delays, then those that are `expired` or \
                            `refunded`; what runs for every sale of the store does not. Interrupted, the same command \
                            takes back what was begun before it tries again. The exit code is 3 if a command did not run.")]
    Try(try_item::TryItem),
    /// Buyers' carts, with the same rules as the API.
    #[command(subcommand)]
    Cart(cart::CartCommand),
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
    /// Say what was earned in a time: sold, taken off, refunded, disputed, fees and net, and whether the provider agrees.
    #[command(after_help = "Examples:\n  storectl report --stack storefront\n  \
                      storectl report --from 2027-05 --by item --stack storefront\n  \
                      storectl report --from 2027-05-01 --to 2027-05-31 --csv may.csv --html may.html --stack storefront\n\n\
                      Days are those of `time_zone` in store.yaml. Refunds and disputes count on their own day. It reads only \
                      the months that are asked for. The exit code is 3 if orders and provider differ.")]
    Report(report::ReportOptions),
    /// Say what needs you, with the command for it, and check the deployment and the table.
    #[command(after_help = "Examples:\n  storectl doctor --stack storefront --origin https://shop.example\n  \
                            storectl doctor --local ./data\n  \
                            storectl doctor --repair --local ./data\n\n\
                            A line that begins with bad is a fault, todo waits for you, note is worth knowing. The last \
                            line names what is well. The exit code is 3 if there is a bad or a todo.")]
    Doctor(doctor::Doctor),
}

impl Command {
    /// Runs a command that works on a table which was found already.
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        self.run_with(at, console, None).await
    }

    /// `files` are those of a store to publish, if they were read already.
    async fn run_with(&self, at: &Deployment, console: &Console, files: Option<StoreFiles>) -> Outcome {
        self.must_be_possible(at).await?;
        match self {
            Self::Publish(options) => publishing::run(at, console, options, files).await,
            Self::Versions => versions::list(at).await,
            Self::Rollback(options) => versions::rollback(at, console, options).await,
            Self::Export(options) => versions::export(at, options).await,
            Self::Backup(options) => table::backup(at, console, options).await,
            Self::Restore(options) => restore::run(at, console, options).await,
            Self::Upgrade(options) => table::upgrade(at, console, options).await,
            Self::Token(options) => access::token(at, options).await,
            Self::Revoke(which) => access::revoke(at, which).await,
            Self::Ban(options) => options.run(at).await,
            Self::Unban(options) => access::unban(at, options).await,
            Self::Maintenance(options) => table::set_maintenance(at, options).await,
            Self::Shop(crate::shop::ShopCommand::Upload) => crate::shop::upload(at, console).await,
            Self::Chat(chat::ChatCommand::Connect(options)) => chat::connect(at, options).await,
            Self::User(command) => command.run(at, console).await,
            Self::Coupon(command) => command.run(at, console).await,
            Self::Gift(command) => command.run(at, console).await,
            Self::Referral(command) => command.run(at).await,
            Self::Order(command) => command.run(at, console).await,
            Self::Subscription(command) => command.run(at, console).await,
            Self::Payments(command) => command.run(at, console).await,
            Self::Notify(command) => command.run(at, console).await,
            Self::Server(command) => command.run(at, console).await,
            Self::Delivery(command) => command.run(at, console).await,
            Self::Try(options) => try_item::run(at, console, options).await,
            Self::Cart(command) => command.run(at).await,
            Self::Doctor(options) => doctor::run(at, options).await,
            Self::Status => status::run(at).await,
            Self::Report(options) => report::run(at, options).await,
            Self::Check(_) | Self::Openapi => Err(Failure::refused("This needs no table.", "Report this.")),
        }
    }

    /// Refuses a table that is half restored, and data of an earlier format: what is written there would lack rows or find
    /// the wrong ones.
    async fn must_be_possible(&self, at: &Deployment) -> Result<()> {
        if matches!(self, Self::Restore(_) | Self::Doctor(_) | Self::Chat(_)) {
            return Ok(());
        }
        restore::must_not_be_running(at).await?;
        if matches!(self, Self::Upgrade(_) | Self::Backup(_) | Self::Export(_) | Self::Versions) {
            return Ok(());
        }
        match read_active_version(&at.db).await? {
            Some(active) if !active.is_current() => {
                let what = format!(
                    "The data in {} have the schema number {}, and this version of storectl needs {SCHEMA}.",
                    at.name, active.schema
                );
                Err(Failure::refused(what, "Take a backup, then run `storectl upgrade`."))
            }
            _ => Ok(()),
        }
    }
}

/// Lets every value be a negative number, so that the command says which value must not be one.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let takes_value = arg.get_action().takes_values();
        if takes_value { arg.allow_negative_numbers(true) } else { arg }
    });
    command.mut_subcommands(with_negative_numbers)
}

/// An error with the word that is right in this program.
fn with_hint(mut error: clap::Error, line: &[OsString]) -> clap::Error {
    let wrong = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].into_iter().find_map(|kind| {
        let ContextValue::String(wrong) = error.get(kind)? else { return None };
        Some(wrong.split([' ', '=']).next().unwrap_or_default().to_owned())
    });
    let types = |word: &str| line.iter().any(|typed| typed == word);
    let hint = match wrong.as_deref() {
        Some("--amount") if types("refund") => "--to TOTAL says how much of the order is refunded afterwards",
        Some("delete" | "remove") if types("gift") || types("referral") => {
            "a code that was given out is not deleted: `disable` switches it off"
        }
        Some("delete" | "remove") if types("user") => "`storectl user erase` erases an account",
        Some("delete" | "remove") if types("coupon") => {
            "`coupon delete` deletes an unused coupon, `coupon disable` switches one off"
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::documented().debug_assert();
    }

    /// The help of `storectl WORDS --help`.
    fn help(words: &[&str]) -> String {
        let line = [&["storectl"], words, &["--help"]].concat();
        Cli::read(line.into_iter().map(OsString::from)).unwrap_err().to_string()
    }

    #[test]
    fn the_target_is_described_once() {
        let (all, heading) = (help(&[]), "Target (one of");
        assert!(all.contains(heading) && all.contains("--endpoint-url") && all.contains("--json"), "{all}");
        for words in [&["publish"][..], &["user"], &["user", "show"], &["order", "record"], &["ban", "list"]] {
            let one = help(words);
            assert!(!one.contains(heading) && !one.contains("--endpoint-url") && one.contains("--json"), "{one}");
        }
        assert!(help(&["user", "show"]).contains(TARGET_HELP));
        let line = ["storectl", "user", "show", "7", "--table", "t", "--json"].map(OsString::from);
        let read = Cli::read(line).unwrap();
        assert_eq!((read.deployment.table.as_deref(), read.json), (Some("t"), true));
        let line = ["storectl", "--local", "d", "user", "list"].map(OsString::from);
        assert_eq!(Cli::read(line).unwrap().deployment.local, Some("d".into()));
        let line = ["storectl", "user", "list", "--stack", "s", "--local", "d"].map(OsString::from);
        Cli::read(line).unwrap_err();
    }

    #[test]
    fn what_is_for_developers_is_under_a_heading_of_its_own() {
        let all = help(&[]);
        let (commands, developers) = all.split_once("For developers:\n").unwrap();
        assert!(!commands.contains("openapi") && developers.trim_start().starts_with("openapi"), "{all}");
    }

    #[test]
    fn every_command_that_does_something_has_an_example() {
        fn visit(command: &clap::Command) {
            if command.has_subcommands() {
                command.get_subcommands().for_each(visit);
            } else {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Example"), "{} has no example", command.get_name());
            }
        }
        Cli::command().get_subcommands().for_each(visit);
    }

    fn read(words: &[&str]) -> Result<Cli, clap::Error> {
        Cli::read([&["storectl"], words].concat().into_iter().map(OsString::from))
    }

    #[test]
    fn a_word_that_is_another_one_here_is_named() {
        for (words, tip) in [
            (&["order", "refund", "x", "--amount", "5"][..], "--to TOTAL"),
            (&["gift", "delete", "x"], "`disable`"),
            (&["referral", "delete", "x"], "`disable`"),
            (&["user", "delete", "x"], "`storectl user erase`"),
            (&["coupon", "remove", "x"], "`coupon delete`"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.to_string().contains(tip), "{words:?}: {error}");
            assert!(Failure::usage(&error).next.contains(tip), "{words:?}");
        }
    }

    #[test]
    fn a_negative_number_is_a_value_that_the_command_refuses() {
        for words in [
            &["user", "credit", "Newt", "-5", "--note", "x"][..],
            &["gift", "top-up", "x", "-2.50"],
            &["coupon", "add", "x", "--amount", "-5"],
            &["order", "refund", "x", "--to", "-5"],
        ] {
            read(words).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
