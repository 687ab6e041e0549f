//! A store to test: the sample store in a fresh table of an engine in the test's own process, the six functions behind
//! the routes of template.yaml, a clock that tests set, and a recorder of every call to the database.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test that cannot be set up has failed"
)]

mod calls;
mod clock;
mod configure;
pub mod conformance;
mod count;
mod database;
mod endpoints;
mod faults;
mod game_server;
mod instances;
mod prepared;
mod proxy;
mod request;
mod store;
mod table;
mod test_table;
mod wire;

pub use calls::{Calls, CartTrace, Need, operation, writes};
pub use clock::{NOW, TestClock};
pub use configure::configure;
pub use count::{count, with_all_faults};
pub use database::{TWO_CHAINS, needs_embedded_engine};
pub use endpoints::{Endpoint, cached, declared_route, endpoints, heads};
pub use faults::{Fault, Faults};
pub use game_server::{SERVER, SERVER_KEY};
pub use instances::{Instance, spread};
/// The stand-in for Stripe.
pub use prepared::Prepared;
pub use proxy::{Exchange, Proxy};
pub use request::{Call, Reply, event, event_file, event_names};
pub use store::{FORMER_ORIGIN_KEY, ORIGIN_KEY, SHOP, TestStore, item, repository, sample_files, template};
pub use table::{Dump, Stable};
pub use test_table::{TestTable, delete, items, put};
pub use wire::WireFault;
