//! The project's own template, as the local server reads it with given parameters. Its routes are checked by
//! tests/coverage.rs, and what SAM makes of it by `.ci/template/check.py`.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::path::Path;

use template::{Cors, Template};

fn with(name: &str, value: &str) -> Template {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    Template::read(&path, &[(name.to_owned(), value.to_owned())].into()).unwrap()
}

#[test]
fn named_origins_may_call_with_credentials_and_all_else_stays() {
    let any = with("AllowedOrigins", "*").cors().unwrap().unwrap();
    assert_eq!((any.allow_origins.as_slice(), any.allow_credentials), (["*".to_owned()].as_slice(), false));
    let named = with("AllowedOrigins", "https://store.example.com,http://localhost:3000").cors().unwrap().unwrap();
    let allow_origins = vec!["https://store.example.com".to_owned(), "http://localhost:3000".to_owned()];
    assert_eq!(named, Cors { allow_origins, allow_credentials: true, ..any });
}

#[test]
fn the_environment_has_the_given_parameters_and_the_tables_name() {
    let own = with("TrustedProxies", "192.0.2.0/24");
    assert_eq!(own.environment("payments").unwrap()["TRUSTED_PROXIES"], "192.0.2.0/24");
    assert_eq!(own.environment("cart").unwrap()["TRUSTED_PROXIES"], "192.0.2.0/24");
    assert_eq!(own.environment("content").unwrap().get("TRUSTED_PROXIES"), None);
    assert_eq!(own.environment("cart").unwrap()["TABLE_NAME"], own.table().unwrap().logical_id);
    let existing = with("ExistingTable", "arn:aws:dynamodb:eu-central-1:123456789012:table/restored.2");
    assert_eq!(existing.environment("cart").unwrap()["TABLE_NAME"], "restored.2");
    assert!(existing.table().is_err());
}
