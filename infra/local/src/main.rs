//! `cargo run`: the whole store on one port.

use archive::running::{Payments, Running, running_file};
use clap::Parser;
use local::api::Api;
use local::data::DataLock;
use local::engine::{self, Engine, ensure_table};
use local::error::StartError;
use local::functions::{Functions, Secrets};
use local::game_server::GameServers;
use local::gateway::Gateway;
use local::live::Live;
use local::options::{Options, repository};
use local::payments::PaymentProvider;
use local::ready::{Chat, Ready, Try, revoked, tokens};
use local::reference::Reference;
use local::site::{self, Beside, Images, Site};
use local::store::Store;
use local::{chat, data, players, server};
use pictures::Picture;
use shared::clock::Clock;
use shared::model::{ActiveVersion, LocalAddresses, SCHEMA};
use shared::shop::payments::forget_begun;
use shared::shop::upkeep::upgrade::{FIRST, UpgradeError};
use shared::table::published::read_active_version;
use shared::table::{Access, Db, restoring};
use shared::token::TokenKeys;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use stripe_stand_in::MovableClock;
use template::Template;
use tokio::net::TcpListener;
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
    /// Keeps other processes out of the data directory.
    _lock: Option<DataLock>,
}

async fn run(options: &Options) -> Result<(), StartError> {
    let movable = Arc::new(data::clock(options.data.as_deref())?);
    let (clock, now) = (Arc::clone(&movable) as Arc<dyn Clock>, movable.seconds());
    let Listeners { api: listener, demo: demo_listener, chat: chat_listener } = listen(options).await?;
    let (origin, shop) = (server::url_of(&listener)?, server::url_of(&demo_listener)?);
    let origins = origins(options, &shop);
    let template = template(options, &origins)?;
    let (store, pictures) = read_store(options, now)?;
    let database = open(options, &template).await?;
    let token_keys = token_keys(options)?;
    let db = Db::new(database.access.clone(), &database.table);
    let published = fill(options, &template, &store, &database, &db, now).await?;
    let live = if published.is_empty() { Live::default() } else { store.in_table(&db).await? };
    let differs = publish::store_of(&published.version) != store.compiled.version;
    let to_try = Try::pick(&store.compiled, &live, now).of_published(differs);
    let base_path = options.base_path.as_deref().unwrap_or_default();
    let base_url = format!("{origin}{base_path}");
    let chat = chat_login(&published, &database.access.endpoint, chat_listener, &base_url, origins)?;
    let images = Images::of(&options.store, &pictures);
    let addresses = chat.as_ref().map(|chat| addresses(chat, &base_url, &shop, images.is_there()));
    let chat_secret = chat.as_ref().map_or_else(environments_secret, |chat| chat.chat_secret.clone());
    let payments = payment_provider(options, &database.access.endpoint, &base_url, movable).await?;
    let secrets = Secrets {
        chat: &chat_secret,
        payments: &payments.keys,
        stripe: payments.base_url.as_deref(),
        addresses: addresses.as_ref(),
        ..Secrets::new(&token_keys)
    };
    let functions = Arc::new(Functions::with_secrets(&template, &db, secrets, &clock)?);
    tokio::spawn(sweep(Arc::clone(&functions), is_here(&database.access.endpoint).then(|| db.clone())));
    let gateway = Gateway::new(&template, functions, Arc::clone(&clock))?.below(base_path);
    let api = Arc::new(Api { gateway, clock: Arc::clone(&clock), quiet: options.quiet });
    let tokens = tokens(&live, &parsed(&token_keys)?, now).map_err(|error| StartError::Engine(error.to_string()))?;
    let game_servers = game_servers(options, &database, &db, clock.as_ref(), &published, &base_url).await?;
    let console = game_servers.is_some().then(|| format!("{shop}/console"));
    let demo = site::Demo::new(console.is_some(), players::suggested(&store.compiled, &live, now), &to_try);
    let site = Site::new(Arc::clone(&api), (&base_url, &shop), images.clone(), &demo, game_servers);
    tokio::spawn(site::serve(demo_listener, site));
    let ready = Ready {
        shop: shop.clone(),
        base_url,
        dynamodb_endpoint: database.access.endpoint,
        table: database.table,
        tokens,
        r#try: to_try,
        chat,
        console,
        payments: payments.stand_in.as_ref().and(payments.base_url.clone()),
        shown_user: live.users.first().map(|user| user.username.clone()),
        revoked: revoked(&live, now),
    };
    // Signals are handled before the ready line is printed: its reader may stop the server at once.
    let stopped = stopped();
    announce(&ready, options, differs && !published.is_empty())?;
    let reference = reference_of(&ready, base_path);
    let beside = Beside { api: ready.base_url.clone(), demo: shop, images, reference };
    server::serve(listener, beside.responder(api), stopped).await;
    Ok(())
}

/// The store with its pictures. Those that a deployed shop refuses are noted, and served as they are.
fn read_store(options: &Options, now: i64) -> Result<(Store, Vec<Picture>), StartError> {
    let (store, pictures, refused) = Store::read_with_pictures(&options.store, now)?;
    for fault in refused {
        note(&format!("{fault}; a deployed shop refuses it"));
    }
    Ok((store, pictures))
}

fn parsed(token_keys: &str) -> Result<TokenKeys, StartError> {
    TokenKeys::parse(token_keys).map_err(|source| StartError::Keys { path: "memory".into(), source })
}

/// The template, with payments switched on and the shop's origin allowed, unless the options say otherwise.
fn template(options: &Options, origins: &str) -> Result<Template, StartError> {
    let mut parameters = options.parameter_map();
    parameters.entry(PAYMENTS.to_owned()).or_insert_with(|| "true".to_owned());
    parameters.insert(ORIGINS.to_owned(), origins.to_owned());
    Ok(Template::read(&repository().join("template.yaml"), &parameters)?)
}

/// The reference with every token; the first user's is filled in.
fn reference_of(ready: &Ready, base_path: &str) -> Reference {
    let shown = ready.shown_user.as_ref();
    let others = ready.tokens.iter().filter(|(name, _)| shown != Some(name));
    let tokens = shown.and_then(|name| ready.tokens.get_key_value(name)).into_iter().chain(others);
    Reference::new(base_path, tokens.map(|(name, token)| (name.as_str(), token.as_str())))
}

/// The keys that tokens are signed with: those of the data directory, else new ones.
fn token_keys(options: &Options) -> Result<String, StartError> {
    match &options.data {
        Some(dir) => data::token_keys(dir),
        None => data::new_token_keys(),
    }
}

/// The listeners that a browser reaches, besides that of the payment provider.
struct Listeners {
    api: TcpListener,
    demo: TcpListener,
    chat: TcpListener,
}

async fn listen(options: &Options) -> Result<Listeners, StartError> {
    let api = server::listen(options.port, "--port").await?;
    let demo = listen_after(options, 1, options.demo_port, "--demo-port").await?;
    let chat = listen_after(options, 2, options.chat_port, "--chat-port").await?;
    Ok(Listeners { api, demo, chat })
}

/// Listens on the port that an option names, else on the one `after` the API's, else on any free one.
async fn listen_after(
    options: &Options,
    after: u16,
    given: Option<u16>,
    option: &'static str,
) -> Result<TcpListener, StartError> {
    if let Some(port) = given {
        return server::listen(port, option).await;
    }
    let next = if options.port == 0 { 0 } else { options.port.checked_add(after).unwrap_or_default() };
    match server::listen(next, option).await {
        Ok(listener) => Ok(listener),
        Err(_) => server::listen(0, option).await,
    }
}

/// The origins whose pages may call the API: those of the command line, else the shop and the usual port of a
/// storefront in development.
fn origins(options: &Options, shop: &str) -> String {
    let given = options.parameter_map().remove(ORIGINS);
    given.unwrap_or_else(|| format!("{shop},http://localhost:3000,http://127.0.0.1:3000"))
}

/// Publishes and loads the store into a database on this machine. Any other must have a store already. Returns the active
/// version, which is empty if nothing can be served yet: a note says why, and `storectl` works on the data.
async fn fill(
    options: &Options,
    template: &Template,
    store: &Store,
    database: &Database,
    db: &Db,
    now: i64,
) -> Result<ActiveVersion, StartError> {
    let endpoint = &database.access.endpoint;
    if is_here(endpoint) {
        ensure_table(db, &template.table()?).await?;
    }
    // What is half restored has no store yet, and nothing may be written into it.
    if restoring::read(db).await.map_err(publish::PublishError::Store)?.is_some() {
        note("a restore into these data was begun and is not done; complete it with the same `storectl restore`");
        return Ok(ActiveVersion::default());
    }
    let active = read_active_version(db).await.map_err(publish::PublishError::Store)?;
    if let Some(active) = active.filter(|active| !active.is_current()) {
        note(&outdated(active.schema, options, endpoint));
        return Ok(ActiveVersion::default());
    }
    if is_here(endpoint) {
        if !options.empty {
            store.load_into_empty(db, now).await?;
        }
        if options.republish {
            store.republish(db, now).await?;
        }
    } else if options.republish {
        return Err(StartError::RepublishRemote(endpoint.clone()));
    }
    match read_active_version(db).await.map_err(publish::PublishError::Store)? {
        None if !is_here(endpoint) => Err(StartError::EmptyRemote(endpoint.clone())),
        active => Ok(active.unwrap_or_default()),
    }
}

/// What to do about data of an earlier version: the functions respond 503 to everything.
fn outdated(found: u32, options: &Options, endpoint: &str) -> String {
    if found < FIRST {
        return UpgradeError::Before(found).to_string() + "; begin anew with another --data directory";
    }
    let target = match &options.data {
        Some(dir) => format!("--local {}", dir.display()),
        None => format!("--endpoint-url {endpoint}"),
    };
    format!(
        "the data are of an earlier version (schema number {found}, {SCHEMA} is needed); keep a copy of them, then run \
         `cargo run -p storectl -- upgrade {target}`"
    )
}

fn note(text: &str) {
    _ = writeln!(std::io::stderr(), "note: {text}");
}

/// Starts the stand-in for the chat platform. A store in a database elsewhere keeps its own platform.
fn chat_login(
    published: &ActiveVersion,
    endpoint: &str,
    listener: TcpListener,
    base_url: &str,
    origins: String,
) -> Result<Option<Chat>, StartError> {
    if !is_here(endpoint) {
        return Ok(None);
    }
    let url = chat::url_of(&listener)?;
    let client = chat::Client { id: published.config.chat.client_id.clone(), redirect_url: callback(base_url) };
    tokio::spawn(chat::serve(listener, chat::ChatPlatform::new(client)));
    Ok(Some(Chat { url, allowed_origins: origins, chat_secret: chat::secret() }))
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
    endpoint: &str,
    base_url: &str,
    clock: Arc<MovableClock>,
) -> Result<PaymentProvider, StartError> {
    match &options.payment_keys {
        Some(file) => PaymentProvider::account(file),
        None if is_here(endpoint) => {
            let kept = options.data.as_deref().map(data::payments_file);
            let webhook_url = format!("{base_url}/payments/webhook/stripe");
            PaymentProvider::stand_in(options.stripe_port, webhook_url, kept, clock).await
        }
        None => Ok(PaymentProvider::of_environment()),
    }
}

/// Lets the payments function finish what is left to do, as the schedule of a deployment does. In a database `here`, it forgets
/// how many checkouts this machine has begun.
async fn sweep(functions: Arc<Functions>, here: Option<Db>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        if let Some(db) = &here {
            // Tried again at the next sweep.
            _ = forget_begun(db, OWN_ADDRESS).await;
        }
        match lambda_http::request::from_str(SWEEP_EVENT) {
            Ok(request) => _ = functions.call("payments", request).await,
            Err(_) => return,
        }
    }
}

/// Starts the demo's game servers, if a store is served. One in a database elsewhere has its own.
async fn game_servers(
    options: &Options,
    database: &Database,
    db: &Db,
    clock: &dyn Clock,
    published: &ActiveVersion,
    api: &str,
) -> Result<Option<GameServers>, StartError> {
    if published.is_empty() || !is_here(&database.access.endpoint) {
        return Ok(None);
    }
    let servers = &published.config.delivery.servers;
    GameServers::start(db, clock, servers, options.data.as_deref(), api).await.map(Some)
}

/// The client secret for a store in a database elsewhere.
fn environments_secret() -> String {
    std::env::var("CHAT_SECRET").unwrap_or_default()
}

/// The embedded database, or the one that the environment names.
async fn open(options: &Options, template: &Template) -> Result<Database, StartError> {
    let definition = template.table()?;
    let lock = options.data.as_deref().map(data::lock).transpose()?;
    if std::env::var_os(ENDPOINT).is_some_and(|endpoint| !endpoint.is_empty()) {
        let table = std::env::var("TABLE_NAME").unwrap_or(definition.logical_id);
        let access = Access::from_env().map_err(|error| StartError::Access(error.into()))?;
        return Ok(Database { access, table, _lock: lock });
    }
    let file = options.data.as_deref().map(data::table_file);
    if let Some(file) = &file {
        engine::create_file(file, &definition)?;
    }
    let engine = Engine::start(file.as_deref()).await?;
    Ok(Database { access: engine.access(), table: definition.logical_id, _lock: lock })
}

/// Whether a database is on this machine. Only such a database is filled automatically.
fn is_here(endpoint: &str) -> bool {
    url::Url::parse(endpoint).is_ok_and(|url| url.host_str().is_some_and(outgoing::is_here))
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

#[cfg(not(unix))]
async fn stopped() {
    _ = tokio::signal::ctrl_c().await;
}
