//! `server` and `delivery`.

use super::seconds;
use clap::{Args, Subcommand};
use shared::model::{CommandId, CommandState, ItemId, RunName};

/// `server …`.
#[derive(Debug, Clone, Subcommand)]
pub enum ServerCommand {
    /// Make a key for a game server of store.yaml, and print what to enter there.
    #[command(after_help = "Examples:\n  storectl server add Survival --stack storefront\n  \
                            storectl server add 1 --drop --stack storefront\n  \
                            storectl server add 2 --agent --stack storefront\n\n\
                            The key is shown once: only its hash is stored. What was sold for this server before is shown, \
                            and delivered or dropped as you decide.")]
    Add(AddServer),
    /// List the game servers, their keys by the beginning of the hash, and what waits for each.
    #[command(after_help = "Example:\n  storectl server list --stack storefront")]
    List,
    /// Make a key void at once; the game server's plugin is then refused.
    #[command(after_help = "Examples:\n  storectl server revoke Survival --stack storefront\n  \
                            storectl server revoke Survival --key 3f9a0c21 --stack storefront\n\n\
                            After 17 minutes of refusals the plugin gives up, until `/ms reload` or a restart.")]
    Revoke(RevokeServer),
    /// Make another key for a game server; the older ones work until --finish.
    #[command(after_help = "Examples:\n  storectl server rotate Survival --stack storefront\n  \
                            storectl server rotate Survival --finish --stack storefront")]
    Rotate(RotateServer),
}

/// `server add`.
#[derive(Debug, Clone, Args)]
pub struct AddServer {
    /// The server's id or name in store.yaml.
    pub server: String,
    /// Deliver what is due for it already; do not ask.
    #[arg(long)]
    pub deliver: bool,
    /// Cancel what is due for it already, and not what is due later, such as the end of a timed item; do not ask.
    #[arg(long, conflicts_with = "deliver")]
    pub drop: bool,
    /// Address of the API that the game server calls; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print the file of an agent in place of the settings of the plugin.
    #[arg(long)]
    pub agent: bool,
}

/// `server revoke`.
#[derive(Debug, Clone, Args)]
pub struct RevokeServer {
    /// The server's id or name.
    pub server: String,
    /// Only the key whose hash begins like this, as `server list` shows it; all of the server by default.
    #[arg(long, value_name = "HASH")]
    pub key: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// `server rotate`.
#[derive(Debug, Clone, Args)]
pub struct RotateServer {
    /// The server's id or name.
    pub server: String,
    /// Make all keys but the newest void.
    #[arg(long)]
    pub finish: bool,
    /// Do not ask, also if no poll has used the newest key yet.
    #[arg(long, short)]
    pub yes: bool,
    /// Address of the API that the game server calls; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print the file of an agent in place of the settings of the plugin.
    #[arg(long, conflicts_with = "finish")]
    pub agent: bool,
}

/// `delivery …`.
#[derive(Debug, Clone, Subcommand)]
pub enum DeliveryCommand {
    /// List commands on their way to game servers, the longest due first; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl delivery list --state unknown --stack storefront\n  \
                            storectl delivery list --user Thornwick --stack storefront\n  \
                            storectl delivery list --waiting --stack storefront\n  \
                            storectl delivery list --server Survival --state ready --older 15m --stack storefront\n  \
                            storectl delivery list --order xihrrpwsa7d4vdj2 --json --stack storefront")]
    List(ListDelivery),
    /// Send commands again under new ids: they run once more, whether or not they ran before.
    #[command(after_help = "Examples:\n  storectl delivery retry 1042 1043 --stack storefront\n  \
                            storectl delivery retry --order xihrrpwsa7d4vdj2 --stack storefront\n  \
                            storectl delivery retry --server Survival --since 2031-05-01T03:00Z --run rollback-2031-05-01 \
                            --stack storefront\n\n\
                            With --order those that are unknown or refused. If the game server asks about the old id again, \
                            the response is not to run it.\n\n\
                            With --server a run: the `bought` commands that the server ran in that time, or may have run, or \
                            keeps, run again, because it was reset or has lost what they gave. Orders must be paid and not disputed; \
                            refunded units, items that have ended, banned players and what you did by hand are left out. The \
                            commands are those of the purchase, for the players' present names. The same command with the same \
                            name goes on where it stopped, and gives nothing twice; another name is another run.\n\n\
                            With --today a new season: paid orders that were made in that time are given what their items give \
                            on the server as they are published now, and a later end or refund takes that back. What timed \
                            items were paid for stays as it is; what every sale of the store runs is not run again.")]
    Retry(RetryDelivery),
    /// Cancel commands that have not run.
    #[command(after_help = "Example:\n  storectl delivery cancel --order xihrrpwsa7d4vdj2 --stack storefront\n\n\
                            With --order those that wait, are ready, kept, unknown or refused.")]
    Cancel(DecideDelivery),
    /// Note that you have done by hand what commands do.
    #[command(after_help = "Example:\n  storectl delivery done 1042 --stack storefront\n\n\
                            With --order those that are kept, unknown or refused.")]
    Done(DecideDelivery),
    /// After a table was restored to a point in time, before functions use it: what may have run since becomes unknown.
    #[command(after_help = "Example:\n  storectl delivery restored --table store-restored --region eu-central-1\n\n\
                            The game servers went on after that moment, so that nothing of it is served again by itself. \
                            Commands that are due later stay. `storectl restore` does this with every backup.")]
    Restored(RestoredDelivery),
}

/// `delivery restored`.
#[derive(Debug, Clone, Args)]
pub struct RestoredDelivery {
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// `delivery list`.
#[derive(Debug, Clone, Args)]
pub struct ListDelivery {
    /// Only commands of this server: its id or name.
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Only commands of this order.
    #[arg(long, value_name = "ID")]
    pub order: Option<String>,
    /// Only commands for the user of this name, with or without an account; case does not matter.
    #[arg(long, alias = "player", value_name = "NAME")]
    pub user: Option<String>,
    /// Only commands in this state, such as `ready`, `kept`, `unknown` or `refused`.
    #[arg(long, value_name = "STATE", value_parser = state)]
    pub state: Option<CommandState>,
    /// Only commands that have been due for this long, such as 15m or 2d.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub older: Option<i64>,
    /// Only commands that have waited for their player for more than three days.
    #[arg(long)]
    pub waiting: bool,
}

/// `delivery retry`.
#[derive(Debug, Clone, Args)]
pub struct RetryDelivery {
    /// The ids of the commands, as `delivery list` shows them.
    #[arg(value_name = "ID", value_parser = id, required_unless_present_any = ["order", "server"])]
    pub ids: Vec<CommandId>,
    /// The commands of this order instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["ids", "server"])]
    pub order: Option<String>,
    /// What this server ran instead: its id or name.
    #[arg(long, value_name = "SERVER", conflicts_with = "ids")]
    pub server: Option<String>,
    /// With --server: only what ran at this time or later, or on this day (UTC) or later.
    #[arg(long, value_name = "TIME", requires = "server")]
    pub since: Option<String>,
    /// With --server: only what ran before this time, or on this day (UTC) or before; until now by default.
    #[arg(long, value_name = "TIME", requires = "server")]
    pub until: Option<String>,
    /// With --server: only commands of this item.
    #[arg(long, value_name = "ID", requires = "server")]
    pub item: Option<ItemId>,
    /// With --server: a new season: the orders of that time are given what is published now.
    #[arg(long, requires = "server")]
    pub today: bool,
    /// With --server: a name for this run, under which nothing runs again twice.
    #[arg(long, value_name = "NAME", value_parser = RunName::parse, requires = "server")]
    pub run: Option<RunName>,
    /// With --server: show what would run again, and change nothing.
    #[arg(long, requires = "server")]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// `delivery cancel` and `done`.
#[derive(Debug, Clone, Args)]
pub struct DecideDelivery {
    /// The ids of the commands, as `delivery list` shows them.
    #[arg(value_name = "ID", value_parser = id, required_unless_present = "order")]
    pub ids: Vec<CommandId>,
    /// The commands of this order instead.
    #[arg(long, value_name = "ID", conflicts_with = "ids")]
    pub order: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

fn state(text: &str) -> Result<CommandState, String> {
    let wanted = text.trim().to_lowercase();
    CommandState::ALL.into_iter().find(|state| state.as_str() == wanted).ok_or_else(|| {
        let all: Vec<&str> = CommandState::ALL.into_iter().map(CommandState::as_str).collect();
        format!("must be one of {}", all.join(", "))
    })
}

fn id(text: &str) -> Result<CommandId, String> {
    let wrong = || "must be the id of a command, such as 1042".to_owned();
    text.trim().parse::<u32>().ok().and_then(|number| CommandId::new(number).ok()).ok_or_else(wrong)
}
