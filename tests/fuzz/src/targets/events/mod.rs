//! The five functions, with a real table: every event has a documented response.

mod event;
mod oracle;

use crate::error::FuzzError;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use event::Events;
use harness::TestStore;
use oracle::Oracle;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A function with a store of its own, and the runtime that both run on.
struct Function {
    name: &'static str,
    events: Events,
    oracle: Oracle,
    store: TestStore,
    // Last: the store's tasks end with it.
    runtime: Runtime,
}

/// An event, and the milliseconds that pass before it.
#[derive(Debug)]
pub struct Sent {
    /// The event as API Gateway sends it.
    pub event: Value,
    /// The milliseconds since the event before.
    pub wait: u64,
}

impl Function {
    fn start(name: &'static str) -> Result<Self, FuzzError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(FuzzError::setup)?;
        let store = runtime.block_on(TestStore::open());
        Ok(Self { name, events: Events::of(name, &store), oracle: Oracle::of(name)?, store, runtime })
    }

    fn input(&self, random: &mut Random) -> Sent {
        Sent { event: self.events.next(random), wait: random.next() % 3_000 }
    }

    fn check(&mut self, Sent { event, wait }: &Sent) -> Result<Outcome, String> {
        let text = event.to_string();
        // What is not an event at all is refused before it reaches a function, see `shared::http::lambda`.
        let request = catch_unwind(AssertUnwindSafe(|| lambda_http::request::from_str(&text)));
        let Ok(Ok(request)) = request else { return Ok(Outcome::Refused) };
        self.store.clock.advance(Duration::from_millis(*wait));
        let mut reply = None;
        // A busy machine may be too slow for a call to the database once.
        for _ in 0..3 {
            self.store.calls.clear();
            let sent = self.runtime.block_on(self.store.invoke_unchecked(self.name, event));
            let is_busy = sent.status == 503;
            reply = Some(sent);
            if !is_busy {
                break;
            }
        }
        let reply = reply.ok_or("no response")?;
        rule(reply.status != 503, || format!("503 three times: {}", reply.text))?;
        self.oracle.check(&self.store, &request, &reply)?;
        let is_accepted = reply.status.is_success() || reply.status == 304;
        Ok(if is_accepted { Outcome::Accepted } else { Outcome::Refused })
    }
}

macro_rules! function {
    ($(#[$doc:meta])* $type:ident, $name:literal) => {
        $(#[$doc])*
        pub struct $type(Function);

        impl Target for $type {
            const NAME: &'static str = $name;
            const ROUND: u64 = 500;
            type Input = Sent;

            fn start() -> Result<Self, FuzzError> {
                Function::start($name).map(Self)
            }

            fn restart(&mut self) -> Result<(), FuzzError> {
                self.0 = Function::start($name)?;
                Ok(())
            }

            fn input(&self, random: &mut Random) -> Sent {
                self.0.input(random)
            }

            fn check(&mut self, sent: &Sent) -> Result<Outcome, String> {
                self.0.check(sent)
            }
        }
    };
}

function!(
    /// The function `auth`.
    Auth, "auth"
);
function!(
    /// The function `cart`.
    Cart, "cart"
);
function!(
    /// The function `catalog`.
    Catalog, "catalog"
);
function!(
    /// The function `content`.
    Content, "content"
);
function!(
    /// The function `payments`.
    Payments, "payments"
);
