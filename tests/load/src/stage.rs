//! The processes of a run, and the table with the sample store.

use crate::client::Client;
use crate::error::{LoadError, process};
use crate::part::{sample_store, template};
use aws_sdk_dynamodb::config::Credentials;
use local::engine::ensure_table;
use local::store::Store;
use shared::clock::{Clock as _, SystemClock};
use shared::model::{ItemId, PublishedItem};
use shared::store::published::read_active_version;
use shared::store::{Access, Db, StoreError, codec, connector, keys, read_published};
use shared::token::TokenKeys;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const REGION: &str = "local";
/// How long a process may take to start.
const START: Duration = Duration::from_mins(1);

/// A process of a run. It ends when this is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    name: &'static str,
}

impl Process {
    fn start(name: &'static str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self, LoadError> {
        let program = std::env::current_exe().map_err(process("the program's own path"))?;
        let mut command = Command::new(program);
        command.arg("part").arg(name).args(arguments).envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(process("a process of the run"))?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or(LoadError::Ended(name))?;
        Ok(Self { child, input, output: BufReader::new(output).lines(), name })
    }

    /// The next line that it prints.
    async fn line(&mut self) -> Result<String, LoadError> {
        let line = tokio::time::timeout(START, self.output.next_line()).await;
        line.ok().and_then(Result::ok).flatten().ok_or(LoadError::Ended(self.name))
    }
}

/// A running local server.
#[derive(Debug)]
pub struct Stage {
    /// Its client.
    pub client: Client,
    /// The table.
    pub db: Db,
    /// The keys that tokens are signed with.
    pub keys: TokenKeys,
    /// The units of the limited item that the sample store sold before.
    pub sold_before: u32,
    functions: Process,
    _provider: Process,
    _database: Process,
}

impl Stage {
    /// Starts everything. `limited` is an item with a number of units that can be sold in all.
    pub async fn open(limited: Option<(ItemId, u32)>) -> Result<Self, LoadError> {
        let mut database = Process::start("database", &[], &[])?;
        let endpoint = database.line().await?;
        let credentials = Credentials::new("local", "local", None, None, "local");
        let access = Access::new(REGION, Some(endpoint.clone()), Some(credentials), connector::plain_client());
        let definition = template()?.table()?;
        let db = Db::new(access, &definition.logical_id);
        ensure_table(db.client(), db.table(), &definition).await?;
        let now = SystemClock.seconds();
        Store::read(&sample_store(), now)?.load_into_empty(&db, now).await?;
        let sold_before = match limited {
            Some((item, units)) => limit(&db, item, units).await?,
            None => 0,
        };
        let token_keys = local::data::new_token_keys()?;
        let environment = [
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.as_str()),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("TOKEN_KEYS", &token_keys),
        ];
        let mut functions = Process::start("functions", &["--table", db.table()], &environment)?;
        let api = functions.line().await?;
        let webhook = format!("{api}/payments/webhook/stripe");
        let mut provider = Process::start("provider", &["--webhook", &webhook], &[])?;
        let provider_url = provider.line().await?;
        let line = format!("{provider_url}\n");
        functions.input.write_all(line.as_bytes()).await.map_err(process("the functions' process"))?;
        functions.line().await?;
        let keys = TokenKeys::parse(&token_keys).map_err(|error| LoadError::Table(error.to_string()))?;
        let client = Client::new(api, provider_url);
        Ok(Self { client, db, keys, sold_before, functions, _provider: provider, _database: database })
    }

    /// The present usage of the functions' process.
    pub fn usage(&self) -> Result<Usage, LoadError> {
        let id = self.functions.child.id().ok_or(LoadError::Ended("functions"))?;
        Usage::of(id).map_err(process("the numbers of the functions' process, which are read from /proc"))
    }
}

/// The memory and connections of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// Resident memory, in KiB.
    pub memory_kib: u64,
    /// Open connections.
    pub connections: usize,
}

impl Usage {
    fn of(process: u32) -> std::io::Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let mut connections = 0;
        for entry in std::fs::read_dir(format!("/proc/{process}/fd"))? {
            // A descriptor may be closed in between.
            let target = entry.and_then(|entry| std::fs::read_link(entry.path()));
            connections += usize::from(target.is_ok_and(|target| target.to_string_lossy().starts_with("socket:")));
        }
        Ok(Self { memory_kib: resident(&status), connections })
    }
}

fn resident(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Gives an item a limit, so that `units` can be sold from now on. Returns how many were sold before.
async fn limit(db: &Db, item: ItemId, units: u32) -> Result<u32, LoadError> {
    let missing = || LoadError::Table(format!("the sample store has no item {item}"));
    let active = read_active_version(db).await?.ok_or_else(missing)?;
    let key = keys::item(&active.version, item);
    let mut published: PublishedItem = read_published(db, &key).await?.ok_or_else(missing)?;
    let before = sold(db, item).await?;
    published.item.global_limit = Some(before.saturating_add(units));
    put(db, codec::encode_published(&key, &published)?).await?;
    Ok(before)
}

/// The counter of an item's units.
pub async fn sold(db: &Db, item: ItemId) -> Result<u32, LoadError> {
    let row = db.get(&keys::count(item), true).await?.unwrap_or_default();
    let sold = row.get("sold").and_then(|sold| sold.as_n().ok()).and_then(|sold| sold.parse().ok());
    Ok(sold.unwrap_or_default())
}

/// Writes an item of the table.
pub async fn put(db: &Db, item: codec::Item) -> Result<(), LoadError> {
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    put.send().await.map_err(|error| StoreError::from_sdk("PutItem", error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_status() {
        assert_eq!(resident("Name:\tload\nVmRSS:\t   51234 kB\nThreads:\t4\n"), 51_234);
        assert_eq!(resident("Name:\tload\n"), 0);
    }

    #[test]
    fn a_process_has_memory_and_connections() {
        let before = Usage::of(std::process::id()).unwrap();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let after = Usage::of(std::process::id()).unwrap();
        assert!(before.memory_kib > 0 && after.connections > 0, "{before:?} {after:?}");
        drop(listener);
    }
}
