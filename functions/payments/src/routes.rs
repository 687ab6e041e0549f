//! Which route leads to which endpoint; the keys stand in template.yaml in the same words.

/// An endpoint of this function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    CheckStatus,
}

/// Route keys of the gateway.
pub const TABLE: &[(&str, Endpoint)] = &[("POST /payments/checkStatus", Endpoint::CheckStatus)];

impl Endpoint {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CheckStatus => "payments/checkStatus",
        }
    }
}
