//! An engine with the sample store, the front before it, and how programs are started against them.

use crate::error::BenchError;
use crate::front::Front;
use crate::programs::Program;
use crate::runtime::Sandbox;
use local::engine::{Engine, ensure_table};
use local::store::Store;
use shared::clock::{Clock, SystemClock};
use shared::store::Db;
use std::fs;
use std::path::Path;
use template::Template;

/// The table with the sample store.
const TABLE: &str = "sample";

/// Credentials like Lambda's; the engine takes any. The session token is as long as a real one, because it is signed
/// and sent with every request.
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const SESSION_TOKEN_BYTES: usize = 700;

/// An engine with the sample store, behind a front.
pub struct Stage {
    _engine: Engine,
    pub front: Front,
    /// The keys that the event files' tokens are signed with, as `TOKEN_KEYS` takes them.
    token_keys: String,
}

impl Stage {
    /// Sets everything up; certificates go to `work`.
    pub async fn open(work: &Path) -> Result<Self, BenchError> {
        let failed = BenchError::setup("the stage");
        fs::create_dir_all(work).map_err(BenchError::file(work))?;
        let root = harness::repository();
        let keys = root.join("events/token-keys.json");
        let token_keys = fs::read_to_string(&keys).map_err(BenchError::file(&keys))?;
        let template = Template::read(&root.join("template.yaml"), &std::collections::BTreeMap::new());
        let template = template.map_err(|error| failed(&error))?;
        let engine = Engine::start(None).await.map_err(|error| failed(&error))?;
        let front = Front::start(engine.endpoint(), work).await?;
        let db = Db::new(engine.access(), TABLE);
        let definition = template.table().map_err(|error| failed(&error))?;
        ensure_table(db.client(), TABLE, &definition).await.map_err(|error| failed(&error))?;
        let now = SystemClock.seconds();
        let store = Store::read(&root.join("infra/sample-store"), now).map_err(|error| failed(&error))?;
        store.load_into_empty(&db, now).await.map_err(|error| failed(&error))?;
        Ok(Self { _engine: engine, front, token_keys })
    }

    /// Starts a program on the table, as Lambda does. Without credentials (`connected`) a function does not use the database
    /// during init.
    pub async fn start(&self, program: &Program, connected: bool) -> Result<Sandbox, BenchError> {
        Sandbox::start(program.name, &program.start, &self.environment(program, connected)).await
    }

    fn environment(&self, program: &Program, connected: bool) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        // The functions contain the public roots; the others read the machine's, with ours added.
        let trusted = if program.is_function { self.front.root() } else { self.front.bundle() };
        let mut environment = vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
            ("AWS_LAMBDA_FUNCTION_NAME", program.name.to_owned()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "bench".to_owned()),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "bench".to_owned()),
            ("AWS_LAMBDA_LOG_FORMAT", "JSON".to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.front.endpoint()),
            ("AWS_CA_BUNDLE", path(trusted)),
            ("TABLE_NAME", TABLE.to_owned()),
            ("TOKEN_KEYS", self.token_keys.clone()),
            ("STACK_NAME", "bench".to_owned()),
            ("LOG_LEVEL", "info".to_owned()),
            // The longest that is allowed, so that few requests find the active version stale.
            ("CACHE_SECONDS", "60".to_owned()),
        ];
        if connected {
            environment.push(("SSL_CERT_FILE", path(trusted)));
            environment.push(("AWS_ACCESS_KEY_ID", "ASIAIOSFODNN7EXAMPLE".to_owned()));
            environment.push(("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()));
            environment.push(("AWS_SESSION_TOKEN", "x".repeat(SESSION_TOKEN_BYTES)));
        }
        environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
