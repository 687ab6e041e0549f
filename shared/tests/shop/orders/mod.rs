//! Orders: what they take, what follows from them, and what is given back.

mod ends;
mod faults;
mod goals;
mod moves;
mod record;
mod statistics;
mod status;
