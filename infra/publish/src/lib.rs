//! A store in files: how it is read, checked, compiled and published.
//!
//! [`read`] turns a directory into [`files::StoreFiles`], [`check`] finds every fault in them, [`compile`] makes
//! of them what the endpoints read, and [`publish`] writes that beside the version that is published now and moves
//! the pointer by one conditional write. [`live`] loads what is *not* published (users, carts, codes, orders) into
//! an empty table, for the local server and the tests.
//!
//! Knows nothing of HTTP and of no rule of pricing; what it writes is what [`shared::store`] reads.

mod compile;
mod fault;
pub mod files;
pub mod live;
mod lower;
mod publish;
mod read;
mod write;

pub use compile::{Compiled, CompiledCategory, Part, compile};
pub use fault::Fault;
pub use publish::{PublishError, Published, VersionRecord, move_pointer, publish, read_pointer, read_version};
pub use read::read;

use files::StoreFiles;

/// Every fault of a store's files; none means that [`compile`] succeeds.
#[must_use]
pub fn check(files: &StoreFiles) -> Vec<Fault> {
    compile(files).err().unwrap_or_default()
}
