//! Which route leads to which endpoint; the keys stand in template.yaml in the same words.

/// An endpoint of this function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    ListCategories,
    GetCategory,
    GetFeaturedDeals,
}

/// The route of a category's detail.
pub const GET_CATEGORY: &str = "/categories/get/{url+}";

/// Route keys of the gateway. Real clients send POST to the category list (ruling 7).
pub const TABLE: &[(&str, Endpoint)] = &[
    ("GET /categories/get", Endpoint::ListCategories),
    ("POST /categories/get", Endpoint::ListCategories),
    ("POST /categories/get/{url+}", Endpoint::GetCategory),
    ("POST /items/getFeaturedDeals", Endpoint::GetFeaturedDeals),
];

impl Endpoint {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ListCategories => "categories/get",
            Self::GetCategory => "categories/get/{url}",
            Self::GetFeaturedDeals => "items/getFeaturedDeals",
        }
    }
}
