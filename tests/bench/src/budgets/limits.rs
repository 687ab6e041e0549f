//! The budgets as data. Whoever changes one changes it here, and nowhere else.

use super::{Budget, Footing, Unit};

/// The hello world's first invoke when the budgets were set, in nanoseconds of processor time (two cores, quiet).
/// With it a budget in milliseconds becomes a multiple that also holds on a slower or busier machine.
const HELLO_FIRST_CPU: f64 = 180_000.0;
/// The hello world's warm invoke when the budgets were set, in nanoseconds of processor time (two cores, quiet).
const HELLO_WARM_CPU: f64 = 38_000.0;

/// Init of a function over the hello world's, neither with a connection to the database.
pub const INIT_CPU: Budget =
    Budget::at_most("init CPU, no connection / hello world's", 1.3, 1.15, Unit::Ratio, Footing::Stable);
/// How far init is below Node's. Both without a connection, which Node opens in its first invoke: the same work.
pub const INIT_BELOW_NODE: Budget =
    Budget::at_least("init CPU, no connection, below Node's", 50.0, 80.0, Unit::Ratio, Footing::Quiet);
/// How far init is below Python's. Both without a connection, as with Node.
pub const INIT_BELOW_PYTHON: Budget =
    Budget::at_least("init CPU, no connection, below Python's", 100.0, 150.0, Unit::Ratio, Footing::Quiet);

const FIRST_CPU_BUDGET: f64 = 500_000.0;
const FIRST_CPU_STRETCH: f64 = 350_000.0;
/// The first invoke where init opened the connection.
pub const FIRST_CPU: Budget =
    Budget::at_most("first invoke CPU", FIRST_CPU_BUDGET, FIRST_CPU_STRETCH, Unit::Time, Footing::Quiet);
/// The same over the hello world's first invoke of the same run: 2.5, stretch 1.75.
pub const FIRST_CPU_RATIO: Budget = Budget::at_most(
    "first invoke CPU / hello world's",
    FIRST_CPU_BUDGET / HELLO_FIRST_CPU,
    FIRST_CPU_STRETCH / HELLO_FIRST_CPU,
    Unit::Ratio,
    Footing::Stable,
);
/// How far the first answer is below Node's.
pub const FIRST_BELOW_NODE: Budget =
    Budget::at_least("first invoke below Node's", 30.0, 50.0, Unit::Ratio, Footing::Quiet);
/// How far the first answer is below Python's.
pub const FIRST_BELOW_PYTHON: Budget =
    Budget::at_least("first invoke below Python's", 55.0, 90.0, Unit::Ratio, Footing::Quiet);
/// How far the first answer is below that of the Rust SDK with its default features.
pub const FIRST_BELOW_SDK: Budget =
    Budget::at_least("first invoke below the SDK defaults'", 30.0, 50.0, Unit::Ratio, Footing::Quiet);

/// The shortest warm checkStatus less the shortest of the same calls over a bare socket, by the call.
pub const OVER_RAW: Budget =
    Budget::at_most("warm over the raw calls, per call", 160_000.0, 120_000.0, Unit::Time, Footing::Quiet);

const CACHED_BUDGET: f64 = 10_000.0;
const CACHED_STRETCH: f64 = 4_000.0;
/// An answer out of the cache, less the hello world's.
pub const CACHED: Budget =
    Budget::at_most("from cache over the hello world", CACHED_BUDGET, CACHED_STRETCH, Unit::Time, Footing::Quiet);
/// Processor time of an answer out of the cache over the hello world's of the same run: 1.125, stretch 1.05.
pub const CACHED_RATIO: Budget = Budget::at_most(
    "from cache, CPU / hello world's",
    1.0 + CACHED_BUDGET / HELLO_WARM_CPU,
    1.0 + CACHED_STRETCH / HELLO_WARM_CPU,
    Unit::Ratio,
    Footing::Stable,
);

const FULL_BUDGET: f64 = 400_000.0;
const FULL_STRETCH: f64 = 200_000.0;
/// Processor time of an answer with much in it.
pub const FULL_CPU: Budget = Budget::at_most("CPU per invoke", FULL_BUDGET, FULL_STRETCH, Unit::Time, Footing::Quiet);
/// The same over the hello world's of the same run: 5, stretch 2.5.
pub const FULL_CPU_RATIO: Budget = Budget::at_most(
    "CPU per invoke / hello world's",
    FULL_BUDGET / HELLO_WARM_CPU,
    FULL_STRETCH / HELLO_WARM_CPU,
    Unit::Ratio,
    Footing::Stable,
);

/// Size of a function's binary.
pub const BYTES: Budget = Budget::at_most("binary", 4_500_000.0, 3_300_000.0, Unit::Megabytes, Footing::Stable);
/// Size of what is uploaded.
pub const ZIP: Budget = Budget::at_most("zip", 2_200_000.0, 1_700_000.0, Unit::Megabytes, Footing::Stable);
/// The most memory that a warm function held: 7 MiB, stretch 5.5 MiB.
pub const RSS: Budget = Budget::at_most("peak RSS, warm", 7_340_032.0, 5_767_168.0, Unit::Mebibytes, Footing::Stable);

/// Round trips to the database with the active version fresh and the page in the cache; the limit is [`round_trips`].
pub const ROUND_TRIPS: Budget = Budget::plain("round trips to DynamoDB", 0.0, Unit::Count, Footing::Stable);

/// Calls apart from those in the smallest store.
pub const FLAT_CALLS: Budget = Budget::plain("difference in calls, larger store", 0.0, Unit::Count, Footing::Stable);
/// Request units apart from those in the smallest store, read or write, whichever differ more.
pub const FLAT_UNITS: Budget = Budget::plain("difference in units, larger store", 0.0, Unit::Count, Footing::Stable);
/// Processor time over that in the smallest store. Not judged on a noisy machine: the database lies in the same
/// processor's cache, and a store of 100,000 items leaves a function less of it the busier the machine is.
pub const FLAT_CPU: Budget = Budget::plain("CPU, larger store / smallest", 1.5, Unit::Ratio, Footing::Quiet);
/// Calls apart from those without orders.
pub const FLAT_CALLS_ORDERS: Budget =
    Budget::plain("difference in calls, past orders", 0.0, Unit::Count, Footing::Stable);
/// Request units apart from those without orders, in the smallest store. A ledger grows with the distinct items that
/// were bought, never with the orders, and only there have many orders few of those.
pub const FLAT_UNITS_ORDERS: Budget =
    Budget::plain("difference in units, past orders", 0.0, Unit::Count, Footing::Stable);
/// Processor time over that without orders. Not judged on a noisy machine, as with the store.
pub const FLAT_CPU_ORDERS: Budget = Budget::plain("CPU, past orders / none", 1.5, Unit::Ratio, Footing::Quiet);

/// Round trips of an endpoint: ordinarily, and with any other outcome.
const ROUND_TRIPS_OF: [(&str, u32, u32); 16] = [
    ("settings/get", 0, 0),
    ("staff", 0, 0),
    ("patrons/get", 0, 0),
    ("categories/get", 0, 0),
    ("pages/get", 0, 0),
    ("auth/chat", 0, 0),
    ("categories/get/{url}", 1, 1),
    ("items/getFeaturedDeals", 1, 1),
    // A code that is on the cart is read once the cart is known.
    ("cart/get", 1, 2),
    ("cart/getPromoted", 1, 1),
    ("cart/getSelectServers", 1, 1),
    ("user", 1, 1),
    ("cart/acceptCoupon", 2, 2),
    ("cart/setReferral", 2, 2),
    ("cart/removeReferral", 2, 2),
    // The first request of an address's window makes the counter.
    ("payments/checkStatus", 1, 2),
];
/// Outcomes that need nothing of the caller's.
const WITHOUT_TOKEN: [&str; 2] = [", without a token", ", logged out"];

/// The endpoints that have a budget of round trips.
pub fn endpoints() -> impl Iterator<Item = &'static str> {
    ROUND_TRIPS_OF.iter().map(|(endpoint, ..)| *endpoint)
}

/// How many round trips a row may need, warm; `None` for an endpoint that has none.
pub fn round_trips(name: &str) -> Option<u32> {
    let endpoint = crate::lookup::endpoint_of(name);
    let (_, ordinary, otherwise) = ROUND_TRIPS_OF.iter().find(|(known, ..)| *known == endpoint)?;
    let guest = endpoint != "payments/checkStatus" && WITHOUT_TOKEN.iter().any(|outcome| name.ends_with(outcome));
    Some(match name == endpoint {
        _ if guest => 0,
        true => *ordinary,
        false => *otherwise,
    })
}
