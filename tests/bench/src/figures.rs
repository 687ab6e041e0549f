//! What a run measured, as it stands in `infra/docs/performance.json`. Times are nanoseconds, sizes bytes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The day of the run, `YYYY-MM-DD` in UTC.
    pub date: String,
    /// Where it ran.
    pub machine: Machine,
    /// Versions of what was measured and of what measured it, by name.
    pub versions: BTreeMap<String, String>,
    /// How often things were done.
    pub rounds: Rounds,
    /// The functions, then the peers.
    pub programs: Vec<Program>,
    /// Every endpoint warm, and what the peers answer warm.
    pub endpoints: Vec<Endpoint>,
    /// The floor: requests to the database over a bare socket.
    pub raw: Vec<Raw>,
    /// What grows with the store, and what does not.
    pub scale: Vec<ScalePoint>,
    /// The local server under load.
    pub throughput: Vec<Throughput>,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many processors the run could use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory: u64,
    /// The kernel's version.
    pub kernel: String,
}

/// How often things were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Fresh processes of each program.
    pub cold: u32,
    /// Fresh processes of each program on a slice of a processor.
    pub slow: u32,
    /// Invokes of each endpoint.
    pub warm: u32,
}

/// What a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One of the five functions.
    Function,
    /// The runtime alone: what no Rust function can go below.
    HelloWorld,
    /// checkStatus with the Rust SDK's default features.
    SdkDefaults,
    /// checkStatus in Node.
    Node,
    /// checkStatus in Python.
    Python,
}

/// A program that Lambda starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The day on which it was measured, `YYYY-MM-DD` in UTC: a peer's may be earlier than the run's.
    pub date: String,
    /// Size of what is started, of the bundle where an interpreter starts it.
    pub bytes: Option<u64>,
    /// Size of what is uploaded.
    pub zip_bytes: Option<u64>,
    /// Its start on whole processors; `None` where starts were not measured.
    pub cold: Option<Cold>,
    /// Its start with the share of a processor that a function of 128 MB has; `None` where the machine cannot limit it.
    pub slow: Option<Cold>,
    /// The most memory that it held while warm; `None` where that was not measured.
    pub peak_rss: Option<u64>,
}

/// A start: from exec to the first request for work, and the first invoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cold {
    /// From exec to the first request for work, by the clock.
    pub init_wall: Spread,
    /// From exec to the first request for work, processor time.
    pub init_cpu: Spread,
    /// The same where no connection to the database is opened; `None` where the program opens none during init.
    pub init_cpu_unconnected: Option<Spread>,
    /// The first invoke by the clock.
    pub first_wall: Spread,
    /// The first invoke, processor time.
    pub first_cpu: Spread,
}

/// How a number of times are spread, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The shortest.
    pub min: u64,
    /// Half were not longer.
    pub median: u64,
    /// 99 of 100 were not longer.
    pub p99: u64,
}

/// An endpoint, or a peer's one answer, warm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The program, see [`Program::name`].
    pub program: String,
    /// The endpoint as api.md names it, and the outcome where it is not the ordinary one.
    pub name: String,
    /// An invoke by the clock.
    pub wall: Spread,
    /// The same with a few milliseconds added to every call to the database, as a network does.
    pub wall_delayed: Spread,
    /// Processor time of an invoke, the mean.
    pub cpu: u64,
    /// What an invoke asks of the database.
    pub cost: Cost,
}

/// What an invoke asks of the database, counted exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Calls.
    pub calls: u32,
    /// Round trips: calls side by side count once.
    pub round_trips: u32,
    /// Read request units.
    pub read_units: f64,
    /// Write request units.
    pub write_units: f64,
}

/// Requests to the database without SDK, runtime or handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    /// What is asked.
    pub name: String,
    /// How many requests go out side by side.
    pub calls: u32,
    /// From the first byte sent to the last received.
    pub wall: Spread,
}

/// An endpoint in a store, with a cart and a buyer of some size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    /// The endpoint as api.md names it.
    pub endpoint: String,
    /// Items in the store.
    pub items: u64,
    /// Lines in the buyer's cart.
    pub lines: u32,
    /// Orders that the buyer has paid.
    pub orders: u32,
    /// An invoke by the clock.
    pub wall: Spread,
    /// Processor time of an invoke, the mean.
    pub cpu: u64,
    /// What an invoke asks of the database.
    pub cost: Cost,
    /// Size of the answer's body.
    pub answer_bytes: u64,
}

/// An endpoint of the local server under load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// The endpoint as api.md names it.
    pub endpoint: String,
    /// Connections that asked side by side.
    pub connections: u32,
    /// Requests answered in a second.
    pub per_second: u64,
    /// From request to answer.
    pub wall: Spread,
}
