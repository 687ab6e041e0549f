//! Limits in time and place: how an owner writes them, what is published of them, and what is none.

use crate::support::{self, files_of_item};
use serde_json::json;
use shared::model::{Every, Item, ItemLimit, ServerId, WindowKind};

const SERVERS: &str = "time_zone: Europe/Berlin\nservers: [{id: 1, name: Hearth}, {id: 2, name: Moor}]\n";

fn item(written: &str) -> Item {
    support::compiled(&files_of_item(SERVERS, written)).items[0].item.clone()
}

#[test]
fn a_limit_stands_alone_or_in_a_list() {
    let weekly = ItemLimit { most: 1, per_user: true, every: Some(Every::Rolling(604_800)), server: None };
    assert_eq!(item("limit: {per_user: 1, every: 7 days}").limits, std::slice::from_ref(&weekly));
    let all = "select_server: true\nservers: [1, 2]\nlimit:\n  - {per_user: 1, every: 7 days}\n  - {total: 50, every: day}\n  - {total: 5, server: 2}\n  - {total: 9}";
    let item_of_all = item(all);
    let [first, daily, of_server] = item_of_all.limits.as_slice() else { panic!("{:?}", item_of_all.limits) };
    assert_eq!((first, item_of_all.global_limit), (&weekly, Some(9)));
    assert_eq!((of_server.most, of_server.server, &of_server.every), (5, Some(ServerId::new(2)), &None));
    let Some(Every::Window(window)) = &daily.every else { panic!("{daily:?}") };
    assert_eq!(window.kind, WindowKind::Day);
    // Twice a year for six years, whatever year it is; 28 March 2027, 01:00 UTC is among them until 2029.
    assert!((12..=13).contains(&window.offsets.len()), "{window:?}");
    assert!(window.offsets.iter().all(|(_, offset)| [3_600, 7_200].contains(offset)));
    let again: Item = serde_json::from_value(json!(item_of_all)).unwrap();
    assert_eq!(again, item_of_all);
    assert_eq!(item("limit: {per_user: 3}").user_limit, Some(3));
    for kind in ["hour", "day", "monday", "month"] {
        assert_eq!(item(&format!("limit: {{total: 5000, every: {kind}}}")).limits.len(), 1);
    }
}

#[test]
fn what_is_not_a_limit_is_a_fault_that_says_what_to_write() {
    let fault = |written: &str| {
        let found = support::found(&files_of_item(SERVERS, written)).0;
        found.trim_end().strip_prefix("categories/a.yaml, line 8, items[7].limit: ").unwrap_or(&found).to_owned()
    };
    for (written, expected) in [
        ("limit: {per_user: 0, every: day}", "must be at least 1; leave it out for no limit"),
        ("limit: {every: day}", "needs `per_user` or `total`, such as {per_user: 1, every: 7 days}"),
        ("limit: {per_user: 1, total: 1}", "has `per_user` and `total` at once: write a limit for each"),
        ("limit: {per_user: 101, every: day}", "is at most 100 for one user in a time"),
        (
            "limit: {total: 201, every: 7 days}",
            "is at most 200 in a time that ends now: write `every: day` or another window for more",
        ),
        (
            "limit: {total: 2, every: week}",
            "must be a duration such as `30 days`, `3 hours` or `90 seconds`; or one of `hour`, `day`, `monday` and `month`, which begin by the calendar",
        ),
        ("limit: {total: 2, server: 1}", "of a server is for an item with `select_server: true`"),
        ("limit: {total: 2, server: 3}\nselect_server: true\nservers: [1]", "the item has no server 3"),
        ("limit: {per_user: 2, server: 1}", "of one user counts for all servers: leave `server` out"),
        ("limit: {total: 2}\nglobal_limit: 3", "is the same as `global_limit`: write one of them"),
        ("limit: {per_user: 2}\nuser_limit: 3", "is the same as `user_limit`: write one of them"),
        ("limit: [{total: 2, every: day}, {total: 3, every: day}]", "has two limits alike: leave out the looser one"),
        ("limit: {per_user: 2}\nsubscription: true", "is not for a subscription, of which a player has one at a time"),
    ] {
        assert_eq!(fault(written), expected, "{written}");
    }
    let nine: Vec<String> = (1..=9).map(|days| format!("{{total: 1, every: {days} days}}")).collect();
    assert_eq!(fault(&format!("limit: [{}]", nine.join(", "))), "an item has at most 8 limits");
}
