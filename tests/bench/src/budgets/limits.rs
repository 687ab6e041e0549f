//! The budgets as data.

use super::{Budget, Unit};
use crate::figures::endpoint_of;

/// A budget that a busy machine can measure as well.
const fn stable(what: &'static str, limit: f64, unit: Unit) -> Budget {
    Budget { what, limit, unit, stable: true }
}

/// A budget that needs a quiet machine.
const fn quiet(what: &'static str, limit: f64, unit: Unit) -> Budget {
    Budget { what, limit, unit, stable: false }
}

/// Init of a function, without the connection to the database.
pub const INIT_CPU: Budget = stable("init CPU, no connection / hello world's", 1.3, Unit::Ratio);
/// The first invoke, after init opened the connection.
pub const FIRST_CPU: Budget = stable("first invoke CPU / hello world's", 2.778, Unit::Ratio);
/// A response from the cache.
pub const CACHED_CPU: Budget = stable("from cache, CPU / hello world's", 1.263, Unit::Ratio);
/// A large response.
pub const FULL_CPU: Budget = stable("CPU per invoke / hello world's", 10.526, Unit::Ratio);
/// The shortest warm checkStatus over the shortest of the same calls on a bare socket.
pub const OVER_RAW: Budget = quiet("warm / the raw calls", 2.2, Unit::Ratio);

/// Size of a function's binary.
pub const BYTES: Budget = stable("binary", 6_000_000.0, Unit::Megabytes);
/// Size of what is uploaded.
pub const ZIP: Budget = stable("zip", 3_000_000.0, Unit::Megabytes);

/// The most memory that a warm function held: 10 MiB.
pub const RSS: Budget = stable("peak RSS, warm", 10_485_760.0, Unit::Mebibytes);

/// Sequential calls with the active version fresh and the page in the cache. The limit is that of [`round_trips`].
pub const ROUND_TRIPS: Budget = stable("round trips to DynamoDB", 0.0, Unit::Count);

/// Difference to the smallest store.
pub const FLAT_CALLS: Budget = stable("difference in calls, larger store", 0.0, Unit::Count);
/// Difference to the smallest store, in read or in write units, whichever is larger.
pub const FLAT_UNITS: Budget = stable("difference in units, larger store", 0.0, Unit::Count);
/// The database uses the same processor's cache: on a busy machine a large store leaves a function less of it.
pub const FLAT_CPU: Budget = quiet("CPU, larger store / smallest", 1.5, Unit::Ratio);
/// Difference to a buyer without orders.
pub const FLAT_CALLS_ORDERS: Budget = stable("difference in calls, past orders", 0.0, Unit::Count);
/// Difference to a buyer without orders, in the smallest store: a ledger grows with the distinct items that were
/// bought, and only there have many orders few of those.
pub const FLAT_UNITS_ORDERS: Budget = stable("difference in units, past orders", 0.0, Unit::Count);
/// Processor time over that without orders.
pub const FLAT_CPU_ORDERS: Budget = quiet("CPU, past orders / none", 1.5, Unit::Ratio);

/// The most round trips of a row, warm, as its endpoint declares them; `None` if there is no such endpoint. An outcome other than the
/// ordinary one may need those of an empty cache, such as the first request of a window.
pub fn round_trips(name: &str) -> Option<u32> {
    let endpoint = endpoint_of(name);
    let is_declared =
        |route: &&str| route.split_once(" /").is_some_and(|(_, path)| path.replace("+}", "}") == endpoint);
    let mut all = local::functions::Functions::declarations().into_iter().map(|(_, declaration)| declaration);
    let trips = all.find(|declaration| declaration.routes.iter().any(|route| is_declared(&route)))?.round_trips;
    u32::try_from(if name == endpoint { trips.warm } else { trips.warm.max(trips.cold) }).ok()
}
