//! Pure decisions. Nothing here knows the table, HTTP, tokio or the time: the caller passes what was read and, if it
//! matters, the current second.

pub mod add_line;
pub mod cart;
pub mod checkout;
pub mod code;
pub mod colours;
pub mod command_servers;
pub mod command_text;
pub mod daily;
pub mod delivery;
pub mod delivery_times;
pub mod dispute;
pub mod erase;
pub mod first_day;
pub mod game_login;
pub mod goals;
pub mod limits;
pub mod notice;
pub mod order;
pub mod ownership;
pub mod patrons;
pub mod payment;
pub mod payment_methods;
pub mod price_history;
pub mod pricing;
pub mod referral;
pub mod refund;
pub mod report;
pub mod sending;
pub mod sets;
pub mod statistics;
pub mod subscription;
pub mod variable;
