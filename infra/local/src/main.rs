//! `cargo run`: the whole store on one port.

use clap::Parser;
use local::engine::{Engine, ensure_table};
use local::error::StartError;
use local::functions::Functions;
use local::gateway::Gateway;
use local::options::Options;
use local::ready::{Ready, Try, revoked, tokens};
use local::store::Store;
use local::{data, server};
use shared::clock::{Clock, SystemClock};
use shared::store::published::read_active_version;
use shared::store::{Access, Db};
use shared::token::TokenKeys;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use template::Template;
use tracing::level_filters::LevelFilter;

/// The SDK's variable for another database.
const ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    // The server logs requests itself; of the functions' lines only errors are printed.
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::ERROR);
    lines.with_target(false).init();
    match run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A database with its table.
struct Database {
    access: Access,
    table: String,
}

async fn run(options: &Options) -> Result<(), StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let now = clock.seconds();
    let template = Template::read(&options.template, &options.parameter_map())?;
    let store = Store::read(&options.store, now)?;
    let listener = server::listen(options.port).await?;
    let token_keys = match &options.data {
        Some(dir) => {
            data::prepare(dir)?;
            data::token_keys(dir)?
        }
        None => data::new_token_keys()?,
    };
    let database = open(options, &template).await?;
    let db = Db::direct(database.access.clone(), &database.table);
    if is_here(&database.access.endpoint) {
        ensure_table(db.client(), &database.table, &template.table()?).await?;
        store.load_into_empty(&db, now).await?;
        if options.republish {
            store.republish(&db, now).await?;
        }
    } else if options.republish {
        return Err(StartError::RepublishRemote(database.access.endpoint));
    } else if read_active_version(&db).await.map_err(publish::PublishError::Store)?.is_none() {
        return Err(StartError::EmptyRemote(database.access.endpoint));
    }
    let live = store.in_table(&db).await?;
    let published = read_active_version(&db).await.map_err(publish::PublishError::Store)?;
    let differs = published.is_some_and(|active| publish::store_of(&active.version) != store.compiled.version);
    let mut to_try = Try::pick(&store.compiled, &live, now);
    if differs {
        // The pages in the files may differ from the published ones.
        to_try.page.clear();
    }
    let base_path = options.base_path.as_deref().unwrap_or_default();
    let functions = Functions::new(&template, &db, &token_keys, &clock)?;
    let gateway = Arc::new(Gateway::new(&template, functions, Arc::clone(&clock))?.below(base_path));
    let port = listener.local_addr().map_err(|source| StartError::Listen { port: options.port, source })?.port();
    let keys = TokenKeys::parse(&token_keys).map_err(|source| StartError::Keys { path: "memory".into(), source })?;
    let ready = Ready {
        base_url: format!("http://127.0.0.1:{port}{base_path}"),
        dynamodb_endpoint: database.access.endpoint,
        table: database.table,
        tokens: tokens(&live, &keys, now).map_err(|error| StartError::Engine(error.to_string()))?,
        r#try: to_try,
        shown_user: live.users.first().map(|user| user.username.clone()),
        revoked: revoked(&live, now),
    };
    // Signals are handled before the ready line is printed: its reader may stop the server at once.
    let stopped = stopped();
    announce(&ready, options.json);
    if differs {
        let dir = options.store.display();
        _ = writeln!(std::io::stderr(), "note: {dir} differs from the published store; --republish publishes it");
    }
    server::serve(listener, gateway, clock, options.quiet, stopped).await;
    Ok(())
}

/// The embedded database, or the one that the environment names.
async fn open(options: &Options, template: &Template) -> Result<Database, StartError> {
    let definition = template.table()?;
    if std::env::var_os(ENDPOINT).is_some_and(|endpoint| !endpoint.is_empty()) {
        let table = std::env::var("TABLE_NAME").unwrap_or(definition.logical_id);
        return Ok(Database { access: Access::from_env().map_err(|error| StartError::Access(error.into()))?, table });
    }
    let engine = Engine::start(options.data.as_deref().map(data::table_file).as_deref()).await?;
    Ok(Database { access: engine.access(), table: definition.logical_id })
}

/// Whether a database is on this machine. Only such a database is filled automatically.
fn is_here(endpoint: &str) -> bool {
    let host = url::Url::parse(endpoint).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn announce(ready: &Ready, json: bool) {
    let text = if json { serde_json::to_string(ready).unwrap_or_default() } else { ready.to_string() };
    let mut out = std::io::stdout();
    // Standard output may be closed.
    _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Starts to listen for Ctrl-C, and for SIGTERM where it exists; resolves when one arrives.
#[cfg(unix)]
fn stopped() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).ok();
    let (interrupted, terminated) = (listen(SignalKind::interrupt()), listen(SignalKind::terminate()));
    async {
        let received = async |signal: Option<tokio::signal::unix::Signal>| match signal {
            Some(mut signal) => _ = signal.recv().await,
            // The signal cannot be handled, and ends the process as usual.
            None => std::future::pending().await,
        };
        tokio::select! { () = received(interrupted) => {}, () = received(terminated) => {} }
    }
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
async fn stopped() {
    _ = tokio::signal::ctrl_c().await;
}
