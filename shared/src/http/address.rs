//! The client's address, as the rate limiter counts it (rules.md, "Client address"). And the edge in front of the API, with the
//! parameter Shop: what proves that a request came through it, and what may be called without it (rules.md, "The edge").

use ipnet::IpNet;
use lambda_http::http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use subtle::ConstantTimeEq as _;

/// The header in which proxies list the addresses that they forward for.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The proxies that may be in front of the API, and are trusted to name the address that they call for.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// Networks whose `X-Forwarded-For` is trusted (`TRUSTED_PROXIES`, CIDRs separated by commas).
    pub trusted: Vec<IpNet>,
    /// The secrets of the shop's edge (`ORIGIN_KEYS`); `None` without a shop.
    pub edge: Option<OriginKeys>,
}

/// The text under which a caller is counted: the address, or the /64 of an IPv6 address. `source_ip` is the address
/// that the gateway saw; the edge's word comes first. `X-Forwarded-For` applies only behind a trusted proxy, from right to
/// left.
pub fn counted_as(source_ip: &str, headers: &HeaderMap, proxies: &Proxies) -> String {
    let source = parse(source_ip);
    let viewer = proxies.edge.as_ref().and_then(|edge| edge.viewer(headers)).and_then(parse);
    // A byte that is not a letter spoils the entry that it is in, and no other.
    let values: Vec<_> =
        headers.get_all(FORWARDED_FOR).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let mut entries = values.iter().rev().flat_map(|value| value.rsplit(',')).map(parse).peekable();
    if let Some(viewer) = viewer {
        // The edge has added its viewer to the list, and the gateway the edge. Without the viewer in that place it is not
        // known what a caller has written: the list is not read.
        _ = entries.next_if(|entry| source.is_some() && *entry == source);
        if entries.next() != Some(Some(viewer)) {
            return group(viewer);
        }
    }
    let Some(mut last_known) = viewer.or(source) else { return "unknown".to_owned() };
    while proxies.trusted.iter().any(|network| network.contains(&last_known)) {
        match entries.next().flatten() {
            Some(address) => last_known = address,
            None => break,
        }
    }
    group(last_known)
}

/// Reads an address with or without brackets, port and zone.
fn parse(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        // One colon separates a port from an IPv4 address; several colons are an IPv6 address without brackets.
        None if text.matches(':').count() == 1 => text.split_once(':')?.0,
        None => text,
    };
    let bare = bare.split_once('%').map_or(bare, |(address, _zone)| address);
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn group(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// The network of a caller that is counted as `counted`: the /24 of an IPv4 address, the /48 of IPv6. One person can have all of
/// its addresses at no cost.
pub fn network_of(counted: &str) -> String {
    match counted.split('/').next().and_then(parse) {
        Some(IpAddr::V4(address)) => {
            let [a, b, c, _] = address.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        Some(IpAddr::V6(address)) => {
            let [a, b, c, ..] = address.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
        None => counted.to_owned(),
    }
}

/// The header with the secret. The edge overwrites what a caller sends in it.
const KEY: &str = "x-origin-key";
/// The header with the caller's address, as the edge saw it.
const VIEWER: &str = "x-viewer-address";
/// The shortest secret in bytes.
pub const SHORTEST: usize = 32;
/// The beginnings of the route keys that are served without the edge: those of the sweep, which no request has, of payment
/// providers, and of game servers.
const OPEN: [&str; 4] = ["SCHEDULE ", "POST /payments/webhook/", "GET /plugin/", "POST /plugin/"];

/// The secrets that the edge may send: the one that a deploy gives it, and while that is rotated, the one before.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginKeys {
    current: String,
    #[serde(default)]
    previous: Option<String>,
}

impl fmt::Debug for OriginKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginKeys").finish_non_exhaustive()
    }
}

impl OriginKeys {
    /// Reads `{"current":"…","previous":"…"}`; `previous` may be missing. `None` if the text is anything else, or a secret is
    /// shorter than [`SHORTEST`].
    pub fn parse(text: &str) -> Option<Self> {
        // The parser's error is left out: it may quote the text.
        let keys: Self = serde_json::from_str(text).ok()?;
        let are_long = keys.secrets().all(|secret| secret.len() >= SHORTEST);
        are_long.then_some(keys)
    }

    fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.current).chain(&self.previous).map(String::as_bytes)
    }

    /// Whether a request was sent by the edge.
    fn sent(&self, headers: &HeaderMap) -> bool {
        let key = headers.get(KEY).map(HeaderValue::as_bytes).unwrap_or_default();
        self.secrets().fold(false, |found, secret| found | bool::from(secret.ct_eq(key)))
    }

    /// Whether a request to an endpoint with these route keys may be served.
    pub fn admit(&self, routes: &[&str], headers: &HeaderMap) -> bool {
        routes.iter().all(|route| is_open(route)) || self.sent(headers)
    }

    /// The caller's address, if the edge says it.
    pub fn viewer<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        headers.get(VIEWER).filter(|_| self.sent(headers)).and_then(|value| value.to_str().ok())
    }
}

/// Whether a route is served without the edge.
pub fn is_open(route: &str) -> bool {
    OPEN.iter().any(|open| route.starts_with(open))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::http::HeaderValue;

    fn counted(source: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(value).unwrap());
        }
        let trusted = trusted.iter().map(|network| network.parse().unwrap()).collect();
        counted_as(source, &headers, &Proxies { trusted, edge: None })
    }

    /// As [`counted`], for a request that the shop's edge sent for a viewer.
    fn counted_by_edge(viewer: &str, forwarded: &str) -> String {
        let key = "0123456789abcdef0123456789abcdef";
        let headers = [("x-origin-key", key), ("x-viewer-address", viewer), (FORWARDED_FOR, forwarded)];
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()));
        let edge = OriginKeys::parse(&format!(r#"{{"current":"{key}"}}"#));
        let trusted = vec!["192.0.2.0/24".parse().unwrap(), "2001:db8:f::/48".parse().unwrap()];
        counted_as("198.51.100.1", &HeaderMap::from_iter(headers), &Proxies { trusted, edge })
    }

    #[test]
    fn without_a_trusted_proxy_the_forwarded_address_is_ignored() {
        assert_eq!(counted("198.51.100.7", &["203.0.113.9"], &[]), "198.51.100.7");
        assert_eq!(counted("198.51.100.7", &["203.0.113.9"], &["10.0.0.0/8"]), "198.51.100.7");
    }

    #[test]
    fn the_right_most_address_that_is_not_a_proxy_is_the_client() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(counted("10.0.0.1", &["1.1.1.1, 203.0.113.9, 10.0.0.2"], &trusted), "203.0.113.9");
        assert_eq!(counted("10.0.0.1", &["1.1.1.1", "203.0.113.9:443"], &trusted), "203.0.113.9");
        assert_eq!(counted("10.0.0.1", &["[2001:db8::1]:443"], &trusted), "2001:db8::/64");
    }

    #[test]
    fn behind_a_trusted_proxy_in_front_of_the_edge_the_client_is_the_one_that_the_proxy_names() {
        for forwarded in [
            "203.0.113.9, 192.0.2.7, 198.51.100.1",
            "203.0.113.9, 192.0.2.7",
            "1.1.1.1, 203.0.113.9, 192.0.2.8, 192.0.2.7, 198.51.100.1",
        ] {
            assert_eq!(counted_by_edge("192.0.2.7", forwarded), "203.0.113.9", "{forwarded}");
        }
        assert_eq!(counted_by_edge("2001:db8:f::1", "2001:db8:1::9, 2001:db8:f:0::1, 198.51.100.1"), "2001:db8:1::/64");
    }

    #[test]
    fn a_viewer_of_the_edge_that_is_not_a_trusted_proxy_or_not_in_its_place_is_the_client() {
        assert_eq!(counted_by_edge("203.0.113.66", "1.1.1.1, 203.0.113.66, 198.51.100.1"), "203.0.113.66");
        for forwarded in ["", "1.1.1.1", "1.1.1.1, 192.0.2.7, 203.0.113.66, 198.51.100.1", "who, 198.51.100.1"] {
            assert_eq!(counted_by_edge("192.0.2.7", forwarded), "192.0.2.7", "{forwarded}");
        }
        assert_eq!(counted_by_edge("192.0.2.7", "203.0.113.9, who, 192.0.2.7, 198.51.100.1"), "192.0.2.7");
    }

    #[test]
    fn an_entry_that_is_not_an_address_ends_the_search_at_the_last_known_address() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(counted("10.0.0.1", &[], &trusted), "10.0.0.1");
        assert_eq!(counted("10.0.0.1", &[""], &trusted), "10.0.0.1");
        assert_eq!(counted("10.0.0.1", &["203.0.113.9, who, 10.0.0.2"], &trusted), "10.0.0.2");
        assert_eq!(counted("10.0.0.1", &["10.0.0.3, 10.0.0.2"], &trusted), "10.0.0.3");
        assert_eq!(counted("10.0.0.1", &["é, 203.0.113.9, 10.0.0.2"], &trusted), "203.0.113.9");
    }

    #[test]
    fn ipv6_callers_share_their_64_and_mapped_addresses_are_ipv4() {
        assert_eq!(counted("2001:db8:1:2:3:4:5:6", &[], &[]), "2001:db8:1:2::/64");
        assert_eq!(counted("::ffff:198.51.100.7", &[], &[]), "198.51.100.7");
        assert_eq!(counted("::ffff:10.0.0.1", &["203.0.113.9"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(counted("fe80::1%eth0", &[], &[]), "fe80::/64");
        assert_eq!(counted("garbage", &[], &[]), "unknown");
    }

    #[test]
    fn a_network_is_a_24_or_a_48() {
        for (counted, network) in [
            ("198.51.100.7", "198.51.100.0/24"),
            ("2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("2001:db8:1:ffff::/64", "2001:db8:1::/48"),
            ("unknown", "unknown"),
        ] {
            assert_eq!(network_of(counted), network);
        }
    }

    const CURRENT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn secrets_are_read_and_never_printed() {
        let keys = OriginKeys::parse(&format!(r#"{{"current":"{CURRENT}","previous":"{CURRENT}2"}}"#)).unwrap();
        assert_eq!(keys.secrets().count(), 2);
        assert!(!format!("{keys:?}").contains("0123"));
    }

    #[test]
    fn a_text_without_a_usable_secret_is_refused() {
        let short = format!(r#"{{"current":"{CURRENT}","previous":""}}"#);
        let unknown = format!(r#"{{"current":"{CURRENT}","next":"{CURRENT}"}}"#);
        for text in ["", "{}", CURRENT, r#"{"current":"short"}"#, r#"{"current":1}"#, &short, &unknown] {
            assert_eq!(OriginKeys::parse(text), None, "{text}");
        }
    }
}
