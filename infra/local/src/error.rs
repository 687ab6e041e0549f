//! The reasons why the server does not start: one sentence each, with the next step if it is not obvious.

use crate::live::LiveError;
use publish::Fault;
use shared::fault::chain;
use std::path::PathBuf;

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
