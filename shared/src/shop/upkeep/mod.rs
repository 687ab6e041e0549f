//! Work of the owner's tool alone: it reads the whole table, compares it with its orders, upgrades it, erases a user.

pub mod attention;
mod audit;
pub mod erase;
pub mod subscription_lists;
pub mod upgrade;
mod waiting;
mod whole_table;

pub use audit::{Audit, Difference, TableSums, repair, rewrite_donations};
pub use waiting::Waiting;
pub use whole_table::{Finished, audit, behind, credits, finish_statistics, repair_table};
