//! Checkouts: from a cart to an order that is paid exactly once.

mod attempts;
mod coupons;
mod create;
mod disputes;
mod evidence;
mod failed_refunds;
mod faults;
mod flash;
mod gone;
mod methods;
mod open_limited;
mod races;
mod refunds;
mod refusals;
mod report;
mod sets;
mod settle;
mod subscription_faults;
mod subscription_model;
mod subscription_states;
mod subscriptions;
mod sweep;
mod taxes;
mod time_limits;
mod unusual_subscriptions;
mod upkeep;
