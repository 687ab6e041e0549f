//! A store whose connections to the database and to the chat platform can fail on the wire, and what an endpoint does
//! there when nothing fails.

use super::{calling, is_unavailable};
use crate::faults::is_busy;
use shared::shop::delivery::commands;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tests::{Call, Dump, Endpoint, Instance, Proxy, Reply, Stable, TestStore, WireFault, configure};
use tokio::sync::OnceCell;

/// The next ids in the two stores that are compared to find out what differs between runs.
const SEQUENCES: [u64; 2] = [700_000, 800_000];

/// Timeouts and pacing of the functions' calls to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    Deployed,
    Shortened,
}

/// The other side of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Database,
    ChatPlatform,
}

/// A fault of some calls of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub side: Side,
    pub fault: WireFault,
    /// The place of the call that fails, among those of the request.
    pub place: usize,
    /// Whether all later calls fail as well, retries among them.
    pub lasts: bool,
}

/// A response, and how the table then differs from the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub status: u16,
    pub body: String,
    pub rows: Vec<String>,
    pub counters: Vec<String>,
}

/// The outcomes of an endpoint when nothing fails.
#[derive(Debug)]
pub struct Undisturbed {
    pub endpoint: Endpoint,
    /// The number of calls of the first request.
    pub database_calls: usize,
    pub platform_calls: usize,
    /// The outcome of the first request, and of the same one again.
    pub first: Outcome,
    pub second: Outcome,
    stable: Stable,
}

pub struct World {
    pub store: TestStore,
    pub database: Proxy,
    platform: Proxy,
    before: Dump,
}

/// The result of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The response was the undisturbed one.
    Right,
    /// The response was 503, and then the undisturbed one.
    Unavailable,
    /// The response was another one that is documented for this fault, and then the undisturbed one.
    Refused,
}

/// The outcomes of every endpoint when nothing fails, found out once for all tests.
pub async fn undisturbed() -> &'static [Undisturbed] {
    static ALL: OnceCell<Vec<Undisturbed>> = OnceCell::const_new();
    let find_out = || async {
        let [one, other] = SEQUENCES.map(|next| Box::pin(World::with_next_ids(Pacing::Shortened, next)));
        let (one, other) = tokio::join!(one, other);
        let mut all = Vec::new();
        for endpoint in calling() {
            all.push(Undisturbed::of(endpoint, &one, &other).await);
        }
        all
    };
    ALL.get_or_init(find_out).await
}

impl World {
    pub async fn open(pacing: Pacing) -> Self {
        Box::pin(Self::with_next_ids(pacing, SEQUENCES[0])).await
    }

    async fn with_next_ids(pacing: Pacing, next: u64) -> Self {
        let (store, database) = match pacing {
            Pacing::Deployed => TestStore::open_as_deployed().await,
            Pacing::Shortened => TestStore::open_behind_proxy().await,
        };
        let platform = Proxy::start(&store.chat_platform).await;
        let configured = configure(&store.db, |config| {
            config.chat.token_url = format!("{}/token", platform.endpoint());
            config.chat.user_url = format!("{}/user", platform.endpoint());
        });
        configured.await;
        // What the events of a game server are about. Its first poll would also note that it was seen.
        commands::reserve(&store.db, 6).await.unwrap();
        for id in [7, 8] {
            assert_eq!(store.queue_command("Thornwick", "give Thornwick diamond", false).await, id);
        }
        store.see_server().await;
        Dump::read(&store).await.set_sequences(&store, next).await;
        let before = Dump::read(&store).await;
        Self { store, database, platform, before }
    }

    /// A new process of every function.
    pub fn instance(&self) -> Arc<Instance> {
        self.store.instances(1).remove(0)
    }

    /// Makes the table what it was, if a request wrote to it.
    pub async fn restore(&self) {
        if self.has_written() {
            self.before.restore(&self.store).await;
        }
        self.database.start_over();
        self.platform.start_over();
    }

    fn has_written(&self) -> bool {
        self.database
            .seen()
            .iter()
            .any(|exchange| exchange.operation.contains("Update") || exchange.operation.contains("Write"))
    }

    /// A response, and the content of the table after it.
    pub async fn outcome(&self, reply: &Reply, expected: &Undisturbed) -> Outcome {
        self.outcome_of(reply, &self.dump().await, &expected.stable)
    }

    fn outcome_of(&self, reply: &Reply, dump: &Dump, stable: &Stable) -> Outcome {
        Outcome {
            status: reply.status.as_u16(),
            body: stable.masked(&reply.text),
            rows: dump.changes(&self.before, stable),
            counters: dump.counters(&self.before, stable),
        }
    }

    async fn dump(&self) -> Dump {
        if self.has_written() { Dump::read(&self.store).await } else { self.before.clone() }
    }

    /// Runs an endpoint twice when nothing fails.
    async fn twice(&self, call: &Call) -> Twice {
        self.database.start_over();
        self.platform.start_over();
        let instance = self.instance();
        let first = instance.send(call.clone()).await;
        let calls = (self.database.seen().len(), self.platform.seen().len());
        let after_first = self.dump().await;
        let second = instance.send(call.clone()).await;
        let after_second = self.dump().await;
        self.restore().await;
        Twice { calls, replies: [(first, after_first), (second, after_second)] }
    }

    /// Sends the request of an endpoint while a plan is in force, and again afterwards.
    pub async fn disturbed(&self, expected: &Undisturbed, plan: Plan) -> Verdict {
        self.restore().await;
        let (endpoint, call) = (&expected.endpoint, &expected.endpoint.call());
        let instance = self.instance();
        let proxy = match plan.side {
            Side::Database => &self.database,
            Side::ChatPlatform => &self.platform,
        };
        proxy.inject(move |exchange| {
            let meets = exchange.place == plan.place || (plan.lasts && exchange.place > plan.place);
            meets.then_some(plan.fault)
        });
        let started = Instant::now();
        let reply = instance.send(call.clone()).await;
        let elapsed = started.elapsed();
        proxy.clear();
        let what = format!("{} {plan:?}: {} {} after {elapsed:?}", endpoint.route, reply.status, reply.text);
        assert!(elapsed < endpoint.declaration.deadline + Duration::from_millis(500), "{what}");
        let got = self.outcome(&reply, expected).await;
        let verdict = expected.judge(&reply, &got, plan, &what);
        if verdict != Verdict::Right {
            self.again(&instance, call, expected, &got, &what).await;
        }
        verdict
    }

    /// The same request once more, by the same process, now that nothing fails.
    async fn again(&self, instance: &Instance, call: &Call, expected: &Undisturbed, earlier: &Outcome, what: &str) {
        let reply = instance.send(call.clone()).await;
        let got = self.outcome(&reply, expected).await;
        let was_done = !earlier.rows.is_empty();
        let right = if was_done { &expected.second } else { &expected.first };
        let shown = |outcome: &Outcome| (outcome.status, outcome.body.clone(), outcome.rows.clone());
        assert_eq!(shown(&got), shown(right), "again, done before: {was_done}: {what}");
        // Each counter is counted once or twice: of two limits one may have been counted before the fault.
        let (once, twice) = (&expected.first.counters, &expected.second.counters);
        let is_counted = got.counters.len() == once.len()
            && got.counters.iter().all(|counter| once.contains(counter) || twice.contains(counter));
        assert!(is_counted, "{what}: {:?}", got.counters);
    }
}

struct Twice {
    calls: (usize, usize),
    replies: [(Reply, Dump); 2],
}

impl Twice {
    fn outcomes(&self, world: &World, stable: &Stable) -> [Outcome; 2] {
        self.replies.each_ref().map(|(reply, dump)| world.outcome_of(reply, dump, stable))
    }
}

impl Undisturbed {
    /// Compares two stores: what differs is random, or follows from an id or a port.
    async fn of(endpoint: Endpoint, one: &World, other: &World) -> Self {
        let call = endpoint.call();
        let (first_run, second_run) = tokio::join!(one.twice(&call), other.twice(&call));
        let runs = [(one, &first_run), (other, &second_run)];
        let stable = Stable::of(runs.map(|(world, run)| {
            let dumps = run.replies.iter().map(|(_, dump)| dump).chain([&world.before]);
            (dumps.collect(), run.replies.iter().map(|(reply, _)| reply.text.as_str()).collect())
        }));
        let [first, second] = first_run.outcomes(one, &stable);
        let again = second_run.outcomes(other, &stable);
        assert_eq!(again, [first.clone(), second.clone()], "{}: two runs differ by what is random", endpoint.route);
        let (database_calls, platform_calls) = first_run.calls;
        Self { endpoint, database_calls, platform_calls, first, second, stable }
    }

    /// Judges the response while a plan is in force, and the table after it.
    fn judge(&self, reply: &Reply, got: &Outcome, plan: Plan, what: &str) -> Verdict {
        if (got.status, &got.body) == (self.first.status, &self.first.body) {
            assert_eq!(got, &self.first, "{what}");
            return Verdict::Right;
        }
        assert!(got.rows.is_empty() || got.rows == self.first.rows, "half a write: {what}: {:#?}", got.rows);
        // A request that two limits count may be cut off between them.
        let is_counted = got.counters.iter().all(|counter| self.first.counters.contains(counter));
        assert!(is_counted, "{what}: {:?}", got.counters);
        if is_unavailable(&self.endpoint, reply) {
            assert_eq!(reply.header("cache-control"), "no-store", "{what}");
            if self.endpoint.declaration.while_away.is_none() {
                is_busy(self.endpoint.route, reply);
            }
            return Verdict::Unavailable;
        }
        // A write that keeps colliding, and a login that the platform does not complete, have texts of their own.
        let collides =
            matches!(plan.fault, WireFault::Refused(_, "TransactionConflict")) && reply.text.contains("try again");
        let no_login = plan.side == Side::ChatPlatform && got.status == 400 && reply.text.contains("Please");
        assert!(collides || no_login, "{what}");
        assert!(got.rows.is_empty(), "{what}");
        Verdict::Refused
    }
}
