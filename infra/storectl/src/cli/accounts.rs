//! `user credit`, `user rename` and `ban`.

use super::short_text;
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub struct CreditUser {
    /// The user's id if it consists of digits, else the user's name; case does not matter.
    pub user: String,
    /// Amount to add to the balance, in virtual currency.
    pub amount: String,
    /// The reason; `user show` shows it.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub note: String,
    /// Unique among the account's credits, such as the number of a ticket; by default AMOUNT and
    /// TEXT.
    #[arg(long, value_parser = key)]
    pub key: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct RenameUser {
    /// The user's id if it consists of digits, else the present name; case does not matter.
    pub user: String,
    /// The new name.
    pub name: String,
}

#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BanName {
    /// Another thing to do with bans.
    #[command(subcommand)]
    pub command: Option<BanCommand>,
    /// The player's name.
    #[arg(value_name = "NAME", required = true)]
    pub name: Option<String>,
    /// The reason; `ban list` and `user show` show it, the player does not see it.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Subcommand)]
pub enum BanCommand {
    /// List every banned name with date and reason; looks through the whole table.
    #[command(after_help = "Example:\n  storectl ban list --stack storefront")]
    List,
}

#[derive(Debug, Clone, Args)]
pub struct UnbanName {
    /// The player's name.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// The key of a credit or of a top-up.
pub(super) fn key(text: &str) -> Result<String, &'static str> {
    const LONGEST: usize = 64;
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_key);
    if fits { Ok(text.to_owned()) } else { Err("must be 1 to 64 letters, digits, '.', '_', ':' or '-'") }
}
