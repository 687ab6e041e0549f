//! Many pieces of work in a limited time.

use crate::deadline::Stop;
use futures_util::future::join_all;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many pieces of work are done at once. A provider that responds within 300 ms then reaches 20 calls a second.
const AT_ONCE: usize = 8;

/// Does work on the first items of a queue, several at once, and begins none after `stop`. Returns the results; what
/// was not begun stays in the queue.
pub(super) async fn work_until<T: Send, F: Future<Output: Send> + Send>(
    queue: &mut VecDeque<T>,
    stop: Stop,
    work: &(impl Fn(T) -> F + Sync),
) -> Vec<F::Output> {
    let shared = Mutex::new(queue);
    let next = || shared.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let worker = || async {
        let mut results = Vec::new();
        while !stop.has_come() {
            let Some(item) = next() else { break };
            results.push(work(item).await);
        }
        results
    };
    join_all((0..AT_ONCE).map(|_| worker())).await.into_iter().flatten().collect()
}
