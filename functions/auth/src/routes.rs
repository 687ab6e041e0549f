//! Which route leads to which endpoint; the keys stand in template.yaml in the same words.

/// An endpoint of this function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Chat,
    GetUser,
}

/// Route keys of the gateway.
pub const TABLE: &[(&str, Endpoint)] = &[("GET /auth/chat", Endpoint::Chat), ("POST /user", Endpoint::GetUser)];

impl Endpoint {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "auth/chat",
            Self::GetUser => "user",
        }
    }
}
