//! The store under test.

use crate::calls::Calls;
use crate::database::{self, Database, Prepared};
use crate::faults::Faults;
use crate::proxy::Proxy;
use crate::request::{Call, Reply};
use crate::{NOW, TestClock, configure, conformance, game_server};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Intercept, SharedHttpClient, SharedInterceptor};
use local::chat::{self, ChatPlatform};
use local::engine::ensure_table;
use local::functions::{Functions, Secrets};
use local::gateway::Gateway;
use local::store::Store;
use publish::files::{ItemFile, StoreFiles};
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::model::UserId;
use shared::table::{Access, Db, connector};
use shared::token::TokenKeys;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;
use stripe_stand_in::{Options, StandIn};
use template::Template;
use tokio::net::TcpListener;

/// The origin of the sample store's storefront.
const STOREFRONT: &str = "https://store.emberfall.example";

/// The secret of the shop's edge, and the one before it: functions have them with the parameter Shop.
pub const ORIGIN_KEY: &str = "an-origin-key-of-more-than-32-bytes";
pub const FORMER_ORIGIN_KEY: &str = "the-origin-key-before-it-of-32-bytes";

pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The real template.yaml with the default of every parameter.
pub fn template() -> &'static Template {
    with_parameters(&[])
}

/// The real template.yaml. It is read once with each of the few sets of parameters that tests use, and never freed.
fn with_parameters(parameters: &[(&str, &str)]) -> &'static Template {
    static READ: Mutex<BTreeMap<BTreeMap<String, String>, &'static Template>> = Mutex::new(BTreeMap::new());
    let given = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let parameters: BTreeMap<String, String> =
        ["Payments", "Notices"].map(|name| (name.to_owned(), "true".to_owned())).into_iter().chain(given).collect();
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.entry(parameters).or_insert_with_key(|parameters| {
        let template = Template::read(&repository().join("template.yaml"), parameters);
        Box::leak(Box::new(template.expect("template.yaml is sound")))
    })
}

/// The keys that the tokens in events/ are signed with.
static KEYS: LazyLock<String> = LazyLock::new(|| {
    std::fs::read_to_string(repository().join("events/token-keys.json")).expect("events/token-keys.json is there")
});

/// The sample store from its files, read once.
static SAMPLE: LazyLock<Store> = LazyLock::new(|| {
    let files = sample_files();
    let compiled = publish::compile(&files).expect("the sample store is sound");
    let live = local::live::read(&repository().join("infra/sample-store"), &compiled.settings.goals, NOW);
    Store { compiled, live: live.expect("the sample store is sound") }
});

/// The address of the sample store's shop.
pub const SHOP: &str = "https://shop.emberfall.example";

/// The sample store's files for a deployment with a shop, without guest mode: the documented interface has none, and tests
/// switch it on.
pub fn sample_files() -> StoreFiles {
    let mut files = publish::read(&repository().join("infra/sample-store")).expect("the sample store is sound");
    files.store.content.guest_mode = false;
    SHOP.clone_into(&mut files.shop_url);
    files
}

/// The item with this id in the store's files.
pub fn item(files: &mut StoreFiles, id: u64) -> &mut ItemFile {
    let categories = files.categories.iter_mut().map(|source| &mut source.content);
    let mut items =
        categories.flat_map(|top| top.items.iter_mut().chain(top.subcategories.iter_mut().flat_map(|c| &mut c.items)));
    items.find(|item| item.id.value == id).unwrap_or_else(|| panic!("no item {id}"))
}

/// A store with everything that a test inspects.
#[derive(Debug)]
pub struct TestStore {
    /// The database without the recorder: a test's own reads and writes are not counted and do not fail.
    pub db: Db,
    /// Every call of the functions to the database.
    pub calls: Calls,
    /// The faults of these calls.
    pub faults: Faults,
    pub clock: Arc<TestClock>,
    pub keys: TokenKeys,
    /// The URL of the chat platform's stand-in; empty if the table is.
    pub chat_platform: String,
    /// The stand-in for Stripe.
    pub payments: Box<StandIn>,
    gateway: Gateway,
    // Boxed, like what follows, because a future of a test holds a store.
    functions: Arc<Functions>,
    tapped: Db,
    access: Box<Access>,
    template: &'static Template,
    /// The functions' template. Unless a test says otherwise, they know the storefront's origin, without which there is no
    /// chat login; the gateway does not, so that pages of any origin may call.
    functions_template: &'static Template,
    surroundings: Box<Surroundings>,
    /// Last, so that a table that has to be deleted is deleted after all else has ended.
    _database: Database,
}

/// The surroundings of the functions that a test may change.
#[derive(Debug)]
struct Surroundings {
    /// The time of a call to another service.
    outgoing: Duration,
    token_keys: String,
    chat_secret: String,
    payment_keys: String,
    notice_keys: String,
    origin_keys: String,
    stripe: Option<String>,
    /// The HTTP client of a new process.
    connect: fn() -> SharedHttpClient,
}

impl TestStore {
    /// The sample store in a fresh table.
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// The sample store in a fresh table, with other values of the template's parameters.
    pub async fn open_with(parameters: &[(&str, &str)]) -> Self {
        Self::on_shortened(with_sample().await, parameters).await.with_chat_platform().await
    }

    /// The sample store in a fresh table behind a proxy, with the connector, timeouts and pacing of production.
    pub async fn open_as_deployed() -> (Self, Proxy) {
        let database = with_sample().await;
        let proxy = Proxy::start(database.endpoint()).await;
        let access = Access { http_client: deployed_client(), ..database::access_at(&proxy.endpoint()) };
        let mut store = Self::on(database, access, &[]).await.with_chat_platform().await;
        store.surroundings.connect = deployed_client;
        (store, proxy)
    }

    /// The sample store in a fresh table behind a proxy, with the shorter timeouts and pacing of [`Self::open`].
    pub async fn open_behind_proxy() -> (Self, Proxy) {
        let database = with_sample().await;
        let proxy = Proxy::start(database.endpoint()).await;
        let access = Access { endpoint: proxy.endpoint(), ..shortened(&database) };
        (Self::on(database, access, &[]).await.with_chat_platform().await, proxy)
    }

    /// Starts the chat platform, and writes its addresses into the published settings.
    async fn with_chat_platform(mut self) -> Self {
        // Another database than the embedded one is still empty.
        SAMPLE.load_into_empty(&self.db, NOW).await.expect("the sample store can be published");
        game_server::connect(&self.db, NOW).await;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        self.chat_platform = local::gateway::url_of(&listener).expect("an address");
        let config = configure(&self.db, |config| {
            config.chat.token_url = format!("{}/token", self.chat_platform);
            config.chat.user_url = format!("{}/user", self.chat_platform);
        });
        let chat = config.await.chat;
        let client = chat::Client { id: chat.client_id, redirect_url: chat.redirect_url };
        tokio::spawn(chat::serve(listener, ChatPlatform::new(client)));
        self
    }

    /// A fresh table without a store in it.
    pub async fn empty() -> Self {
        Self::empty_with(&[]).await
    }

    async fn empty_with(parameters: &[(&str, &str)]) -> Self {
        Self::on_shortened(Database::open().await, parameters).await
    }

    async fn on_shortened(database: Database, parameters: &[(&str, &str)]) -> Self {
        let access = shortened(&database);
        Self::on(database, access, parameters).await
    }

    /// A fresh table in a database, with the access of the functions.
    async fn on(database: Database, mut access: Access, parameters: &[(&str, &str)]) -> Self {
        let template = with_parameters(parameters);
        let table = database.table();
        let db = Db::new(database.patient(), table);
        create_table(&db).await;
        let (calls, faults, clock) = (Calls::default(), Faults::default(), Arc::new(TestClock::new()));
        access.interceptors = vec![SharedInterceptor::new(calls.clone()), SharedInterceptor::new(faults.clone())];
        let access = Box::new(access);
        let tapped = Db::new(Access::clone(&access), table);
        let keys = TokenKeys::parse(&KEYS).expect("usable keys");
        let as_clock: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        // Webhooks are not sent by themselves: a test passes them on.
        let options = Options { clock: Arc::clone(&as_clock), ..Options::default() };
        let payments = stripe_stand_in::start(options).await.expect("a free port");
        let surroundings = Surroundings {
            outgoing: outgoing::TOTAL,
            token_keys: KEYS.clone(),
            chat_secret: chat::secret(),
            payment_keys: stripe_stand_in::payment_keys(),
            notice_keys: "{}".to_owned(),
            origin_keys: json!({"current": ORIGIN_KEY, "previous": FORMER_ORIGIN_KEY}).to_string(),
            stripe: Some(payments.base_url()),
            connect: connector::plain_client,
        };
        let functions_template = with_parameters(&[&[("AllowedOrigins", STOREFRONT)], parameters].concat());
        let functions = Arc::new(functions(functions_template, &tapped, &clock, &surroundings));
        let gateway = Gateway::new(template, Arc::clone(&functions), as_clock).expect("usable routes");
        let chat_platform = String::new();
        Self {
            db,
            calls,
            faults,
            clock,
            keys,
            chat_platform,
            payments: Box::new(payments),
            gateway,
            functions,
            tapped,
            access,
            template,
            functions_template,
            surroundings: Box::new(surroundings),
            _database: database,
        }
    }

    /// A gateway with new functions, which have their own connections to the table and one more interceptor.
    pub(crate) fn another_gateway(&self, interceptor: impl Intercept + 'static) -> Gateway {
        let mut access = Access { http_client: (self.surroundings.connect)(), ..Access::clone(&self.access) };
        access.interceptors.push(SharedInterceptor::new(interceptor));
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let behind =
            functions(self.functions_template, &Db::new(access, self.db.table()), &self.clock, &self.surroundings);
        Gateway::new(self.template, behind, clock).expect("usable routes")
    }

    /// The sample store's files.
    pub fn sample() -> &'static Store {
        &SAMPLE
    }

    /// Empties every cache, like a new sandbox; the table is kept.
    pub fn restart(&mut self) {
        self.functions = Arc::new(functions(self.functions_template, &self.tapped, &self.clock, &self.surroundings));
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        self.gateway = Gateway::new(self.template, Arc::clone(&self.functions), clock).expect("usable routes");
    }

    /// Gives calls to other services this much time, and empties every cache.
    pub fn limit_outgoing(&mut self, total: Duration) {
        self.surroundings.outgoing = total;
        self.restart();
    }

    /// Deploys another content of `CHAT_SECRET`.
    pub fn set_chat_secret(&mut self, secret: &str) {
        secret.clone_into(&mut self.surroundings.chat_secret);
        self.restart();
    }

    /// Starts the functions with another access to the table.
    pub fn reach(&mut self, change: impl FnOnce(&mut Access)) {
        change(&mut self.access);
        self.access.http_client = (self.surroundings.connect)();
        self.tapped = Db::new(Access::clone(&self.access), self.db.table());
        self.restart();
    }

    pub fn set_payment_keys(&mut self, keys: &str) {
        keys.clone_into(&mut self.surroundings.payment_keys);
        self.restart();
    }

    pub fn set_notice_keys(&mut self, keys: &str) {
        keys.clone_into(&mut self.surroundings.notice_keys);
        self.restart();
    }

    /// Deploys other values of the template's parameters.
    pub fn set_parameters(&mut self, parameters: &[(&str, &str)]) {
        self.functions_template = with_parameters(&[&[("AllowedOrigins", STOREFRONT)], parameters].concat());
        self.restart();
    }

    /// Deploys another address of the payment provider.
    pub fn set_payment_provider(&mut self, url: &str) {
        self.surroundings.stripe = Some(url.to_owned());
        self.restart();
    }

    /// Lets buyers pay by methods that confirm later.
    pub async fn delay_payments(&mut self) {
        configure(&self.db, |config| config.payments.delayed = true).await;
        self.restart();
    }

    /// Deploys a new token key in front of the others.
    pub fn rotate_keys(&mut self) {
        let old = self.surroundings.token_keys.trim_start().trim_start_matches('{').to_owned();
        self.surroundings.token_keys = format!(r#"{{"new":"{}",{old}"#, "k".repeat(32));
        self.restart();
    }

    /// Runs the warm-up of every function.
    pub async fn warm_up(&self) {
        self.functions.warm_up().await;
    }

    /// The table through the functions' client.
    pub const fn functions_db(&self) -> &Db {
        &self.tapped
    }

    /// Sends a request through the gateway.
    pub async fn send(&self, call: Call) -> Reply {
        Reply::from_gateway(&self.gateway, call).await
    }

    /// Passes an event to a function, as Lambda does.
    pub async fn invoke(&self, function: &str, event: &Value) -> Reply {
        let reply = self.invoke_unchecked(function, event).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (method, path) = (text(&event["requestContext"]["http"]["method"]), text(&event["rawPath"]));
        conformance::check(&method, &path, Some(function), &reply);
        reply
    }

    /// Passes an event to a function, and does not compare the response with the OpenAPI document.
    pub async fn invoke_unchecked(&self, function: &str, event: &Value) -> Reply {
        let request = lambda_http::request::from_str(&event.to_string()).expect("a gateway event");
        Reply::of(self.functions.call(function, request).await.expect("a function of that name"))
    }

    /// Passes the event file `events/<name>.json` to its function.
    pub async fn invoke_file(&self, name: &str) -> Reply {
        let function = name.split('/').next().unwrap_or_default();
        self.invoke(function, &crate::request::event(name)).await
    }

    /// A token of the sample user with this name, valid for an hour.
    pub fn token(&self, username: &str) -> String {
        let user = SAMPLE.live.users.iter().find(|user| user.username == username);
        self.token_of(user.unwrap_or_else(|| panic!("no user {username}")).id)
    }

    /// A token of any user, also one that does not exist, valid for an hour.
    pub fn token_of(&self, user: UserId) -> String {
        self.keys.sign(user, self.clock.seconds(), 3_600).expect("a usable key")
    }
}

/// Creates the table of the template.
pub(crate) async fn create_table(db: &Db) {
    let mut definition = template().table().expect("the template has a table");
    // The engine removes what has expired by the system's clock, every minute; tests have a clock of their own.
    definition.ttl_attribute = None;
    ensure_table(db, &definition).await.expect("the table can be created");
}

/// A database for a test, which has the sample store already if it is the embedded one.
async fn with_sample() -> Database {
    static CONTENTS: Prepared = Prepared::new();
    let fill = |db: Db| async move {
        create_table(&db).await;
        SAMPLE.load_into_empty(&db, NOW).await.expect("the sample store can be published");
    };
    Database::filled(&CONTENTS, fill).await
}

/// Production's HTTP client.
fn deployed_client() -> SharedHttpClient {
    connector::client(connector::roots())
}

/// Production's access, but with shorter timeouts.
fn shortened(database: &Database) -> Access {
    let mut access = database.access();
    access.retries = access.retries.with_initial_backoff(Duration::from_millis(5));
    access.timeouts = TimeoutConfig::builder().operation_attempt_timeout(database.attempt_timeout()).build();
    access
}

fn functions(template: &Template, db: &Db, clock: &Arc<TestClock>, surroundings: &Surroundings) -> Functions {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
    let secrets = Secrets {
        chat: &surroundings.chat_secret,
        payments: &surroundings.payment_keys,
        notices: &surroundings.notice_keys,
        origin: &surroundings.origin_keys,
        stripe: surroundings.stripe.as_deref(),
        ..Secrets::new(&surroundings.token_keys)
    };
    let functions = Functions::with_secrets(template, db, secrets, &clock);
    let client = outgoing::Client::new(connector::roots()).within(surroundings.outgoing);
    functions.expect("functions that start").with_outgoing(client)
}
