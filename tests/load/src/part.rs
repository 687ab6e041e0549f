//! The processes of a run. Each prints its URL, and ends when its standard input is closed.

use crate::error::{LoadError, process};
use clap::Subcommand;
use local::engine::Engine;
use local::functions::{Functions, Secrets};
use local::gateway::Gateway;
use local::reference::Reference;
use local::server::{self, Beside};
use local::site::Images;
use local::stripe;
use shared::clock::{Clock, SystemClock};
use shared::store::{Access, Db};
use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use template::Template;
use tokio::sync::mpsc;

/// The repository, which has the template and the sample store.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// How often the sweep runs.
const SWEEP: Duration = Duration::from_mins(1);
/// The event that starts it.
const SWEEP_EVENT: &str = include_str!("../../../infra/local/src/sweep.json");

/// A process of a run.
#[derive(Debug, Clone, Subcommand)]
pub enum Part {
    /// The database.
    Database,
    /// The stand-in for Stripe.
    Provider {
        /// The URL to which notices are sent.
        #[arg(long)]
        webhook: String,
    },
    /// The functions behind their gateway, on the database that the environment names. The provider's URL is a line of
    /// standard input.
    Functions {
        /// The table.
        #[arg(long)]
        table: String,
    },
}

impl Part {
    /// Runs it until standard input is closed.
    pub async fn run(self) -> Result<(), LoadError> {
        let mut lines = lines();
        match self {
            Self::Database => {
                let engine = Engine::start(None).await?;
                say(engine.endpoint())?;
                ended(&mut lines).await;
            }
            Self::Provider { webhook } => {
                let options = stripe::Options { webhook_url: Some(webhook), ..stripe::Options::default() };
                let stand_in = stripe::start(options).await?;
                say(&stand_in.base_url())?;
                ended(&mut lines).await;
            }
            Self::Functions { table } => functions(&table, lines).await?,
        }
        Ok(())
    }
}

/// The template, with this machine as a trusted proxy.
pub fn template() -> Result<Template, LoadError> {
    let parameters = BTreeMap::from([("TrustedProxies".to_owned(), "127.0.0.0/8".to_owned())]);
    Ok(Template::read(&repository().join("template.yaml"), &parameters)?)
}

/// The sample store's directory.
pub fn sample_store() -> PathBuf {
    repository().join("infra/sample-store")
}

fn repository() -> PathBuf {
    let path = PathBuf::from(REPOSITORY);
    path.canonicalize().unwrap_or(path)
}

async fn functions(table: &str, mut lines: mpsc::UnboundedReceiver<String>) -> Result<(), LoadError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let template = template()?;
    let access = Access::from_env().map_err(|error| local::error::StartError::Access(error.into()))?;
    let db = Db::new(access, table);
    let listener = server::listen(0, "--port").await?;
    let url = server::url_of(&listener)?;
    say(&url)?;
    let Some(provider) = lines.recv().await else { return Ok(()) };
    let token_keys = std::env::var("TOKEN_KEYS").unwrap_or_default();
    let payments = stripe::payment_keys();
    let secrets = Secrets { payments: &payments, stripe: Some(&provider), ..Secrets::new(&token_keys) };
    let functions = Arc::new(Functions::with_secrets(&template, &db, secrets, &clock)?);
    functions.warm_up().await;
    tokio::spawn(sweep(Arc::clone(&functions)));
    let gateway = Arc::new(Gateway::new(&template, functions, Arc::clone(&clock))?);
    let beside = Beside {
        api: url.clone(),
        demo: url,
        images: Images::of(&sample_store()),
        reference: Reference::new("", std::iter::empty()),
        quiet: true,
    };
    say("ready")?;
    server::serve(listener, gateway, clock, beside, async move { ended(&mut lines).await }).await;
    Ok(())
}

/// Finishes what is left to do, as the schedule of a deployment does.
async fn sweep(functions: Arc<Functions>) {
    let mut ticks = tokio::time::interval(SWEEP);
    while let Ok(request) = lambda_http::request::from_str(SWEEP_EVENT) {
        ticks.tick().await;
        functions.call("payments", request).await;
    }
}

/// The lines of standard input.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

async fn ended(lines: &mut mpsc::UnboundedReceiver<String>) {
    while lines.recv().await.is_some() {}
}

fn say(line: &str) -> Result<(), LoadError> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(process("standard output"))
}
