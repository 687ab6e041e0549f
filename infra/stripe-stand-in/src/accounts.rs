//! Accounts: a key sees only what belongs to its account, in its mode.

use super::error::ApiError;
use super::idempotency::Responses;
use super::state::{Account, State};
use http::StatusCode;

impl State {
    /// Lets the account of a key call.
    pub(super) fn call_as(&mut self, key: &str) -> Result<(), ApiError> {
        let Some(caller) = self.accounts.iter().position(|account| account.key == key) else {
            let start: String = key.chars().take(8).collect();
            let message = format!("Invalid API Key provided: {start}****");
            return Err(ApiError::request(message).status(StatusCode::UNAUTHORIZED).early());
        };
        self.caller = caller;
        Ok(())
    }

    /// Lets the account that an object belongs to act.
    pub(super) fn act_for(&mut self, object: &str) {
        self.caller = self.owners.get(object).copied().unwrap_or_default();
    }

    pub(super) fn account(&self) -> Account {
        self.accounts.get(self.caller).cloned().unwrap_or_else(|| Account::new("", ""))
    }

    pub(super) fn livemode(&self) -> bool {
        self.account().livemode
    }

    /// Whether an object belongs to the account that calls.
    pub(super) fn sees(&self, object: &str) -> bool {
        self.owners.get(object) == Some(&self.caller)
    }

    /// Whether two objects belong to the same account.
    pub(super) fn is_same_account(&self, one: &str, other: &str) -> bool {
        self.owners.get(one) == self.owners.get(other)
    }

    /// The responses that are kept for the account that calls.
    pub(super) fn responses(&mut self) -> &mut Responses {
        self.responses.entry(self.caller).or_default()
    }
}
