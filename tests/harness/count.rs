//! How many cases a test tries.

/// The number that a variable of the environment sets, such as `PROPTEST_CASES`, for a longer run; else `usual`.
pub fn count(variable: &str, usual: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
