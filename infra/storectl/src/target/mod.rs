//! Which table is meant, and how it is reached.

mod chat;
mod connect;
mod keys;
mod stack;
mod time;

pub use stack::Stack;

use crate::error::{Exit, Failure};
use aws_sdk_dynamodb::Client;
use clap::Args;
use shared::clock::Clock;
use shared::store::Db;
use shared::token::TokenKeys;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use template::Template;

/// The template that the table is deployed with: the one definition there is.
const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// How the table is named on the command line.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Target (one of --table, --stack, --endpoint-url, --local)")]
pub struct TargetOptions {
    /// Name of the table.
    #[arg(long, global = true, value_name = "NAME")]
    pub table: Option<String>,
    /// AWS region of the table or stack; by default that of the profile or the environment.
    #[arg(long, global = true, value_name = "REGION")]
    pub region: Option<String>,
    /// Profile of the AWS configuration; SSO and credential processes work as in every AWS tool.
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Deployed stack: table and token keys are read from its outputs.
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["table", "local"])]
    pub stack: Option<String>,
    /// Another database than AWS's own: the one that the local server prints, or DynamoDB Local.
    #[arg(long, global = true, value_name = "URL", conflicts_with_all = ["stack", "local"])]
    pub endpoint_url: Option<String>,
    /// File with the token keys, a JSON object of kid to secret; else TOKEN_KEYS, then the stack's secret.
    #[arg(long, global = true, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Data directory of the local server, while the server is not running.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "table")]
    pub local: Option<PathBuf>,
}

/// A table and what belongs to it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The table.
    pub db: Db,
    /// How people know it.
    pub name: String,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The deployed stack, if one was named.
    pub stack: Option<Stack>,
    keys: keys::KeySource,
    chat_secret: Option<chat::ChatSecret>,
}

impl Target {
    /// Finds the table. `create` says whether a `--local` directory that is not there is made.
    ///
    /// # Errors
    /// [`Failure`] if no table was named, or it cannot be found.
    pub async fn resolve(options: &TargetOptions, clock: &Arc<dyn Clock>, create: bool) -> Result<Self, Failure> {
        if let Some(dir) = &options.local {
            return Self::local(options, dir, clock, create).await;
        }
        if let Some(url) = &options.endpoint_url {
            let table = options.table.clone().unwrap_or(definition()?.logical_id);
            let client = connect::endpoint(options, url).await;
            let name = format!("table {table} at {url}");
            let keys = keys::KeySource::new(options.key_file.as_deref(), None);
            return Ok(Self {
                db: Db::new(client, &table),
                name,
                clock: Arc::clone(clock),
                stack: None,
                keys,
                chat_secret: None,
            });
        }
        let config = connect::aws(options).await;
        let stack = match &options.stack {
            Some(name) => Some(Stack::read(&config, name).await?),
            None => None,
        };
        let Some(table) = options.table.clone().or_else(|| stack.as_ref().map(|stack| stack.table.clone())) else {
            let what = "No table was named.";
            let next = "Add --stack NAME, --table NAME, --endpoint-url URL or --local DIR.";
            return Err(Failure::new(Exit::Denied, what, next));
        };
        let region = config.region().map_or("an unknown region", |region| region.as_ref()).to_owned();
        let secret = stack.as_ref().map(|stack| (config.clone(), stack.secret.clone()));
        let keys = keys::KeySource::new(options.key_file.as_deref(), secret);
        let db = Db::new(Client::new(&config), &table);
        let name = format!("table {table} in {region}");
        let chat_arn = stack.as_ref().map(|stack| stack.chat_secret.clone());
        let chat_secret = chat_arn.map(|arn| chat::ChatSecret { config, arn });
        Ok(Self { db, name, clock: Arc::clone(clock), stack, keys, chat_secret })
    }

    /// A table that is reached already, with its token keys in a file.
    #[must_use]
    pub fn of(db: Db, clock: &Arc<dyn Clock>, key_file: Option<&Path>) -> Self {
        let name = format!("table {}", db.table());
        Self {
            db,
            name,
            clock: Arc::clone(clock),
            stack: None,
            keys: keys::KeySource::new(key_file, None),
            chat_secret: None,
        }
    }

    async fn local(options: &TargetOptions, dir: &Path, clock: &Arc<dyn Clock>, create: bool) -> Result<Self, Failure> {
        if !create && !local::data::table_file(dir).is_file() {
            let what =
                format!("{} is not a data directory of the local server: there is no table in it.", dir.display());
            let next = "Check the path, or fill it with `storectl publish --local`.";
            return Err(Failure::new(Exit::Denied, what, next));
        }
        local::data::prepare(dir).map_err(|error| unusable(&error))?;
        if !local::data::keys_file(dir).exists() {
            // They are read when a command needs them: a broken file stops no other.
            local::data::token_keys(dir).map_err(|error| unusable(&error))?;
        }
        let file = local::data::table_file(dir);
        let engine = local::engine::Engine::start(Some(&file)).await.map_err(|error| unusable(&error))?;
        let client = Client::from_conf(engine.client_config().build());
        let definition = definition()?;
        let table = definition.logical_id.clone();
        local::engine::ensure_table(&client, &table, &definition).await.map_err(|error| unusable(&error))?;
        let key_file = options.key_file.clone().unwrap_or_else(|| local::data::keys_file(dir));
        let keys = keys::KeySource::new(Some(&key_file), None);
        let name = format!("the local store in {}", dir.display());
        Ok(Self { db: Db::new(client, &table), name, clock: Arc::clone(clock), stack: None, keys, chat_secret: None })
    }

    /// The token keys: of the file, the environment, or the stack's secret, in this order.
    ///
    /// # Errors
    /// [`Failure`] if there are none, or none that can be used; the keys are never shown.
    pub async fn token_keys(&self) -> Result<TokenKeys, Failure> {
        self.keys.read().await
    }
}

/// The table as template.yaml defines it.
///
/// # Errors
/// Never with the template that this tool was built from.
pub fn definition() -> Result<template::TableDefinition, Failure> {
    let template = Template::parse(TEMPLATE, &std::collections::BTreeMap::new());
    let definition = template.and_then(|template| template.table());
    definition.map_err(|error| {
        let what = format!("The template this tool was built from cannot be read: {error}.");
        Failure::new(Exit::Local, what, "Build it again from a sound checkout.")
    })
}

fn unusable(error: &local::error::StartError) -> Failure {
    let what = format!("The local store cannot be opened: {error}.");
    let next = "Check the path; while the local server runs on it, use the endpoint that it printed.";
    Failure::new(Exit::Local, what, next)
}
