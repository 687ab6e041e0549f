//! `cargo run`: the whole store on this machine.

use archive::running::{Payments, Running, notices_file, running_file};
use clap::Parser;
use local::data::DataLock;
use local::engine::{self, Engine, ensure_table};
use local::functions::{Functions, Secrets};
use local::game_server::GameServers;
use local::gateway::Gateway;
use local::live::Live;
use local::options::{Options, StartError, repository};
use local::payments::PaymentProvider;
use local::ready::{Chat, Ready, Try, revoked, suggested, tokens};
use local::reference::Reference;
use local::site::{Beside, Site};
use local::store::{Images, Store};
use local::{chat, data, gateway};
use pictures::Picture;
use publish::PublishError;
use shared::clock::Clock;
use shared::model::{ActiveVersion, LocalAddresses, SCHEMA};
use shared::providers::STRIPE_WEBHOOK_PATH;
use shared::shop::payments::forget_begun;
use shared::shop::upkeep::upgrade::{FIRST, UpgradeError};
use shared::table::published::read_active_version;
use shared::table::{Access, Db, restoring};
use shared::token::TokenKeys;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stripe_stand_in::MovableClock;
use template::Template;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tracing::level_filters::LevelFilter;

const ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";
/// The template's parameter with the origins whose pages may call the API.
const ORIGINS: &str = "AllowedOrigins";
/// The parameter that lets checkouts begin. There is always a provider here.
const PAYMENTS: &str = "Payments";

/// How often the sweep runs here: who pays in the demo looks at goals and donators at once.
const SWEEP: Duration = Duration::from_secs(5);
const SWEEP_EVENT: &str = include_str!("sweep.json");
/// The address of every caller: the server listens on it alone.
const OWN_ADDRESS: &str = "127.0.0.1";
/// Keeps other processes out of the data directory until every task of this one has ended.
static LOCK: OnceLock<DataLock> = OnceLock::new();

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

async fn run(options: &Options) -> Result<(), StartError> {
    let movable = Arc::new(clock(options)?);
    let (clock, now) = (Arc::clone(&movable) as Arc<dyn Clock>, movable.seconds());
    let listener = gateway::listen(options.port, "--port").await?;
    let shop_listener = listen_after(options, 1, options.demo_port, "--demo-port").await?;
    let chat_listener = listen_after(options, 2, options.chat_port, "--chat-port").await?;
    let (origin, shop) = (gateway::url_of(&listener)?, gateway::url_of(&shop_listener)?);
    let base_path = options.base_path.as_deref().unwrap_or_default();
    let base_url = format!("{origin}{base_path}");
    let (template, origins) = template(options, &shop)?;
    let (store, pictures) = read_store(options, now)?;
    let Database { db, endpoint, is_here } = open(options, &template).await?;
    let token_keys = options.data.as_deref().map_or_else(data::new_token_keys, data::token_keys)?;
    if is_here {
        ensure_table(&db, &template.table()?).await?;
    }
    let active = fill(options, &store, &db, (&endpoint, is_here), now).await?;
    let live = if active.is_empty() { Live::default() } else { store.in_table(&db).await? };
    let images = Arc::new(Images::of(&options.store, &pictures));

    let chat = is_here.then(|| chat_login(&active, chat_listener, &base_url, origins)).transpose()?;
    let addresses = chat.as_ref().map(|chat| addresses(chat, &base_url, &shop, images.is_there()));
    let payments = payment_provider(options, is_here, &base_url, movable).await?;
    let notice_file = options.data.as_deref().map(notices_file);
    let secrets = Secrets {
        notice_file: notice_file.as_deref(),
        chat: &chat.as_ref().map_or_else(environments_secret, |chat| chat.chat_secret.clone()),
        payments: &payments.keys,
        stripe: payments.base_url.as_deref(),
        addresses: addresses.as_ref(),
        ..Secrets::new(&token_keys)
    };
    let functions = Arc::new(Functions::with_secrets(&template, &db, secrets, &clock)?);
    start_schedules(&functions, is_here.then_some(&db), &token_keys);
    let gateway = Gateway::new(&template, functions, Arc::clone(&clock))?;
    let gateway = Arc::new(gateway.below(base_path).with_access_log(!options.quiet));
    let game_servers = game_servers(options, is_here, &db, clock.as_ref(), &active, &base_url).await?;

    let differs = publish::store_of(&active.version) != store.compiled.version;
    let ready = Ready {
        console: game_servers.is_some().then(|| format!("{shop}/console")),
        shop,
        base_url,
        dynamodb_endpoint: endpoint,
        table: db.table().to_owned(),
        tokens: tokens(&live, &token_keys, now)?,
        r#try: Try::pick(&store.compiled, &live, now).of_published(differs),
        chat,
        payments: payments.stand_in.as_ref().and(payments.base_url.clone()),
        shown_user: live.users.first().map(|user| user.username.clone()),
        revoked: revoked(&live, now),
        players: suggested(&store.compiled, &live, now),
    };
    let site = Site::new(Arc::clone(&gateway), &ready, Arc::clone(&images), game_servers);
    tokio::spawn(site.serve(shop_listener));
    // Signals are handled before the ready line is printed: its reader may stop the server at once.
    let stopped = stopped();
    announce(&ready, options, differs && !active.is_empty())?;
    let reference = Reference::new(base_path, ready.tokens_to_try());
    let beside = Beside { gateway, api: ready.base_url, demo: ready.shop, images, reference };
    beside.serve(listener, stopped).await;
    Ok(())
}

/// Listens on the port that an option names, else on the one `after` the API's, else on any free one.
async fn listen_after(
    options: &Options,
    after: u16,
    given: Option<u16>,
    option: &'static str,
) -> Result<TcpListener, StartError> {
    if let Some(port) = given {
        return gateway::listen(port, option).await;
    }
    let next = if options.port == 0 { 0 } else { options.port.checked_add(after).unwrap_or_default() };
    match gateway::listen(next, option).await {
        Ok(listener) => Ok(listener),
        Err(_) => gateway::listen(0, option).await,
    }
}

/// The template, with payments switched on, and the origins whose pages may call the API: those of the command line, else the shop
/// and the usual port of a storefront in development.
fn template(options: &Options, shop: &str) -> Result<(Template, String), StartError> {
    let mut parameters = options.parameter_map();
    parameters.entry(PAYMENTS.to_owned()).or_insert_with(|| "true".to_owned());
    let origins = parameters.entry(ORIGINS.to_owned());
    let origins = origins.or_insert_with(|| format!("{shop},http://localhost:3000,http://127.0.0.1:3000")).clone();
    Ok((Template::read(&repository().join("template.yaml"), &parameters)?, origins))
}

/// The store with its pictures. Those that a deployed shop refuses are noted, and served as they are.
/// The clock of the data directory, or one that is where `--at` says.
fn clock(options: &Options) -> Result<MovableClock, StartError> {
    let clock = data::clock(options.data.as_deref())?;
    if let Some(text) = &options.at {
        let store = |faults| StartError::Store { dir: options.store.clone(), faults };
        let files = publish::read(&options.store).map_err(store)?;
        let second = publish::second(&files, text).map_err(|error| StartError::At(error.to_string()))?;
        clock.move_to(second).map_err(StartError::At)?;
    }
    Ok(clock)
}

fn read_store(options: &Options, now: i64) -> Result<(Store, Vec<Picture>), StartError> {
    let (store, pictures, refused) = Store::read_with_pictures(&options.store, now)?;
    for fault in refused {
        note(&format!("{fault}; a deployed shop refuses it"));
    }
    Ok((store, pictures))
}

struct Database {
    db: Db,
    endpoint: String,
    /// Whether it is on this machine. Only such a database is filled automatically; any other keeps its own platform, payment
    /// provider and game servers.
    is_here: bool,
}

/// The embedded database, or the one that the environment names.
async fn open(options: &Options, template: &Template) -> Result<Database, StartError> {
    let definition = template.table()?;
    if let Some(dir) = &options.data {
        _ = LOCK.set(data::lock(dir)?);
    }
    let (access, table) = if std::env::var_os(ENDPOINT).is_some_and(|endpoint| !endpoint.is_empty()) {
        let access = Access::from_env().map_err(|error| StartError::Access(error.into()))?;
        (access, std::env::var("TABLE_NAME").unwrap_or(definition.logical_id))
    } else {
        let file = options.data.as_deref().map(data::table_file);
        if let Some(file) = &file {
            engine::create_file(file, &definition)?;
        }
        (Engine::start(file.as_deref()).await?.access(), definition.logical_id)
    };
    let endpoint = access.endpoint.clone();
    let is_here = url::Url::parse(&endpoint).is_ok_and(|url| url.host_str().is_some_and(outgoing::is_here));
    Ok(Database { db: Db::new(access, &table), endpoint, is_here })
}

/// Publishes and loads the store into a database on this machine; any other must have a store already. Returns the active version,
/// which is empty if nothing can be served yet: a note says why, and `storectl` works on the data.
async fn fill(
    options: &Options,
    store: &Store,
    db: &Db,
    (endpoint, is_here): (&str, bool),
    now: i64,
) -> Result<ActiveVersion, StartError> {
    // What is half restored has no store yet, and nothing may be written into it.
    if restoring::read(db).await.map_err(PublishError::Store)?.is_some() {
        note("a restore into these data was begun and is not done; complete it with the same `storectl restore`");
        return Ok(ActiveVersion::default());
    }
    let active = read_active_version(db).await.map_err(PublishError::Store)?;
    if let Some(active) = active.as_ref().filter(|active| !active.is_current()) {
        note(&outdated(active.schema, options, endpoint));
        return Ok(ActiveVersion::default());
    }
    match active {
        _ if !is_here && options.republish => Err(StartError::RepublishRemote(endpoint.to_owned())),
        None if !is_here => Err(StartError::EmptyRemote(endpoint.to_owned())),
        Some(active) if !options.republish => Ok(active),
        _ => {
            if !options.empty {
                store.load_into_empty(db, now).await?;
            }
            if options.republish {
                store.republish(db, now).await?;
            }
            Ok(read_active_version(db).await.map_err(PublishError::Store)?.unwrap_or_default())
        }
    }
}

/// What to do about data of an earlier version: the functions respond 503 to everything.
fn outdated(found: u32, options: &Options, endpoint: &str) -> String {
    if found < FIRST {
        return UpgradeError::Before(found).to_string() + "; start again with another --data directory";
    }
    let target = options.data.as_ref().map(|dir| format!("--local {}", dir.display()));
    let target = target.unwrap_or_else(|| format!("--endpoint-url {endpoint}"));
    format!(
        "the data are of an earlier version (schema number {found}, {SCHEMA} is needed); keep a copy of them, then run \
         `cargo run -p storectl -- upgrade {target}`"
    )
}

fn note(text: &str) {
    _ = writeln!(std::io::stderr(), "note: {text}");
}

/// Starts the stand-in for the chat platform.
fn chat_login(
    active: &ActiveVersion,
    listener: TcpListener,
    base_url: &str,
    origins: String,
) -> Result<Chat, StartError> {
    let url = gateway::url_of(&listener)?;
    let client = chat::Client { id: active.config.chat.client_id.clone(), redirect_url: callback(base_url) };
    tokio::spawn(chat::serve(listener, chat::ChatPlatform::new(client)));
    Ok(Chat { url, allowed_origins: origins, chat_secret: chat::secret() })
}

/// The client secret for a store in a database elsewhere.
fn environments_secret() -> String {
    std::env::var("CHAT_SECRET").unwrap_or_default()
}

/// The addresses of this server, in place of those of the published store.
fn addresses(chat: &Chat, base_url: &str, shop: &str, has_pictures: bool) -> LocalAddresses {
    let storefront = chat.allowed_origins.split(',').next().filter(|origin| *origin != "*");
    LocalAddresses {
        chat_platform: chat.url.clone(),
        chat_callback: callback(base_url),
        storefront: storefront.unwrap_or_default().to_owned(),
        shop: shop.to_owned(),
        assets: if has_pictures { shop.to_owned() } else { String::new() },
    }
}

fn callback(base_url: &str) -> String {
    format!("{base_url}/auth/chat/callback")
}

/// The account that an option names, else a stand-in for Stripe. A database elsewhere keeps its own provider, if the
/// environment has its keys.
async fn payment_provider(
    options: &Options,
    is_here: bool,
    base_url: &str,
    clock: Arc<MovableClock>,
) -> Result<PaymentProvider, StartError> {
    match &options.payment_keys {
        Some(file) => PaymentProvider::account(file),
        None if is_here => {
            let kept = options.data.as_deref().map(data::payments_file);
            let webhook_url = format!("{base_url}{STRIPE_WEBHOOK_PATH}");
            PaymentProvider::stand_in(options.stripe_port, webhook_url, kept, clock).await
        }
        None => Ok(PaymentProvider::of_environment()),
    }
}

/// Starts what the schedules of a deployment do. The targets of a database elsewhere are notified of nothing from here.
fn start_schedules(functions: &Arc<Functions>, here: Option<&Db>, token_keys: &str) {
    let own_hash = TokenKeys::parse(token_keys).map(|keys| keys.hash_of_address(OWN_ADDRESS)).unwrap_or_default();
    tokio::spawn(sweep(Arc::clone(functions), here.map(|db| (db.clone(), own_hash))));
    if here.is_some() {
        tokio::spawn(send_notices(Arc::clone(functions)));
    }
}

/// Lets the payments function finish what is left to do. In a database `here`, it forgets how many checkouts this machine has begun.
async fn sweep(functions: Arc<Functions>, here: Option<(Db, String)>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        if let Some((db, hash)) = &here {
            // Tried again at the next sweep.
            _ = forget_begun(db, OWN_ADDRESS, hash).await;
        }
        match lambda_http::request::from_str(SWEEP_EVENT) {
            Ok(request) => _ = functions.call("payments", request).await,
            Err(_) => return,
        }
    }
}

/// Lets the notices function send what owners are notified of, as its schedule does. The targets of a database elsewhere are not
/// known here.
async fn send_notices(functions: Arc<Functions>) {
    let mut ticks = tokio::time::interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let event = SWEEP_EVENT.replace("payments/sweep", "notices/send");
    loop {
        ticks.tick().await;
        match lambda_http::request::from_str(&event) {
            Ok(request) => _ = functions.call("notices", request).await,
            Err(_) => return,
        }
    }
}

/// Starts the demo's game servers, if a store is served. One in a database elsewhere has its own.
async fn game_servers(
    options: &Options,
    is_here: bool,
    db: &Db,
    clock: &dyn Clock,
    active: &ActiveVersion,
    api: &str,
) -> Result<Option<GameServers>, StartError> {
    if !is_here || active.is_empty() {
        return Ok(None);
    }
    GameServers::start(db, clock, &active.config.delivery.servers, options.data.as_deref(), api).await.map(Some)
}

fn announce(ready: &Ready, options: &Options, differs: bool) -> Result<(), StartError> {
    if let Some(dir) = &options.data {
        let payments = ready.payments.clone().map(|url| Payments { url, keys: stripe_stand_in::payment_keys() });
        let (endpoint, table) = (ready.dynamodb_endpoint.clone(), ready.table.clone());
        let left = Running { endpoint, table, payments }.leave(dir);
        left.map_err(|source| StartError::Data { path: running_file(dir), source })?;
    }
    let text = match options {
        Options { json: true, .. } => serde_json::to_string(ready).unwrap_or_default(),
        Options { tokens: true, .. } => format!("{ready}\n\n{}", ready.tokens_text()),
        _ => ready.to_string(),
    };
    let mut out = std::io::stdout();
    // Standard output may be closed.
    _ = writeln!(out, "{text}").and_then(|()| out.flush());
    if differs {
        note(&format!("{} differs from the published store; --republish publishes it", options.store.display()));
    }
    Ok(())
}

/// Starts to listen for Ctrl-C and SIGTERM; resolves when one arrives.
fn stopped() -> impl Future<Output = ()> {
    let (interrupted, terminated) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let received = async |signal| match signal {
        Ok::<tokio::signal::unix::Signal, std::io::Error>(mut signal) => _ = signal.recv().await,
        // The signal cannot be handled, and ends the process as usual.
        Err(_) => std::future::pending().await,
    };
    async move {
        tokio::select! { () = received(interrupted) => {}, () = received(terminated) => {} }
    }
}
