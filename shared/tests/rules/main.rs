//! The rules by themselves, for any store, cart, code, order and buyer.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod any;
mod checkout;
mod kept;
mod limits;
mod payment;
mod price_history;
mod prices;
mod sales;
mod sets;
