//! What the project's own template says, read as the local server reads it.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use template::{AttributeType, KeyType, Template, TemplateError};

fn read(overrides: &[(&str, &str)]) -> Result<Template, TemplateError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    let overrides = overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Template::read(&path, &overrides)
}

fn with(overrides: &[(&str, &str)]) -> Template {
    read(overrides).unwrap()
}

#[test]
fn there_are_seventeen_routes_each_with_its_function() {
    let routes: BTreeSet<(String, String)> =
        with(&[]).routes().unwrap().into_iter().map(|route| (route.key(), route.function)).collect();
    let expected = [
        ("GET /auth/chat", "auth"),
        ("GET /categories/get", "catalog"),
        ("GET /patrons/get", "content"),
        ("GET /settings/get", "content"),
        ("GET /staff", "content"),
        ("POST /cart/acceptCoupon", "cart"),
        ("POST /cart/get", "cart"),
        ("POST /cart/getPromoted", "cart"),
        ("POST /cart/getSelectServers", "cart"),
        ("POST /cart/removeReferral", "cart"),
        ("POST /cart/setReferral", "cart"),
        ("POST /categories/get", "catalog"),
        ("POST /categories/get/{url+}", "catalog"),
        ("POST /items/getFeaturedDeals", "catalog"),
        ("POST /pages/get", "content"),
        ("POST /payments/checkStatus", "payments"),
        ("POST /user", "auth"),
    ];
    assert_eq!(routes.len(), 17);
    assert_eq!(routes, expected.iter().map(|(key, function)| ((*key).to_owned(), (*function).to_owned())).collect());
}

#[test]
fn there_are_five_functions() {
    assert_eq!(with(&[]).functions().unwrap(), ["catalog", "cart", "payments", "content", "auth"]);
}

#[test]
fn every_origin_may_call_without_credentials_by_default() {
    let cors = with(&[]).cors().unwrap().unwrap();
    assert_eq!(cors.allow_origins, ["*"]);
    assert!(!cors.allow_credentials);
    assert_eq!(cors.allow_methods, ["GET", "POST"]);
    assert_eq!(
        cors.allow_headers,
        ["authorization", "content-type", "cache-control", "pragma", "expires", "if-none-match"]
    );
    assert_eq!(
        cors.expose_headers,
        ["etag", "retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]
    );
    assert_eq!(cors.max_age, Some(86_400));
}

#[test]
fn named_origins_may_call_with_credentials_and_all_else_stays() {
    let any = with(&[]).cors().unwrap().unwrap();
    let origins = "https://store.example.com,http://localhost:3000";
    let named = with(&[("AllowedOrigins", origins)]).cors().unwrap().unwrap();
    assert_eq!(
        named,
        template::Cors {
            allow_origins: vec!["https://store.example.com".to_owned(), "http://localhost:3000".to_owned()],
            allow_credentials: true,
            ..any
        }
    );
}

#[test]
fn the_star_beside_named_origins_is_refused_by_name() {
    let error = read(&[("AllowedOrigins", "*,https://store.example.com")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter AllowedOrigins is \"*,https://store.example.com\", which is not allowed: it must be either * alone or \
         origins like https://store.example.com (lower case, no path), joined by commas"
    );
}

#[test]
fn the_table_has_a_partition_and_a_sort_key_and_lets_items_expire() {
    let table = with(&[]).table().unwrap();
    assert_eq!(table.logical_id, "StoreTable");
    assert_eq!(table.attributes, [("pk".to_owned(), AttributeType::Text), ("sk".to_owned(), AttributeType::Text)]);
    assert_eq!(table.key_schema, [("pk".to_owned(), KeyType::Hash), ("sk".to_owned(), KeyType::Range)]);
    assert_eq!(table.ttl_attribute.as_deref(), Some("expires_at"));
}

#[test]
fn every_function_gets_the_common_environment() {
    let template = with(&[("CacheSeconds", "0"), ("LogLevel", "warn")]);
    let common: BTreeMap<String, String> = [
        ("STACK_NAME", "local"),
        ("TABLE_NAME", "StoreTable"),
        ("CACHE_SECONDS", "0"),
        ("LOG_LEVEL", "warn"),
        ("TOKEN_KEYS", "{{resolve:secretsmanager:TokenKeys:SecretString}}"),
        ("KEY_REVISION", "1"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    for function in ["catalog", "cart", "content", "auth"] {
        assert_eq!(template.environment(function).unwrap(), common, "{function}");
    }
}

#[test]
fn an_existing_table_is_used_by_its_name_and_leaves_no_other() {
    let existing = with(&[("ExistingTable", "arn:aws:dynamodb:eu-central-1:123456789012:table/restored.2")]);
    assert_eq!(existing.environment("cart").unwrap()["TABLE_NAME"], "restored.2");
    assert!(existing.table().is_err());
}

#[test]
fn payments_alone_is_told_of_trusted_proxies() {
    let template = with(&[("TrustedProxies", "192.0.2.0/24,2001:db8::/32")]);
    let payments = template.environment("payments").unwrap();
    assert_eq!(payments["TRUSTED_PROXIES"], "192.0.2.0/24,2001:db8::/32");
    assert_eq!(payments["TABLE_NAME"], "StoreTable");
    let none = with(&[]).environment("payments").unwrap();
    assert_eq!(none["TRUSTED_PROXIES"], "");
}

#[test]
fn values_against_the_rules_are_refused_with_the_parameters_name() {
    let refused = [
        ("Architecture", "mips"),
        ("MemorySize", "300"),
        ("CacheSeconds", "61"),
        ("CacheSeconds", "-1"),
        ("CacheSeconds", "soon"),
        ("ThrottleRate", "0"),
        ("ThrottleBurst", "5001"),
        ("LogLevel", "INFO"),
        ("LogLevel", "debug"),
        ("LogRetentionDays", "2"),
        ("DeletionProtection", "yes"),
        ("KeyRevision", "a b"),
        ("AllowedOrigins", ""),
        ("AllowedOrigins", "https://store.example.com/"),
        ("AllowedOrigins", "store.example.com"),
        ("TrustedProxies", "192.0.2.1"),
        ("TrustedProxies", "256.0.2.0/24"),
        ("TrustedProxies", "0.0.0.0/0"),
        ("TrustedProxies", "192.0.2.0/24,"),
        ("Tracing", "PassThrough"),
        ("Monitoring", "yes"),
        ("AlarmEmail", "night"),
        ("SlowMilliseconds", "0"),
        ("ConcurrencyLimit", "9"),
        ("ExistingTable", "restored"),
        ("DomainName", "https://api.example.com"),
        ("CertificateArn", "none"),
        ("NoSuchParameter", "1"),
    ];
    for (name, value) in refused {
        let error = read(&[(name, value)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("parameter {name} ")), "{value}: {error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Template::read(Path::new("/no/such/template.yaml"), &BTreeMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "/no/such/template.yaml cannot be read");
    assert!(std::error::Error::source(&error).is_some());
}
