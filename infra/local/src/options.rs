//! The command line, and the reasons why the server does not start: one sentence each, with the next step if it is not
//! obvious.

use crate::live::LiveError;
use clap::Parser;
use publish::Fault;
use shared::fault::chain;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The repository, which has the template and the sample store.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs the whole store on this machine: the seven functions behind the routes of template.yaml, on an embedded
/// DynamoDB with a sample store.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "storefront",
    version,
    after_help = "Examples:\n  cargo run                              a shop on http://127.0.0.1:4011, its API on 4010, gone on exit\n  \
                  cargo run -- --port 0 --json           any free port; one line of JSON for scripts\n  \
                  cargo run -- --data ./data             keep the table and the token key across restarts\n  \
                  cargo run -- --data ./data --empty     a table to restore a backup into\n  \
                  cargo run -- --store ./my-store        another store, see infra/docs/store-format.md\n  \
                  cargo run -- --store ./my-store --at 2027-05-01T18:00   the shop of that moment\n  \
                  cargo run -- --data ./data --store ./my-store --republish   publish the files again after an edit\n  \
                  cargo run -- --base-path /api          for storefronts that add /api to their base URL\n  \
                  cargo run -- --parameter AllowedOrigins=http://localhost:3000\n\n\
                  With AWS_ENDPOINT_URL_DYNAMODB set, that database is used instead of the embedded one (table: TABLE_NAME)."
)]
pub struct Options {
    /// Port to listen on, on 127.0.0.1; 0 picks a free one.
    #[arg(long, default_value_t = 4010)]
    pub port: u16,
    /// Port of the shop; default: the one after --port if it is free, else any free one.
    #[arg(long, value_name = "PORT")]
    pub demo_port: Option<u16>,
    /// Port of the stand-in for the chat platform; default: the second after --port if it is free, else any free one.
    #[arg(long, value_name = "PORT")]
    pub chat_port: Option<u16>,
    /// Port of the stand-in for Stripe; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub stripe_port: u16,
    /// File with the keys of a Stripe account, as in the secret PaymentKeys; only keys of test mode. Buyers then pay on
    /// Stripe's own page, and webhooks do not arrive here. Default: the stand-in.
    #[arg(long, value_name = "FILE", conflicts_with = "stripe_port")]
    pub payment_keys: Option<PathBuf>,
    /// Path before every route, such as /api; default: none. In a deployment this is the parameter BasePath.
    #[arg(long, value_name = "PATH", value_parser = parse_base_path)]
    pub base_path: Option<String>,
    /// Directory that keeps the table and the token key across restarts; default: in memory.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Directory of the store that is published on the first start; default: the sample store.
    #[arg(long, value_name = "DIR", default_value_os_t = repository().join("infra/sample-store"), hide_default_value = true)]
    pub store: PathBuf,
    /// Show the shop as it is at a time that is still to come, such as 2027-05-01T18:00 in the store's time zone: nothing is kept.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["data", "empty"])]
    pub at: Option<String>,
    /// Begin with an empty table, for `storectl restore`: the store is not published.
    #[arg(long, conflicts_with = "republish")]
    pub empty: bool,
    /// Publish the store if it differs from the published one; carts, users, codes and orders do not change.
    #[arg(long)]
    pub republish: bool,
    /// Do not print a line per request.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print a token of each player in the store's files, and calls to try, when ready.
    #[arg(long, conflicts_with = "json")]
    pub tokens: bool,
    /// Print one line of JSON when ready, with the tokens, and no other text on standard output.
    #[arg(long)]
    pub json: bool,
    /// Value of a parameter of the template, as in a deployment; can be repeated. AllowedOrigins is by default
    /// the shop and port 3000 of this machine; the first origin that it names is the storefront's.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub parameters: Vec<(String, String)>,
}

impl Options {
    /// The template's parameters; if a name occurs twice, the last value counts.
    pub fn parameter_map(&self) -> BTreeMap<String, String> {
        self.parameters.iter().cloned().collect()
    }
}

pub fn repository() -> PathBuf {
    let path = PathBuf::from(REPOSITORY);
    path.canonicalize().unwrap_or(path)
}

/// A path with a slash before every part and none at the end.
fn parse_base_path(text: &str) -> Result<String, String> {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let parts = text.strip_prefix('/').unwrap_or(text);
    if !parts.split('/').all(is_part) {
        return Err("write it as a path of letters, digits, dots, dashes and underscores, such as /api".to_owned());
    }
    Ok(format!("/{parts}"))
}

fn parse_parameter(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or("write it as NAME=VALUE, such as AllowedOrigins=http://localhost:3000")?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("port {port} is taken; choose another with {option}, or {option} 0 for a free one")]
    PortTaken { port: u16, option: &'static str },
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen { port: u16, source: std::io::Error },
    #[error("{}", chain(.0))]
    Template(#[from] template::TemplateError),
    #[error("the store in {dir} has {} fault{}:\n{}", .faults.len(), if .faults.len() == 1 { "" } else { "s" }, list(.faults))]
    Store { dir: PathBuf, faults: Vec<Fault> },
    /// The time of `--at`, with the problem as the end of a sentence.
    #[error("--at {0}")]
    At(String),
    #[error("the live data of the store in {dir} cannot be loaded: {source}")]
    Live { dir: PathBuf, source: LiveError },
    #[error("cannot use {path} in the data directory: {source}")]
    Data { path: PathBuf, source: std::io::Error },
    /// Another process has the data directory open.
    #[error("{0} is in use by another process; stop it, or use the addresses that it printed")]
    DataInUse(PathBuf),
    #[error("the stand-in for Stripe does not start: {0}")]
    StandIn(std::io::Error),
    #[error("the token keys in {path} cannot be used: {source}")]
    Keys { path: PathBuf, source: shared::token::KeysError },
    #[error("the payment keys in {path} cannot be used: {reason}")]
    PaymentKeys {
        path: PathBuf,
        /// The cause. It never has a key.
        reason: String,
    },
    #[error("the embedded database does not start: {0}")]
    Engine(String),
    /// Access to the database that the environment names.
    #[error("AWS_ENDPOINT_URL_DYNAMODB names a database that cannot be reached: {0}")]
    Access(#[source] shared::config::ConfigError),
    #[error("the table cannot be {action}: {reason}")]
    Table { action: &'static str, reason: String },
    #[error("the store cannot be published: {}", chain(.0))]
    Publish(#[from] publish::PublishError),
    #[error("the function {function} cannot start: {}", chain(.source))]
    Function { function: String, source: shared::config::ConfigError },
    #[error("template.yaml has the function {0}, which does not exist")]
    UnknownFunction(String),
    #[error("no random numbers for the token key: {0}")]
    Entropy(String),
    /// An external database that is not on this machine.
    #[error(
        "{0} has no published store; publish one there first (only a database on this machine is filled automatically)"
    )]
    EmptyRemote(String),
    #[error("the demo's game servers do not start: {0}")]
    GameServers(std::io::Error),
    #[error("--republish is for a database on this machine; use `storectl publish` for {0}")]
    RepublishRemote(String),
}

fn list(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("  {fault}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_base_path_is_a_path() {
        let parse =
            |text: &str| Options::try_parse_from(["storefront", "--base-path", text]).map(|options| options.base_path);
        for (text, path) in [("/api", "/api"), ("api", "/api"), ("/store/v1.0", "/store/v1.0")] {
            assert_eq!(parse(text).unwrap().as_deref(), Some(path));
        }
        for text in ["", "/", "/api/", "//api", "/a b", "http://a"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(Options::try_parse_from(["storefront"]).unwrap().base_path, None);
    }

    #[test]
    fn a_parameter_without_a_value_is_refused() {
        assert!(Options::try_parse_from(["storefront", "--parameter", "AllowedOrigins"]).is_err());
    }
}
