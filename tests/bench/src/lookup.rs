//! Rows of the figures by name. The names are the agreement between what measures and what reports.

use crate::figures::{Endpoint, Figures, Program, Raw, ScalePoint, Spread};

/// The five functions.
pub const FUNCTIONS: [&str; 5] = ["catalog", "cart", "payments", "content", "auth"];
/// The runtime alone; its one warm row has the same name.
pub const HELLO: &str = "hello";
/// The Rust SDK with its default features.
pub const SDK_DEFAULTS: &str = "sdk-defaults";
/// The peer in Node.
pub const NODE: &str = "node";
/// The peer in Python.
pub const PYTHON: &str = "python";

/// The one endpoint that the peers answer as well.
pub const CHECK_STATUS: &str = "payments/checkStatus";

/// The endpoints whose cost must not grow with the store.
pub const SCALED: [&str; 4] = ["categories/get/{url}", "cart/get", "cart/acceptCoupon", CHECK_STATUS];

impl Figures {
    /// A program by its name.
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// A warm row of a program by its whole name.
    pub fn endpoint(&self, program: &str, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.program == program && endpoint.name == name)
    }

    /// A warm row of the functions by its whole name.
    pub fn of_functions(&self, name: &str) -> Option<&Endpoint> {
        FUNCTIONS.iter().find_map(|function| self.endpoint(function, name))
    }

    /// The hello world's warm row.
    pub fn hello(&self) -> Option<&Endpoint> {
        self.endpoint(HELLO, HELLO)
    }

    /// A request to the database over a bare socket.
    pub fn raw(&self, name: &str) -> Option<&Raw> {
        self.raw.iter().find(|raw| raw.name == name)
    }
}

impl Endpoint {
    /// Whether it was timed. Some outcomes are only counted, because they cannot be had again and again.
    pub fn is_timed(&self) -> bool {
        self.wall.median > 0
    }
}

impl ScalePoint {
    /// Whether the answer is about as long, so that it has about as much in it: a tenth more or less.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.answer_bytes.abs_diff(other.answer_bytes) * 10 <= self.answer_bytes.max(other.answer_bytes)
    }
}

impl Program {
    /// The init without a connection. A program that opens none during init has only the one figure.
    pub fn init_unconnected(&self) -> Option<Spread> {
        self.cold.map(|cold| cold.init_cpu_unconnected.unwrap_or(cold.init_cpu))
    }
}

/// The endpoint of a row: its name without the outcome.
pub fn endpoint_of(name: &str) -> &str {
    name.split_once(", ").map_or(name, |(endpoint, _)| endpoint)
}
