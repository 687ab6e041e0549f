//! The database's clock. Whatever tokens are compared with is dated by it, so that an operator's wrong clock neither leaves
//! a revoked token valid nor locks an account.

use super::Target;
use shared::table::{StoreError, shape};

impl Target {
    /// The second that it is, since 1970 UTC: by the database's clock, or by this machine's if the database has none. A local
    /// server judges tokens by its own clock.
    pub async fn seconds(&self) -> Result<i64, StoreError> {
        if self.is_local {
            return Ok(self.clock.seconds());
        }
        Ok(shape::seconds(&self.db).await?.unwrap_or_else(|| self.clock.seconds()))
    }
}
