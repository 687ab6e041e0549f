//! Whether the table is there and shaped as the template says, how its clock goes, and who may call the API.

use super::{Finding, Found};
use crate::deployment::definition;
use crate::prelude::*;
use aws_sdk_dynamodb::types::{TableDescription, TableStatus, TimeToLiveStatus};
use ipnet::IpNet;
use shared::table::bulk;
use shared::table::bulk::each;
use shared::table::codec::{decode_live, key_of};
use shared::table::keys::prefix;
use shared::token::LEEWAY;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub async fn shape(at: &Deployment) -> Found {
    let described = bulk::describe(&at.db).await?;
    let Some(table) = described else { return Ok(Finding::bad("it is not described", "look in the console")) };
    match table.table_status() {
        None | Some(TableStatus::Active | TableStatus::Updating) => {}
        Some(other) => return Ok(Finding::bad(format!("it is {other}"), "wait until it is ACTIVE")),
    }
    Ok(match differs(&table)? {
        Some(said) => Finding::bad(said, "this is another table, or one of another template"),
        None => Finding::ok(format!("{} is there, shaped as the template says", at.name)),
    })
}

fn differs(table: &TableDescription) -> Result<Option<String>> {
    let definition = definition()?;
    let keys = |pairs: &mut dyn Iterator<Item = (String, String)>| {
        let mut pairs: Vec<(String, String)> = pairs.collect();
        pairs.sort();
        pairs
    };
    let found =
        keys(&mut table.key_schema().iter().map(|key| (key.attribute_name().to_owned(), key.key_type().to_string())));
    let wanted = keys(&mut definition.key_schema.iter().map(|(name, kind)| (name.clone(), kind.as_str().to_owned())));
    let types = table.attribute_definitions().iter();
    let types = keys(&mut types.map(|it| (it.attribute_name().to_owned(), it.attribute_type().to_string())));
    let meant = keys(&mut definition.attributes.iter().map(|(name, kind)| (name.clone(), kind.as_str().to_owned())));
    let said = |what: &str, found: &[(String, String)], wanted: &[(String, String)]| {
        let list = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, kind)| format!("{name} {kind}")).collect::<Vec<_>>().join(", ")
        };
        Some(format!("its {what} are {}, not {}", list(found), list(wanted)))
    };
    if found != wanted {
        return Ok(said("keys", &found, &wanted));
    }
    Ok(if types == meant { None } else { said("key types", &types, &meant) })
}

/// Whether expired items go by themselves.
pub async fn ttl(at: &Deployment) -> Found {
    let fix = "deploy the stack again, or switch it on for the attribute expires_at";
    let wanted = definition()?.ttl_attribute;
    let found = bulk::time_to_live(&at.db).await?;
    let status = found.as_ref().and_then(|found| found.time_to_live_status());
    let on = matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    let attribute = found.as_ref().and_then(|found| found.attribute_name()).map(str::to_owned);
    Ok(match (on, attribute == wanted) {
        (true, true) => Finding::ok(format!("on for {}", wanted.unwrap_or_default())),
        (true, false) => Finding::bad("on for another attribute", fix),
        (false, _) => Finding::bad("off, so that counters of addresses stay for ever", fix),
    })
}

/// How far this machine's clock is from the database's. Accounts, tokens and revocations are dated by the database's;
/// orders and the times of codes by this machine's. What a token's validity forgives is forgiven (rules.md, "Tokens").
pub async fn clock(at: &Deployment) -> Found {
    if at.is_local {
        return Ok(Finding::ok(format!("it is {} in the local store", Time(at.clock.seconds()))));
    }
    let (theirs, ours) = (bulk::seconds(&at.db).await?, at.clock.seconds());
    Ok(match theirs.map(|theirs| ours - theirs) {
        None => Finding::ok("this database does not say what time it is"),
        Some(skew) if skew.abs() <= LEEWAY => Finding::ok(format!("{} s off, {LEEWAY} s are forgiven", skew.abs())),
        Some(skew) => {
            let way = if skew > 0 { "ahead of" } else { "behind" };
            let said = format!("{} s {way} the database's", skew.abs());
            Finding::bad(said, "set this machine's clock (NTP): orders and codes are dated by it")
        }
    })
}

/// Whether the storefronts' origins are let in: compares the deployed stack's origins with those that must be.
pub fn clients(at: &Deployment, wanted: &[String]) -> Finding {
    let Some(stack) = &at.stack else {
        return Finding::note("not known without the deployed stack", "name it with --stack to have them checked");
    };
    let fix = "deploy with AllowedOrigins=https://your.shop (comma-separated, no trailing slash)";
    if let Some(wrong) = wanted.iter().chain(&stack.origins).find(|origin| !is_origin(origin)) {
        return Finding::bad(format!("{wrong:?} is not an origin: write only scheme, host and port"), fix);
    }
    let any = stack.origins.iter().any(|origin| origin == "*");
    match wanted.iter().find(|origin| !any && !stack.origins.contains(origin)) {
        Some(missing) => Finding::bad(format!("{missing} is not let in"), fix),
        None if any => Finding::note(format!("any page may call {}", stack.api_url), fix),
        None => Finding::ok(format!("{} is open to {}", stack.api_url, stack.origins.join(", "))),
    }
}

/// `*`, or what a browser sends as `Origin`: no path, no trailing slash.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    text == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']))
}

/// How many addresses are looked at: those that were counted last, so that a proxy that is trusted now is soon forgotten.
const LOOKED_AT: usize = 10;

/// The networks of proxies that anyone can put in front of a site, as their operators publish them.
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

/// Whether buyers are counted by the addresses of a proxy that is known. Then they share the limits of an address: the eleventh
/// checkout and the 21st login of all of them are refused.
pub async fn proxies(at: &Deployment) -> Result<Option<Finding>> {
    let mut counted: BTreeMap<String, i64> = BTreeMap::new();
    each(&at.db, prefix::RATE, |item| {
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
    Ok(Some(Finding::todo(said, next)))
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
    fn an_origin_is_what_a_browser_sends() {
        for text in ["*", "https://shop.example", "http://localhost:3000"] {
            assert!(is_origin(text), "{text}");
        }
        for text in ["", "shop.example", "https://shop.example/", "https://", "https://a@b"] {
            assert!(!is_origin(text), "{text}");
        }
    }

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
