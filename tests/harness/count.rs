//! The number of cases that a test tries.

/// The number that a variable of the environment sets, such as `PROPTEST_CASES`, for a longer run; else `usual`.
pub fn count(variable: &str, usual: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Whether every fault is tried at every call: with the environment variable `FAULTS=all`. Otherwise a part of them, which
/// changes from call to call, so that a run of all tests takes seconds.
pub fn with_all_faults() -> bool {
    std::env::var("FAULTS").is_ok_and(|value| value == "all")
}
