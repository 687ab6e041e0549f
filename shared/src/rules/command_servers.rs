//! The servers that a line is delivered to, and the number of commands that an order makes.

use crate::model::{CommandTemplate, Item, ItemType, Line, PublishedItem, ServerId, StoreDelivery};

/// The most commands of one order, on all servers and for all events together.
pub const MOST_COMMANDS: usize = 1_000;

/// The servers on which a command runs for a line of `item`, in ascending order, each once. An item of type CMD is delivered
/// to its servers, or to every server of the store if it names none; one of type CMD_SERVER to the one that the buyer
/// selected. `servers` of the command limits them further.
pub fn servers(
    template: &CommandTemplate,
    item: &Item,
    selected: Option<ServerId>,
    store: &StoreDelivery,
) -> Vec<ServerId> {
    let all = if item.servers.is_empty() { &store.servers } else { &item.servers };
    let mut servers: Vec<ServerId> = match item.kind {
        ItemType::Cmd => all.iter().map(|server| server.id).collect(),
        ItemType::CmdServer => selected.into_iter().collect(),
    };
    servers.retain(|server| template.servers.is_empty() || template.servers.contains(server));
    servers.sort_unstable();
    servers.dedup();
    servers
}

/// The commands of one line: those of its item, then those of every sale.
pub fn of_line<'a>(
    published: &'a PublishedItem,
    store: &'a StoreDelivery,
) -> impl Iterator<Item = &'a CommandTemplate> + use<'a> {
    published.delivery.commands.iter().chain(&store.commands)
}

/// The most units of a line with a command for each unit.
pub const MOST_PER_UNIT: u32 = 100;

/// Whether a line of an item runs a command for each of its units.
pub fn runs_per_unit(published: &PublishedItem, store: &StoreDelivery) -> bool {
    of_line(published, store).any(|template| template.per_unit)
}

/// How many commands a line makes: one on each server for each event, or for each unit. A server that the buyer has still
/// to select counts as one.
pub fn count(published: &PublishedItem, line: &Line, store: &StoreDelivery) -> usize {
    let item = &published.item;
    let units = usize::try_from(line.count).unwrap_or(usize::MAX);
    let of_one = |template: &CommandTemplate| {
        let servers = match (item.kind, line.server) {
            (ItemType::CmdServer, None) => 1,
            (_, selected) => servers(template, item, selected, store).len(),
        };
        servers.saturating_mul(if template.per_unit { units } else { 1 })
    };
    of_line(published, store).map(of_one).fold(0, usize::saturating_add)
}

/// Whether an order of these lines makes more than [`MOST_COMMANDS`].
pub fn are_too_many<'a>(lines: impl IntoIterator<Item = (&'a PublishedItem, &'a Line)>, store: &StoreDelivery) -> bool {
    let counts = lines.into_iter().map(|(published, line)| count(published, line, store));
    counts.fold(0, usize::saturating_add) > MOST_COMMANDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn store(servers: &[u64], commands: usize) -> StoreDelivery {
        let servers: Vec<Value> = servers.iter().map(|id| json!({ "id": id, "name": "S" })).collect();
        let commands: Vec<Value> = (0..commands).map(|_| json!({ "run": "say" })).collect();
        serde_json::from_value(json!({ "servers": servers, "commands": commands })).unwrap()
    }

    fn published(kind: &str, servers: &[u64], commands: usize) -> PublishedItem {
        let servers: Vec<Value> = servers.iter().map(|id| json!({ "id": id, "name": "S" })).collect();
        let commands: Vec<Value> = (0..commands).map(|_| json!({ "run": "say" })).collect();
        serde_json::from_value(json!({
            "item": {
                "id": 1, "name": "I", "price": 100, "active": true, "kind": kind, "servers": servers,
                "allow_select_server": kind == "CMD_SERVER",
            },
            "category": 1, "delivery": { "commands": commands },
        }))
        .unwrap()
    }

    fn line(server: Option<u64>) -> Line {
        let line = json!({ "id": 1, "item": 1, "count": 7, "server": server });
        serde_json::from_value(line).unwrap()
    }

    fn limited(servers: &[u64]) -> CommandTemplate {
        CommandTemplate { servers: servers.iter().copied().map(ServerId::new).collect(), ..CommandTemplate::default() }
    }

    #[test]
    fn an_item_without_servers_is_delivered_to_every_server_of_the_store() {
        let store = store(&[3, 1, 2], 0);
        let ids = |template: &CommandTemplate, item: &PublishedItem, selected: Option<u64>| -> Vec<u64> {
            let servers = servers(template, &item.item, selected.map(ServerId::new), &store);
            servers.into_iter().map(ServerId::get).collect()
        };
        let any = limited(&[]);
        assert_eq!(ids(&any, &published("CMD", &[], 1), None), [1, 2, 3]);
        assert_eq!(ids(&limited(&[3, 2, 9]), &published("CMD", &[], 1), None), [2, 3]);
        assert_eq!(ids(&any, &published("CMD", &[2], 1), Some(3)), [2], "a selection does not change where CMD goes");
        assert_eq!(ids(&any, &published("CMD_SERVER", &[1, 2], 1), Some(2)), [2]);
        assert_eq!(ids(&limited(&[1]), &published("CMD_SERVER", &[1, 2], 1), Some(2)), [0_u64; 0]);
        assert_eq!(ids(&any, &published("CMD_SERVER", &[1, 2], 1), None), [0_u64; 0]);
    }

    #[test]
    fn a_line_counts_every_command_on_every_server_and_not_its_units() {
        let store = store(&[1, 2, 3], 2);
        assert_eq!(count(&published("CMD", &[], 4), &line(None), &store), 18);
        assert_eq!(count(&published("CMD", &[1], 4), &line(None), &store), 6);
        assert_eq!(count(&published("CMD_SERVER", &[1, 2], 4), &line(Some(1)), &store), 6);
        assert_eq!(count(&published("CMD_SERVER", &[1, 2], 4), &line(None), &store), 6, "one is still selected");
    }

    #[test]
    fn a_command_for_each_unit_counts_so_often() {
        let mut item = published("CMD", &[1, 2], 2);
        item.delivery.commands[0].per_unit = true;
        assert_eq!(count(&item, &line(None), &store(&[1, 2], 0)), 2 * (7 + 1));
        assert!(runs_per_unit(&item, &store(&[1], 0)));
    }

    #[test]
    fn a_thousand_commands_are_not_too_many() {
        let (store, line) = (store(&[1], 0), line(None));
        let twenty = published("CMD", &[], 20);
        assert!(!are_too_many(vec![(&twenty, &line); 50], &store));
        assert!(are_too_many(vec![(&twenty, &line); 51], &store));
        assert!(!are_too_many([], &store));
    }

    proptest! {
        #[test]
        fn the_order_of_lines_does_not_matter(
            counts in prop::collection::vec((0_usize..30, 1_u64..5), 0..20),
            store_commands in 0_usize..5,
        ) {
            let store = store(&[1, 2, 3, 4], store_commands);
            let line = line(None);
            let servers = |most: u64| (1..=most).collect::<Vec<u64>>();
            let items: Vec<PublishedItem> =
                counts.iter().map(|(commands, most)| published("CMD", &servers(*most), *commands)).collect();
            let forward = are_too_many(items.iter().map(|item| (item, &line)), &store);
            prop_assert_eq!(forward, are_too_many(items.iter().rev().map(|item| (item, &line)), &store));
            let expected: usize = counts
                .iter()
                .map(|(commands, most)| (commands + store_commands) * usize::try_from(*most).unwrap())
                .sum();
            prop_assert_eq!(forward, expected > MOST_COMMANDS);
        }
    }
}
