//! Which route leads to which endpoint; the keys stand in template.yaml in the same words.

/// An endpoint of this function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    GetPage,
    ListStaff,
    GetSettings,
    ListPatrons,
}

/// Route keys of the gateway.
pub const TABLE: &[(&str, Endpoint)] = &[
    ("POST /pages/get", Endpoint::GetPage),
    ("GET /staff", Endpoint::ListStaff),
    ("GET /settings/get", Endpoint::GetSettings),
    ("GET /patrons/get", Endpoint::ListPatrons),
];

impl Endpoint {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GetPage => "pages/get",
            Self::ListStaff => "staff",
            Self::GetSettings => "settings/get",
            Self::ListPatrons => "patrons/get",
        }
    }
}
