//! A store in files: how it is read, checked, compiled and published.
//!
//! [`read`] turns a directory into [`files::StoreFiles`], [`check`] finds every fault in them, [`compile`] makes
//! of them what the endpoints read, and [`publish`] writes that beside the version that is published now and moves
//! the pointer by one conditional write. [`live`] loads what is *not* published (users, carts, codes, orders) into
//! an empty table, for the local server and the tests.
//!
//! Knows nothing of HTTP and of no rule of pricing; what it writes is what [`shared::store`] reads.

mod changes;
mod compile;
mod export;
mod fault;
pub mod files;
pub mod live;
mod load;
mod lower;
mod publish;
mod read;
mod remove;
pub mod schema;
mod version;
mod write;

pub use changes::{Changes, changes};
pub use compile::{Compiled, CompiledCategory, Part, compile};
pub use export::{export, write_files};
pub use fault::Fault;
pub use load::{LoadError, damage, load};
pub use publish::{PublishError, Published, publish, publish_with, read_pointer, repair, switch};
pub use read::read;
pub use remove::{KEPT, outdated, remove_outdated};
pub use version::{VersionRecord, list_versions, read_record, read_tree, read_version};
pub use write::{OnProgress, delete_each, write_each};

use files::StoreFiles;

/// Every fault of a store's files; none means that [`compile`] succeeds.
#[must_use]
pub fn check(files: &StoreFiles) -> Vec<Fault> {
    compile(files).err().unwrap_or_default()
}
