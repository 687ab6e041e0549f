//! Whether buyers are counted by the addresses of a proxy that is known. Then they share the limits of an address: the eleventh
//! checkout and the 21st login of all of them are refused.

use super::finding::Finding;
use crate::error::Failure;
use crate::target::Target;
use ipnet::IpNet;
use shared::table::bulk::each;
use shared::table::codec::{decode_live, key_of};
use shared::table::keys::prefix;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

const CHECK: &str = "client addresses";
/// How many addresses are looked at: those that were counted last, so that a proxy that is trusted now is soon forgotten.
const LOOKED_AT: usize = 10;
/// The networks of proxies that anybody can put in front of a site, as their operators publish them.
const KNOWN: [(&str, &[&str]); 4] = [
    (
        "Cloudflare",
        &[
            "173.245.48.0/20",
            "103.21.244.0/22",
            "103.22.200.0/22",
            "103.31.4.0/22",
            "141.101.64.0/18",
            "108.162.192.0/18",
            "190.93.240.0/20",
            "188.114.96.0/20",
            "197.234.240.0/22",
            "198.41.128.0/17",
            "162.158.0.0/15",
            "104.16.0.0/13",
            "104.24.0.0/14",
            "172.64.0.0/13",
            "131.0.72.0/22",
            "2400:cb00::/32",
            "2606:4700::/32",
            "2803:f800::/32",
            "2405:b500::/32",
            "2405:8100::/32",
            "2a06:98c0::/29",
            "2c0f:f248::/32",
        ],
    ),
    (
        "Fastly",
        &["23.235.32.0/20", "146.75.0.0/17", "151.101.0.0/16", "199.232.0.0/16", "2a04:4e40::/32", "2a04:4e42::/32"],
    ),
    ("Imperva", &["199.83.128.0/21", "198.143.32.0/19", "107.154.0.0/16", "45.60.0.0/16", "2a02:e980::/29"]),
    ("Sucuri", &["192.88.134.0/23", "185.93.228.0/22", "66.248.200.0/22", "208.109.0.0/22", "2a02:fe80::/29"]),
];

/// A row of a limit: until when it is kept, seconds since 1970 UTC.
#[derive(serde::Deserialize)]
struct Kept {
    #[serde(default)]
    expires_at: i64,
}

pub(super) async fn check(target: &Target) -> Option<Finding> {
    look(target).await.unwrap_or_else(|failure| Some(Finding::failed(CHECK, failure)))
}

async fn look(target: &Target) -> Result<Option<Finding>, Failure> {
    let mut counted: BTreeMap<String, i64> = BTreeMap::new();
    each(&target.db, prefix::RATE, |item| {
        let key = key_of(&item)?;
        let Kept { expires_at } = decode_live(&key, item)?;
        let address = key.pk.rsplit('#').next().unwrap_or_default();
        let last = counted.entry(address.to_owned()).or_default();
        *last = expires_at.max(*last);
        Ok::<(), Failure>(())
    })
    .await?;
    let mut newest: Vec<(i64, String)> = counted.into_iter().map(|(address, last)| (last, address)).collect();
    newest.sort_by(|one, other| other.cmp(one));
    newest.truncate(LOOKED_AT);
    let proxies: Vec<&str> = newest.iter().filter_map(|(_, address)| proxy_of(address)).collect();
    if proxies.len() * 2 <= newest.len() {
        return Ok(None);
    }
    let names: BTreeSet<&str> = proxies.iter().copied().collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let said = format!(
        "buyers come through {names}, and are counted by its addresses ({} of the last {}): all of them share the limits of one",
        proxies.len(),
        newest.len()
    );
    let next = "deploy with its networks in TrustedProxies: infra/docs/deployment.md, \"A proxy in front\"";
    Ok(Some(Finding::todo(CHECK, said, next)))
}

/// The operator of the proxy that an address, or a network such as `2001:db8::/64`, is of.
fn proxy_of(counted: &str) -> Option<&'static str> {
    let address: IpAddr = counted.split('/').next()?.parse().ok()?;
    let contains = |network: &&str| network.parse::<IpNet>().is_ok_and(|network| network.contains(&address));
    KNOWN.iter().find(|(_, networks)| networks.iter().any(contains)).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_of_known_proxies_are_networks_and_contain_their_addresses() {
        for (name, networks) in KNOWN {
            for network in networks {
                let address = network.parse::<IpNet>().unwrap_or_else(|_| panic!("{network}")).addr();
                assert_eq!(proxy_of(&address.to_string()), Some(name), "{network}");
            }
        }
        assert_eq!(proxy_of("2606:4700:10::/64"), Some("Cloudflare"));
        // Private relays of browsers are not proxies in front of a shop.
        for other in ["203.0.113.9", "104.28.0.1", "146.75.128.1", "2001:db8::/64", "unknown", ""] {
            assert_eq!(proxy_of(other), None, "{other}");
        }
    }
}
