//! A store in files: how it is read, checked, compiled and published.
//!
//! [`read()`] turns a directory into [`files::StoreFiles`], [`check`] finds every fault in them, [`compile`] makes
//! of them what the endpoints read, and [`publish`] writes that next to the version that is published now and moves
//! the active version by one conditional write. A version keeps the owner's own files ([`own_files()`]).
//!
//! Knows nothing of HTTP and of no rule of pricing; what it writes is what [`shared::table`] reads.

mod calendar;
mod changes;
mod compile;
pub mod currency;
mod diff;
mod duration;
mod fault;
pub mod files;
mod lower;
mod own_files;
mod prices;
mod publish;
mod read;
pub mod schema;
mod shape;
mod syntax;
mod version;

pub use calendar::{CalendarError, second, time_zone, zone_during};
pub use changes::{ChangedField, ChangedThing, Changes, Thing};
pub use compile::{Compiled, CompiledCategory, LARGEST_PAGE, Part, compile};
pub use currency::check_digits;
pub use diff::{Diff, Moved, PriceChanges, Reassigned, Removals};
pub use fault::{Fault, nearest};
pub use lower::command_values::LONGEST_BY_RCON;
pub use own_files::{FilesError, OwnFiles, files_differ, keep_files, own_files};
pub use prices::{PlannedReduction, PriceChange, PriceEdge, assume_regular_prices, planned_reductions, price_edges};
pub use publish::{PublishError, Published, publish, publish_with, return_to, switch};
pub use read::{LIVE, read};
pub use version::{
    LoadError, VERSIONS_KEPT, damage, load, load_version, outdated, read_tree, remove_outdated, store_of,
};

use files::StoreFiles;

/// Likely mistakes in a store's files without faults, which the owner may have meant.
pub fn warnings(files: &StoreFiles) -> Vec<Fault> {
    let mut report = fault::Report::default();
    lower::lower(files, &mut report);
    report.into_warnings()
}

/// Every fault of a store's files; none means that [`compile`] succeeds.
pub fn check(files: &StoreFiles) -> Vec<Fault> {
    compile(files).err().unwrap_or_default()
}
