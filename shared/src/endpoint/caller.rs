//! Access to an endpoint, and the caller as its handler receives it.

use crate::base::Base;
use crate::http::bearer::Bearer;
use crate::shop::accounts::users;
use crate::table::StoreError;
use crate::token::Claim;
use std::future::Future;

/// The access to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone. A token is ignored.
    Ignored,
    /// Anyone. A token that is not valid counts as none.
    Optional,
    /// Callers with a valid token.
    Required,
    /// Callers with a valid token, and callers without one if the store has guest mode on.
    RequiredOrGuest,
}

/// The caller of a request, as its handler receives it. Only the token's signature, issuer and expiry are checked here.
/// The handler reads the account together with its other data, and [`users::admit`] checks whether the account still
/// accepts the token.
pub trait Caller: Sized + Send {
    const ACCESS: Access;

    /// The caller of a request; `None` if they may not call. `bearer` reads and verifies the token.
    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self>;

    /// Whether the caller may learn what is wrong with their body: only after full authentication.
    fn may_call(&self, base: &Base, checks_account: bool) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

impl Caller for () {
    const ACCESS: Access = Access::Ignored;

    fn of(_: impl FnOnce() -> Bearer) -> Option<Self> {
        Some(())
    }

    async fn may_call(&self, _: &Base, _: bool) -> Result<bool, StoreError> {
        Ok(true)
    }
}

impl Caller for Option<Claim> {
    const ACCESS: Access = Access::Optional;

    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self> {
        Some(bearer().claim())
    }

    async fn may_call(&self, _: &Base, _: bool) -> Result<bool, StoreError> {
        Ok(true)
    }
}

impl Caller for Claim {
    const ACCESS: Access = Access::Required;

    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self> {
        bearer().claim()
    }

    async fn may_call(&self, base: &Base, checks_account: bool) -> Result<bool, StoreError> {
        if checks_account { users::is_admitted(&base.db, *self).await } else { Ok(true) }
    }
}

/// A caller with a token, or without one if the store may have guest mode on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visitor {
    /// No token. The handler refuses the caller unless guest mode is on, see
    /// [`crate::table::published::Published::at_current_for_guest`].
    Guest,
    User(Claim),
}

impl Caller for Visitor {
    const ACCESS: Access = Access::RequiredOrGuest;

    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self> {
        match bearer() {
            Bearer::Absent => Some(Self::Guest),
            Bearer::Invalid => None,
            Bearer::Verified(claim) => Some(Self::User(claim)),
        }
    }

    async fn may_call(&self, base: &Base, checks_account: bool) -> Result<bool, StoreError> {
        match self {
            Self::Guest => Ok(base.published.active_version().await?.config.guest_mode_enabled),
            Self::User(claim) => claim.may_call(base, checks_account).await,
        }
    }
}
