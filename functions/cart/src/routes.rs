//! Which route leads to which endpoint; the keys stand in template.yaml in the same words.

/// An endpoint of this function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Get,
    AcceptCoupon,
    SetReferral,
    RemoveReferral,
    GetPromoted,
    GetSelectServers,
}

/// Route keys of the gateway.
pub const TABLE: &[(&str, Endpoint)] = &[
    ("POST /cart/get", Endpoint::Get),
    ("POST /cart/acceptCoupon", Endpoint::AcceptCoupon),
    ("POST /cart/setReferral", Endpoint::SetReferral),
    ("POST /cart/removeReferral", Endpoint::RemoveReferral),
    ("POST /cart/getPromoted", Endpoint::GetPromoted),
    ("POST /cart/getSelectServers", Endpoint::GetSelectServers),
];

impl Endpoint {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "cart/get",
            Self::AcceptCoupon => "cart/acceptCoupon",
            Self::SetReferral => "cart/setReferral",
            Self::RemoveReferral => "cart/removeReferral",
            Self::GetPromoted => "cart/getPromoted",
            Self::GetSelectServers => "cart/getSelectServers",
        }
    }
}
