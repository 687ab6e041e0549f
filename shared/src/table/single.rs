//! Conditional writes, of one item or a few.

use super::codec::{Item, encode_live};
use super::keys::Key;
use super::transaction::{Guard, Write, send_guarded};
use super::{Db, StoreError, in_turns};
use serde::Serialize;

/// How often writes are sent while other transactions hold an item.
const ROUNDS: u32 = 8;

/// The guard of a write of which only the condition counts.
#[derive(Debug, Clone, Copy)]
struct Condition;

impl Guard for Condition {
    type Refusal = ();

    fn refusal(&self, _: Option<&Item>) -> Option<()> {
        Some(())
    }
}

/// Sends one write, again while other transactions hold its item. Returns whether its condition was met.
pub async fn apply(db: &Db, write: Write) -> Result<bool, StoreError> {
    apply_all(db, vec![write]).await
}

/// Sends writes as one transaction, again while others hold an item. Returns whether every condition was met. Unlike
/// [`super::transaction::send_patiently`] it has a random token: the same writes have an effect each time they are sent, and
/// in every table. If the database does not respond, it is not known whether they were written.
pub async fn apply_all(db: &Db, writes: Vec<Write>) -> Result<bool, StoreError> {
    in_turns(ROUNDS, || async {
        let writes = writes.iter().cloned().map(|write| write.guarded_by(Condition)).collect();
        Ok(send_guarded(db, writes).await?.is_ok())
    })
    .await
}

/// Writes a live thing under a key that must be free. Returns whether it was written.
pub async fn create<T: Serialize>(db: &Db, key: &Key, thing: &T) -> Result<bool, StoreError> {
    apply(db, Write::put(key.clone(), encode_live(key, thing)?).only_if_absent()).await
}
