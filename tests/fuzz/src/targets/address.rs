//! The address that a caller is counted for.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;
use shared::http::address::counted_as;
use std::net::IpAddr;

/// `X-Forwarded-For` and the addresses in it.
#[derive(Debug)]
pub struct ForwardedFor {
    trusted: Vec<IpNet>,
}

const ADDRESSES: &[&str] = &[
    "198.51.100.7",
    "203.0.113.9:443",
    "10.0.0.1",
    "10.255.0.2",
    "2001:db8:1:2::1",
    "[2001:db8:1:2::2]:443",
    "::ffff:198.51.100.7",
    "::ffff:10.0.0.1",
    "fe80::1%eth0",
    "fd00::1",
    "127.0.0.1",
    "unknown",
    "",
];

impl Target for ForwardedFor {
    const NAME: &'static str = "forwarded-for";
    /// The address that the gateway saw, and the values of the header.
    type Input = (String, Vec<String>);

    fn start() -> Result<Self, FuzzError> {
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().map_err(FuzzError::setup));
        Ok(Self { trusted: trusted.into_iter().collect::<Result<_, _>>()? })
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let address = |random: &mut Random| {
            let address = *random.pick(ADDRESSES);
            if random.one_in(3) { mutate::text(random, address) } else { address.to_owned() }
        };
        let header = |random: &mut Random| {
            let entries: Vec<String> = (0..random.below(5)).map(|_| address(random)).collect();
            entries.join(if random.one_in(2) { ", " } else { "," })
        };
        let source = address(random);
        (source, (0..random.below(3)).map(|_| header(random)).collect())
    }

    fn check(&mut self, (source, values): &Self::Input) -> Result<Outcome, String> {
        let values = values.iter().filter_map(|value| HeaderValue::from_str(value).ok());
        let headers: HeaderMap =
            values.map(|value| (http::HeaderName::from_static("x-forwarded-for"), value)).collect();
        let direct = counted_as(source, &HeaderMap::new(), &[]);
        let believed = counted_as(source, &headers, &[]);
        rule(direct == believed, || format!("{direct} without a trusted proxy, {believed} by its own words"))?;
        let behind = counted_as(source, &headers, &self.trusted);
        for counted in [&direct, &behind] {
            rule(is_canonical(counted), || format!("counted for {counted:?}"))?;
            let again = counted_as(counted.trim_end_matches("/64"), &HeaderMap::new(), &[]);
            rule(again == *counted, || format!("{counted} is counted for {again}"))?;
        }
        let is_proxy = |text: &str| {
            let address = text.trim_end_matches("/64").parse::<IpAddr>();
            address.is_ok_and(|address| self.trusted.iter().any(|network| network.contains(&address)))
        };
        rule(behind == direct || is_proxy(&direct), || format!("{direct} is not a proxy, and counts for {behind}"))?;
        Ok(if behind == direct { Outcome::Refused } else { Outcome::Accepted })
    }
}

/// Whether a text is one that counters are named by: no two for the same caller.
fn is_canonical(text: &str) -> bool {
    match text.strip_suffix("/64") {
        Some(network) => network.parse().is_ok_and(|address: std::net::Ipv6Addr| {
            address.segments()[4..] == [0; 4] && address.to_ipv4_mapped().is_none() && address.to_string() == network
        }),
        None => text == "unknown" || text.parse().is_ok_and(|address: std::net::Ipv4Addr| address.to_string() == text),
    }
}
