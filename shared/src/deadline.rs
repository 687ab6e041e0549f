//! The time that a request has for all of its calls to other services, such as the database.

use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time of a request, unless its endpoint sets another one by its own [`scope`]. Lambda ends a function after ten
/// seconds (`Timeout` in template.yaml); that must not cut off a write, and the caller must get a response.
pub const PER_REQUEST: Duration = Duration::from_secs(8);

tokio::task_local! {
    static DEADLINE: Instant;
}

/// Runs `work`; all of its calls together have `time` from now on. Inside another scope, the inner one applies.
pub fn scope<T>(time: Duration, work: impl Future<Output = T>) -> impl Future<Output = T> {
    DEADLINE.scope(Instant::now() + time, work)
}

/// [`scope`] of a request. An outer scope with more time applies instead: that of a server whose database is slower
/// than production's.
pub fn of_request<T>(time: Duration, work: impl Future<Output = T>) -> impl Future<Output = T> {
    scope(left().map_or(time, |left| left.max(time)), work)
}

/// The time that is left for calls; `None` outside of any scope.
pub fn left() -> Option<Duration> {
    DEADLINE.try_with(|deadline| deadline.saturating_duration_since(Instant::now())).ok()
}

/// Runs a call to another service. Returns `None` if the time is up: the call is then not started, or abandoned.
/// Outside of any scope the time is not limited.
pub async fn within<T>(call: impl Future<Output = T>) -> Option<T> {
    match DEADLINE.try_with(|deadline| *deadline) {
        Err(_) => Some(call.await),
        Ok(deadline) if deadline <= Instant::now() => None,
        Ok(deadline) => timeout_at(deadline, call).await.ok(),
    }
}

/// A moment from which on nothing new is begun.
#[derive(Debug, Clone, Copy)]
pub struct Stop(Instant);

impl Stop {
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    pub fn has_come(self) -> bool {
        Instant::now() >= self.0
    }

    /// The time until it comes.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn a_call_is_abandoned_when_the_time_is_up_and_no_other_is_started() {
        let begun = Cell::new(false);
        scope(Duration::from_millis(20), async {
            assert!(left().is_some_and(|left| left <= Duration::from_millis(20)));
            assert_eq!(within(ready(1)).await, Some(1));
            assert_eq!(within(pending::<()>()).await, None);
            assert_eq!(within(async { begun.set(true) }).await, None);
        })
        .await;
        assert!(!begun.get() && left().is_none());
        assert_eq!(within(ready(1)).await, Some(1), "outside there is no limit");
    }

    #[tokio::test]
    async fn an_endpoint_may_give_itself_more_time() {
        let inner = scope(Duration::from_mins(1), async { within(ready(1)).await });
        assert_eq!(scope(Duration::ZERO, inner).await, Some(1));
    }

    #[tokio::test]
    async fn a_request_has_the_time_of_its_server_if_that_is_more() {
        let left = |outer: u64| {
            scope(Duration::from_secs(outer), async { of_request(Duration::from_secs(8), async { left() }).await })
        };
        assert!(left(30).await.is_some_and(|left| left > Duration::from_secs(29)));
        assert!(left(1).await.is_some_and(|left| left > Duration::from_secs(7)));
    }
}
