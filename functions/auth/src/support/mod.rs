//! Helpers of several endpoints of this function.

pub mod game_login;
