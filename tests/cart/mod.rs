//! The cart function.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod accept_coupon;
mod add;
mod both_codes;
mod capture_referral;
mod change_price;
mod changes;
mod get;
mod get_gift;
mod get_promoted;
mod get_select_servers;
mod reload;
mod remove;
mod remove_coupon;
mod remove_giftcard;
mod remove_referral;
mod set_referral;
mod set_selected_server;
mod set_variable;
pub mod support;
mod unknown_codes;
mod writes;
