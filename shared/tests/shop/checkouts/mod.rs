//! Checkouts: from a cart to an order that is paid exactly once.

mod attempts;
mod create;
mod disputes;
mod ends;
mod extended;
mod failed_refunds;
mod faults;
mod flash;
mod gone;
mod ladders;
mod line_refunds;
mod moved_subscriptions;
mod open_limited;
mod races;
mod refunds;
mod refusals;
mod reviews;
mod settle;
mod status;
mod subscription_faults;
mod subscription_model;
mod subscription_states;
mod subscriptions;
mod sweep;
mod unusual_subscriptions;
mod upkeep;
