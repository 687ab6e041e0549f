//! A store in files: how it is read, checked, compiled and published.
//!
//! [`read`] turns a directory into [`files::StoreFiles`], [`check`] finds every fault in them, [`compile`] makes
//! of them what the endpoints read, and [`publish`] writes that next to the version that is published now and moves
//! the active version by one conditional write. [`live`] loads what is *not* published (users, carts, codes, orders)
//! into an empty table, for the local server and the tests.
//!
//! Knows nothing of HTTP and of no rule of pricing; what it writes is what [`shared::store`] reads.

mod changes;
mod compile;
mod currency;
mod digits;
mod duration;
mod error;
mod export;
mod fault;
pub mod files;
mod history;
pub mod live;
mod load;
mod lower;
mod parse;
pub mod provider;
mod publish;
mod read;
mod remove;
pub mod schema;
mod shape;
mod slips;
mod switch;
mod syntax;
mod version;
mod write;

pub use changes::{ChangedField, ChangedThing, Changes, Thing, changes};
pub use compile::{Compiled, CompiledCategory, LARGEST_PAGE, Part, compile};
pub use digits::check_digits;
pub use error::PublishError;
pub use export::{export, write_files};
pub use fault::Fault;
pub use history::{History, HistoryEntry, Step, begin_history, read_history};
pub use load::{LoadError, damage, load};
pub use publish::{Published, publish, publish_with};
pub use read::read;
pub use remove::{KEPT, outdated, remove_outdated};
pub use slips::{PriceChanges, Reassigned, Removals, price_changes, reassigned, removals};
pub use switch::switch;
pub use version::{VersionRecord, list_versions, read_record, read_tree, read_version, set_label, store_of};
pub use write::{OnProgress, delete_each, write_each};

use files::StoreFiles;

/// What looks like a mistake in a store's files without faults, though its owner may mean it.
#[must_use]
pub fn warnings(files: &StoreFiles) -> Vec<Fault> {
    let mut report = fault::Report::default();
    lower::lower(files, &mut report);
    report.into_warnings()
}

/// Every fault of a store's files; none means that [`compile`] succeeds.
#[must_use]
pub fn check(files: &StoreFiles) -> Vec<Fault> {
    compile(files).err().unwrap_or_default()
}
