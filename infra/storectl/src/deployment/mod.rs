//! Which table is meant, and how it is reached. And the addresses of notices' targets and their keys: where they are read and written.
//! They are never shown.

mod aws;
mod secrets;

pub use aws::{Bucket, Stack};

use crate::error::{Exit, Failure};
use archive::running::{Running, ahead, clock_file, keys_file, notices_file};
use aws_config::SdkConfig;
use clap::Args;
use secrets::{ChatSecret, KeySource, PaymentSource, Source};
use shared::clock::{Clock, SystemClock};
use shared::config::NoticeKeys;
use shared::model::ActiveVersion;
use shared::table::published::read_active_version;
use shared::table::{Db, StoreError, bulk};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use template::Template;

/// The template that the table is deployed with: the one definition there is.
const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// How the table is named on the command line.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Target (one of --table, --stack, --endpoint-url, --local)")]
pub struct DeploymentOptions {
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
    /// Endpoint of a database that is not AWS's: the one that the local server prints, or DynamoDB Local.
    #[arg(long, global = true, value_name = "URL", conflicts_with_all = ["stack", "local"])]
    pub endpoint_url: Option<String>,
    /// File with the token keys, a JSON object from kid to secret; else TOKEN_KEYS, then the stack's secret.
    #[arg(long, global = true, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// File with the payment keys; else PAYMENT_KEYS, then the stack's secret.
    #[arg(long, global = true, value_name = "FILE")]
    pub payment_keys: Option<PathBuf>,
    /// File with the addresses of notices' targets; else NOTICE_KEYS, then the stack's secret.
    #[arg(long, global = true, value_name = "FILE")]
    pub notice_keys: Option<PathBuf>,
    /// A server on this machine that is called instead of Stripe; else STRIPE_API_BASE.
    #[arg(long, global = true, value_name = "URL", hide = true)]
    pub stripe_api_base: Option<String>,
    /// Data directory of the local server, which must be running; with its stand-in for Stripe.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "table")]
    pub local: Option<PathBuf>,
}

/// A table and what belongs to it.
#[derive(Debug, Clone)]
pub struct Deployment {
    pub db: Db,
    pub name: String,
    pub clock: Arc<dyn Clock>,
    /// The deployed stack, if one was named.
    pub stack: Option<Stack>,
    /// The bucket of its shop, if it has one.
    pub bucket: Option<Bucket>,
    /// Whether it is the data of the local server, which serves pictures as a shop does.
    pub is_local: bool,
    pub(crate) keys: KeySource,
    pub(crate) payments: PaymentSource,
    pub(crate) notices: NoticeSource,
    chat_secret: Option<ChatSecret>,
}

impl Deployment {
    /// Finds the table.
    pub async fn resolve(options: &DeploymentOptions, clock: &Arc<dyn Clock>) -> Result<Self, Failure> {
        if let Some(dir) = &options.local {
            return Self::local(options, dir).await;
        }
        if let Some(url) = &options.endpoint_url {
            let table = options.table.clone().unwrap_or(definition()?.logical_id);
            let db = Db::new(aws::endpoint(options, url).await?, &table);
            let name = format!("table {table} at {url}");
            let of = Self::of(db, clock, options.key_file.as_deref());
            let notices = NoticeSource::new(options.notice_keys.as_deref(), None, aws::is_here(url));
            return Ok(Self { name, payments: options.payments(None), notices, ..of });
        }
        let config = aws::config(options).await;
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
        let keys = KeySource::new(options.key_file.as_deref(), secret);
        let secret =
            stack.as_ref().and_then(|stack| stack.payment_secret.clone()).map(|secret| (config.clone(), secret));
        let payments = options.payments(secret);
        let secret =
            stack.as_ref().and_then(|stack| stack.notice_secret.clone()).map(|secret| (config.clone(), secret));
        let notices = NoticeSource::new(options.notice_keys.as_deref(), secret, false);
        let db = Db::new(aws::access(&config).await?, &table);
        let name = format!("table {table} in {region}");
        let chat_arn = stack.as_ref().map(|stack| stack.chat_secret.clone());
        let bucket = stack.as_ref().and_then(|stack| {
            let name = stack.shop_bucket.as_ref()?;
            Some(Bucket::new(&config, name, &stack.shop_url))
        });
        let chat_secret = chat_arn.map(|arn| ChatSecret { config, arn });
        let of = Self::of(db, clock, None);
        Ok(Self { name, stack, bucket, keys, payments, notices, chat_secret, ..of })
    }

    /// A table that is reached already, with its token keys in a file.
    pub fn of(db: Db, clock: &Arc<dyn Clock>, key_file: Option<&Path>) -> Self {
        let name = format!("table {}", db.table());
        Self {
            db,
            name,
            clock: Arc::clone(clock),
            stack: None,
            bucket: None,
            is_local: false,
            keys: KeySource::new(key_file, None),
            chat_secret: None,
            payments: PaymentSource::new(None, None, None),
            notices: NoticeSource::new(None, None, false),
        }
    }

    /// The store of the local server that has a data directory open.
    async fn local(options: &DeploymentOptions, dir: &Path) -> Result<Self, Failure> {
        let Running { endpoint, table, payments } = Running::find(dir).ok_or_else(|| {
            let dir = dir.display();
            let next = format!(
                "Start one: `cargo run -- --data {dir}`, with `--store DIR` for a store of your own. If one is starting, run \
                 this again in a moment."
            );
            Failure::new(Exit::Denied, format!("No server on this machine has {dir} open."), next)
        })?;
        let clock = clock_file(dir);
        let ahead = ahead(&clock).map_err(|error| Failure::file(&clock, &error))?;
        let clock: Arc<dyn Clock> = Arc::new(Ahead(Duration::from_secs(ahead)));
        let db = Db::new(aws::endpoint(options, &endpoint).await?, &table);
        let key_file = options.key_file.clone().unwrap_or_else(|| keys_file(dir));
        Ok(Self {
            name: format!("the local store in {}", dir.display()),
            payments: options.payments(None).or_local(payments),
            notices: NoticeSource::new(Some(options.notice_keys.as_ref().unwrap_or(&notices_file(dir))), None, true),
            is_local: true,
            ..Self::of(db, &clock, Some(&key_file))
        })
    }
}

impl Deployment {
    /// The second that it is, since 1970 UTC: by the database's clock, or by this machine's if the database has none. A local
    /// server judges tokens by its own clock. Whatever tokens are compared with is dated by it, so that an operator's wrong
    /// clock neither leaves a revoked token valid nor locks an account.
    pub async fn seconds(&self) -> Result<i64, StoreError> {
        if self.is_local {
            return Ok(self.clock.seconds());
        }
        Ok(bulk::seconds(&self.db).await?.unwrap_or_else(|| self.clock.seconds()))
    }

    /// The active version; a table that nothing was published to is refused.
    pub async fn published(&self) -> Result<ActiveVersion, Failure> {
        read_active_version(&self.db).await?.ok_or_else(|| self.nothing_published())
    }

    pub fn nothing_published(&self) -> Failure {
        let what = format!("Nothing was published to {} yet.", self.name);
        Failure::refused(what, "Publish a store first: `storectl publish DIR`.")
    }

    /// Digits of the store's amounts; two if nothing was published yet.
    pub async fn digits(&self) -> Result<u8, Failure> {
        Ok(read_active_version(&self.db).await?.map_or(2, |active| active.config.digits))
    }
}

impl DeploymentOptions {
    fn payments(&self, secret: Option<(SdkConfig, String)>) -> PaymentSource {
        PaymentSource::new(self.payment_keys.as_deref(), secret, self.stripe_api_base.as_deref())
    }
}

/// The table as template.yaml defines it. Never fails with the template that this tool was built from.
pub fn definition() -> Result<template::TableDefinition, Failure> {
    let template = Template::parse(TEMPLATE, &std::collections::BTreeMap::new());
    let definition = template.and_then(|template| template.table());
    definition.map_err(|error| {
        let what = format!("The template this tool was built from cannot be read: {error}.");
        Failure::new(Exit::Local, what, "Build it again from a clean checkout.")
    })
}

/// The clock of a local server, which its owner may have moved ahead.
#[derive(Debug)]
struct Ahead(Duration);

impl Clock for Ahead {
    fn now(&self) -> Duration {
        SystemClock.now() + self.0
    }
}

/// A file, the environment, or a deployed stack's secret.
#[derive(Debug, Clone)]
pub struct NoticeSource {
    keys: Source,
    /// Whether a target may be on this machine, as the table is.
    pub allows_here: bool,
}

impl NoticeSource {
    pub fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>, allows_here: bool) -> Self {
        // The variable as the function has it.
        Self { keys: Source::new(file, "NOTICE_KEYS", secret), allows_here }
    }

    /// Whether keys could be known here.
    pub fn is_known(&self) -> bool {
        self.keys.is_known()
    }

    /// The keys; none if there is no place for them, or it is empty.
    pub async fn read(&self) -> Result<NoticeKeys, Failure> {
        let Some((text, origin)) = self.keys.read().await? else { return Ok(NoticeKeys::default()) };
        NoticeKeys::parse(&text).map_err(|error| {
            let what = format!("The addresses of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "Correct them, or empty them (`{}`) and connect every target again.")
        })
    }

    pub async fn write(&self, keys: &NoticeKeys) -> Result<(), Failure> {
        self.keys.write(&keys.expose()).await?.map(drop).ok_or_else(|| {
            let next = "Name the deployed stack with --stack, the local server with --local, or add --notice-keys FILE. A \
                        stack of an earlier version is deployed with this one's template first.";
            Failure::new(Exit::Denied, "There is no place for the addresses of targets.", next)
        })
    }
}
