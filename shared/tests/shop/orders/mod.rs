//! Orders: what they take, what follows from them, and what is given back.

mod between;
mod ends;
mod faults;
mod gifts;
mod goals;
mod moves;
mod patrons;
mod property;
mod record;
mod statistics;
mod status;
