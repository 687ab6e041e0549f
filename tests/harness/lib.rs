//! A store to test: the sample store in a fresh table of an engine in the test's own process, the seven functions behind
//! the routes of template.yaml, a clock that tests set, and a recorder of every call to the database.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test that cannot be set up has failed"
)]

mod calls;
pub mod conformance;
mod database;
mod faults;
mod game_server;
mod proxy;
pub mod receiver;
mod request;
mod store;
mod table;
mod wire;

pub use calls::{Calls, CartTrace, Need, operation, writes};
pub use conformance::{Endpoint, cached, declared_route, endpoints, heads};
pub use database::{Prepared, TWO_CHAINS, TestTable, delete, items, needs_embedded_engine, put};
pub use faults::{Fault, Faults};
pub use game_server::{SERVER, SERVER_KEY};
pub use proxy::{Exchange, Proxy};
pub use request::{Call, Instance, Reply, event, event_file, event_names, spread};
pub use store::{FORMER_ORIGIN_KEY, ORIGIN_KEY, SHOP, TestStore, item, repository, sample_files, template};
pub use table::{Dump, Stable};
pub use wire::WireFault;

use shared::clock::Clock;
use shared::model::StoreConfig;
use shared::table::published::read_active_version;
use shared::table::{Db, codec, keys};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The start time of every test: 15 June 2026, noon UTC, in seconds since 1970.
pub const NOW: i64 = 1_781_524_800;

/// A clock that changes only when it is advanced. Clones are one clock.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    /// A clock at [`NOW`].
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(NOW.unsigned_abs() * 1_000)))
    }

    /// An independent clock that shows the same time.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self(Arc::new(AtomicU64::new(self.0.load(Ordering::SeqCst))))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).expect("a short time"), Ordering::SeqCst);
    }

    pub fn set_back(&self, by: Duration) {
        self.0.fetch_sub(u64::try_from(by.as_millis()).expect("a short time"), Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Changes the settings of the published store in the table, until the next publish. Returns the new ones.
pub async fn configure(db: &Db, change: impl FnOnce(&mut StoreConfig)) -> StoreConfig {
    let active = read_active_version(db).await.expect("a database that responds");
    let mut active = active.expect("a published store");
    change(&mut active.config);
    let row = codec::encode_live(&keys::active_version(), &active).expect("settings that can be stored");
    Box::pin(put(db, row)).await;
    active.config
}

/// The number that a variable of the environment sets, such as `PROPTEST_CASES`, for a longer run; else `usual`.
pub fn count(variable: &str, usual: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Whether every fault is tried at every call: with the environment variable `FAULTS=all`. Otherwise a part of them, which
/// changes from call to call, so that a run of all tests takes seconds.
pub fn with_all_faults() -> bool {
    std::env::var("FAULTS").is_ok_and(|value| value == "all")
}

/// All kinds, or as many as `count` of them, beginning with another one at each `turn`.
pub fn by_turns<T: Clone>(kinds: &[T], turn: usize, count: usize) -> Vec<T> {
    let count = if with_all_faults() { kinds.len() } else { count };
    kinds.iter().cycle().skip(turn % kinds.len()).take(count).cloned().collect()
}
