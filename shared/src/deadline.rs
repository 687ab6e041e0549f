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

/// Runs a call to another service. Returns `None` if the time is up: the call is then not started, or abandoned.
/// Outside of any scope the time is not limited.
pub async fn within<T>(call: impl Future<Output = T>) -> Option<T> {
    match DEADLINE.try_with(|deadline| *deadline) {
        Err(_) => Some(call.await),
        Ok(deadline) if deadline <= Instant::now() => None,
        Ok(deadline) => timeout_at(deadline, call).await.ok(),
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
            assert_eq!(within(ready(1)).await, Some(1));
            assert_eq!(within(pending::<()>()).await, None);
            assert_eq!(within(async { begun.set(true) }).await, None);
        })
        .await;
        assert!(!begun.get());
        assert_eq!(within(ready(1)).await, Some(1), "outside there is no limit");
    }

    #[tokio::test]
    async fn an_endpoint_may_give_itself_more_time() {
        let inner = scope(Duration::from_mins(1), async { within(ready(1)).await });
        assert_eq!(scope(Duration::ZERO, inner).await, Some(1));
    }
}
