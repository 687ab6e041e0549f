//! The sender of notices against receivers that fail in every way, killed at any moment, and twice at once.

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::config::{NoticeAddress, NoticeKeys, SigningKey};
use shared::model::{About, Notice, NoticeEvent, NoticeTarget, TargetKind};
use shared::notify::{READ, Targets};
use shared::shop::notices::{self, Sent, listed, put, resend, waiting};
use shared::table::codec::{Item, encode_live};
use shared::table::transaction::sent;
use shared::table::{Db, StoreError, connector, keys};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tests::receiver::{Arrived, Receiver, Reply};
use tests::{TestClock, TestTable, count};

struct World {
    table: TestTable,
    clock: TestClock,
    receiver: Receiver,
    targets: Vec<NoticeTarget>,
    /// How long a call may take.
    call: Duration,
}

fn sold_out(id: usize, at: i64) -> Notice {
    let about = About::Item { id: 1, name: format!("Crate n{id}.") };
    Notice::new(NoticeEvent::SoldOut, format!("sold_out-{id}"), at, about)
}

fn key() -> SigningKey {
    SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
}

/// The ways to answer, by the path.
fn by_path(arrived: &Arrived, _: usize) -> Option<Reply> {
    let reply = |status, headers| Some((status, headers, "no luck".to_owned()));
    match arrived.path.as_str() {
        "/never" => None,
        "/broken" => reply(500, ""),
        "/huge" => Some((200, "", "a".repeat(10_000_000))),
        "/redirect" => reply(302, "location: http://127.0.0.1:1/\r\n"),
        "/busy" => reply(429, "retry-after: 900\r\n"),
        "/blocked" => reply(429, ""),
        "/strict" => reply(400, ""),
        "/cut" => Some((200, "content-length: 99\r\n", String::new())),
        path if path.starts_with("/api/webhooks/") => reply(200, ""),
        _ => reply(204, ""),
    }
}

impl World {
    async fn open(names: &[&str], rule: impl Fn(&Arrived, usize) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let kind = |name: &str| if name.starts_with("api/") { TargetKind::Discord } else { TargetKind::Webhook };
        let targets = names.iter().map(|name| NoticeTarget::new(name, kind(name), &[NoticeEvent::SoldOut])).collect();
        let (table, receiver) = (TestTable::empty().await, Receiver::start(rule).await);
        Self { table, clock: TestClock::new(), receiver, targets, call: Duration::from_millis(400) }
    }

    /// Every target is connected to the path of its name, but the one that is not.
    fn connected(&self) -> Targets {
        let address = |target: &NoticeTarget| {
            let keys = if target.kind == TargetKind::Discord { Vec::new() } else { vec![key()] };
            (target.name.clone(), NoticeAddress { url: format!("{}/{}", self.receiver.url, target.name), keys })
        };
        let all = self.targets.iter().filter(|target| target.name != "unconnected").map(address);
        let client = outgoing::public::PublicClient::new(connector::roots(), self.call, READ).with_this_machine(true);
        let targets = Targets::new(NoticeKeys(all.collect()), client, Arc::new(self.clock.clone()));
        targets.with_pace(Duration::from_millis(2))
    }

    async fn happen(&self, ids: impl IntoIterator<Item = usize>) {
        for id in ids {
            let Notice { id, event, at, about, .. } = sold_out(id, self.clock.seconds());
            sent(&self.table.db, vec![put(event, id, at, about).unwrap()]).await.unwrap();
        }
    }

    async fn run_on(&self, db: &Db) -> Result<Sent, StoreError> {
        notices::run(db, &self.clock, &self.connected(), &self.targets, Duration::from_secs(40)).await
    }

    async fn run(&self) -> Sent {
        self.run_on(&self.table.db).await.unwrap()
    }

    async fn rows(&self) -> Vec<Item> {
        self.table.items("NOTICES").await
    }

    /// The ids of the notices in a state.
    async fn ids(&self, state: &str) -> Vec<String> {
        let keys = self.rows().await;
        let keys = keys.iter().map(|item| item["sk"].as_s().unwrap().clone());
        keys.filter_map(|key| Some(key.strip_prefix(state)?.split_once('#')?.1.to_owned())).collect()
    }

    fn seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

fn ids_of(arrived: &[Arrived]) -> Vec<String> {
    arrived.iter().map(|one| one.header("webhook-id").to_owned()).collect()
}

#[tokio::test]
async fn a_receiver_that_fails_in_any_way_delays_no_other_and_is_tried_again() {
    for (name, expected) in [
        ("never", Some((60, "no response"))),
        ("broken", Some((60, "HTTP 500: no luck"))),
        ("redirect", Some((60, "not followed"))),
        ("busy", Some((900, ""))),
        ("blocked", Some((3_600, ""))),
        ("strict", Some((60, "refused: HTTP 400"))),
        ("unconnected", Some((60, "not connected: `storectl notify connect unconnected`"))),
        // They said that they have it; how the answer goes on is their own affair.
        ("huge", None),
        ("cut", None),
    ] {
        let mut world = World::open(&[name, "good"], by_path).await;
        // Long enough for those that answer, whatever else the machine does.
        world.call = Duration::from_secs(2);
        world.happen(0..12).await;
        let began = Instant::now();
        world.run().await;
        assert!(began.elapsed() < Duration::from_secs(15), "{name}: {:?}", began.elapsed());
        let good: BTreeSet<String> = ids_of(&world.receiver.at("/good")).into_iter().collect();
        assert_eq!(good.len(), 12, "{name}");
        let Some((expected, words)) = expected else {
            assert_eq!(world.ids("SENT#").await.len(), 12, "{name}");
            continue;
        };
        let rows = listed(&world.table.db).await.unwrap();
        assert_eq!(rows.len(), 12, "{name}");
        for row in &rows {
            let sending = &row.notice.targets[name];
            let wait = sending.again_at.unwrap() - world.clock.seconds();
            assert!(wait == expected && sending.answer.contains(words), "{name}: {sending:?}");
        }
        // After some that failed the rest is not tried. What refuses a message may take another one.
        let tried = world.receiver.at(&format!("/{name}")).len();
        assert!(if name == "strict" { tried == 12 } else { tried <= 10 }, "{name}: {tried}");
    }
}

#[tokio::test]
async fn a_message_is_signed_by_both_keys_and_has_the_form_of_its_version() {
    let world = World::open(&["good"], by_path).await;
    world.happen([7]).await;
    world.run().await;
    let one = world.receiver.arrived().remove(0);
    assert_eq!(one.header("webhook-id"), "sold_out-7");
    let seconds: i64 = one.header("webhook-timestamp").parse().unwrap();
    assert_eq!(one.header("webhook-signature"), key().sign("sold_out-7", seconds, &one.body));
    let expected = json!({ "version": 1, "type": "sold_out", "timestamp": "2026-06-15T12:00:00Z",
                           "data": { "item": 1, "name": "Crate n7." } });
    assert_eq!((one.json(), one.header("content-type")), (expected, "application/json"));
}

#[tokio::test]
async fn a_notice_is_tried_for_a_day_then_waits_and_is_sent_when_the_owner_says_so() {
    let works = Arc::new(AtomicBool::new(false));
    let is_working = Arc::clone(&works);
    let rule =
        move |_: &Arrived, _| Some((if is_working.load(Ordering::SeqCst) { 200 } else { 503 }, "", String::new()));
    let world = World::open(&["own"], rule).await;
    world.happen([1]).await;
    let mut minutes = 0;
    while waiting(&world.table.db, 1).await.unwrap().is_empty() {
        world.run().await;
        world.seconds(60);
        minutes += 1;
        assert!(minutes < 25 * 60);
    }
    assert_eq!(world.receiver.arrived().len(), 27, "1, 5 and 30 minutes, then hourly");
    works.store(true, Ordering::SeqCst);
    world.seconds(86_400);
    assert_eq!(world.run().await, Sent::default(), "nothing is tried by itself any more");
    let rows = waiting(&world.table.db, 9).await.unwrap();
    let now = world.clock.seconds();
    let (first, second) = tokio::join!(resend(&world.table.db, &rows[0], now), resend(&world.table.db, &rows[0], now));
    assert!(first.unwrap() ^ second.unwrap(), "of two at once, one does it");
    assert_eq!(world.run().await.sent, 1);
    assert_eq!(world.ids("SENT#").await, ["sold_out-1"]);
    let row = world.rows().await.remove(0);
    let until: i64 = row[keys::TTL].as_n().unwrap().parse().unwrap();
    assert_eq!(until, world.clock.seconds() + 30 * 86_400);
}

#[tokio::test]
async fn a_thousand_sales_in_a_minute_are_few_messages_to_a_channel_and_none_is_lost() {
    // The limits of Discord, a hundred times as fast.
    let rule = |_: &Arrived, before: usize| {
        let is_used_up = before % 5 == 4;
        let headers = if is_used_up { "x-ratelimit-remaining: 0\r\nx-ratelimit-reset-after: 0.020\r\n" } else { "" };
        Some((200, headers, "{}".to_owned()))
    };
    let name = "api/webhooks/1/a";
    let world = World::open(&[name], rule).await;
    let rows = (0..1_000).map(|id| {
        let notice = sold_out(id, world.clock.seconds());
        encode_live(&keys::notice_due(notice.at, &notice.id), &notice).unwrap()
    });
    world.table.write_all(rows.collect()).await;
    assert_eq!(world.run().await, Sent { due: 1_000, sent: 1_000, ..Sent::default() });
    let arrived = world.receiver.arrived();
    assert!(arrived.len() <= 14, "{}", arrived.len());
    let text: String = arrived.iter().map(|one| one.json()["embeds"].to_string()).collect();
    assert!((0..1_000).all(|id| text.matches(&format!(" n{id}.")).count() == 1));
    assert!(
        arrived
            .iter()
            .all(|one| one.path.ends_with("?wait=true") && one.json()["allowed_mentions"]["parse"] == json!([]))
    );
    assert_eq!(world.ids("SENT#").await.len(), 1_000);
}

#[tokio::test]
async fn a_channel_that_takes_no_more_is_left_alone_also_by_what_happens_later() {
    let rule = |_: &Arrived, before: usize| match before {
        0 => Some((429, "retry-after: 900\r\n", String::new())),
        _ => Some((200, "", String::new())),
    };
    let world = World::open(&["api/webhooks/1/a"], rule).await;
    world.happen(0..3).await;
    world.run().await;
    world.seconds(60);
    world.happen(3..6).await;
    world.run().await;
    assert_eq!(world.receiver.arrived().len(), 1);
    world.seconds(780);
    assert_eq!((world.run().await.due, world.receiver.arrived().len()), (0, 1));
    world.seconds(60);
    assert_eq!(world.run().await.sent, 6);
    // A short time is waited for within the run.
    let rule = |_: &Arrived, before: usize| match before {
        0 => Some((429, "retry-after: 0.3\r\n", String::new())),
        _ => Some((200, "", String::new())),
    };
    let world = World::open(&["api/webhooks/1/a"], rule).await;
    world.happen(0..3).await;
    assert_eq!((world.run().await.sent, world.receiver.arrived().len()), (3, 2));
}

#[tokio::test]
async fn one_message_that_a_channel_refuses_keeps_no_other_from_it() {
    let rule = |one: &Arrived, _| Some((if one.body.contains(" n4.") { 400 } else { 200 }, "", String::new()));
    let world = World::open(&["api/webhooks/1/a"], rule).await;
    world.happen(0..9).await;
    world.run().await;
    world.seconds(60);
    world.run().await;
    assert_eq!(world.ids("SENT#").await.len(), 8);
    assert_eq!(listed(&world.table.db).await.unwrap()[0].notice.id, "sold_out-4");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_no_other_waiting_and_a_target_that_is_gone_neither() {
    let mut world = World::open(&["broken", "good"], by_path).await;
    let mut row = shared::table::codec::key_attributes(&keys::notice_due(0, "sold_out-0"));
    row.insert("id".to_owned(), AttributeValue::N("7".to_owned()));
    world.table.write_item(row).await;
    world.happen(1..4).await;
    assert_eq!(world.run().await.sent, 3);
    world.targets.remove(0);
    world.seconds(60);
    world.run().await;
    assert_eq!(world.ids("SENT#").await.len(), 3);
    assert_eq!(world.rows().await.len(), 4, "the row stays for `storectl doctor`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_erased_while_a_notice_is_sent_does_not_come_back() {
    let world = World::open(&["broken"], by_path).await;
    world.happen([1]).await;
    let row = listed(&world.table.db).await.unwrap().remove(0);
    let about = About::Item { id: 1, name: String::new() };
    let erased = Notice { about, ..row.notice.clone() };
    // Right before the sender writes how far it is.
    let db = world.table.interrupted(1, move |db| {
        let (key, erased) = (row.key.clone(), erased.clone());
        async move { tests::put(&db, encode_live(&key, &erased).unwrap()).await }
    });
    world.run_on(&db).await.unwrap();
    world.seconds(60);
    world.run().await;
    let row = listed(&world.table.db).await.unwrap().remove(0);
    assert!(matches!(&row.notice.about, About::Item { name, .. } if name.is_empty()), "{row:?}");
    // A field of a later version is no reason to send for ever.
    let mut item = world.rows().await.remove(0);
    let mut about = item["about"].as_m().unwrap()["item"].as_m().unwrap().clone();
    about.insert("later".to_owned(), AttributeValue::Bool(true));
    item.insert("about".to_owned(), AttributeValue::M([("item".to_owned(), AttributeValue::M(about))].into()));
    world.table.write_item(item).await;
    world.seconds(300);
    world.run().await;
    assert_eq!(listed(&world.table.db).await.unwrap()[0].notice.targets["broken"].attempts, 2);
}

/// What is done with a sender in a minute: it is killed after so many milliseconds, two run at once, the database fails at the
/// call with this number.
type Minute = (Option<u64>, bool, Option<usize>);

/// Each notice arrives at each target at least once, with the same id and body, and never after it was noted as sent to all.
async fn model(minutes: Vec<Minute>, answers: Vec<u16>) {
    let rule = move |_: &Arrived, before: usize| match answers.get(before) {
        Some(0) => None,
        Some(status) => Some((*status, "", String::new())),
        None => Some((200, "", String::new())),
    };
    let world = World::open(&["one", "two"], rule).await;
    let mut happened = 0;
    for (killed, is_twice, failing) in minutes {
        world.happen(happened..happened + 2).await;
        happened += 2;
        let failing =
            world.table.with_faults(move |call, _| (Some(call) == failing).then_some(tests::Fault::Throttled));
        let other = is_twice.then(|| world.table.another());
        let both = join_all(std::iter::once(&failing).chain(&other).map(|db| world.run_on(db)));
        _ = tokio::time::timeout(killed.map_or(Duration::from_mins(1), Duration::from_millis), both).await;
        world.seconds(60);
    }
    for _ in 0..40 {
        world.run().await;
        world.seconds(3_600);
        if world.ids("SENT#").await.len() == happened {
            break;
        }
    }
    assert_eq!(world.ids("SENT#").await.len(), happened, "{:?}", listed(&world.table.db).await);
    let before = world.receiver.arrived();
    assert_eq!(world.run().await, Sent::default());
    assert_eq!(world.receiver.arrived().len(), before.len(), "nothing is sent again");
    for name in ["/one", "/two"] {
        let mut bodies: BTreeMap<String, Value> = BTreeMap::new();
        for one in world.receiver.at(name) {
            let body = bodies.entry(one.header("webhook-id").to_owned()).or_insert_with(|| one.json());
            assert_eq!(*body, one.json());
        }
        let expected: BTreeSet<String> = (0..happened).map(|id| format!("sold_out-{id}")).collect();
        assert_eq!(bodies.into_keys().collect::<BTreeSet<_>>(), expected, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 24)))]

    #[test]
    fn killed_or_twice_at_once_every_notice_arrives_with_its_id(
        minutes in prop::collection::vec((prop::option::of(0_u64..60), any::<bool>(), prop::option::of(0_usize..12)), 1..7),
        answers in prop::collection::vec(prop_oneof![Just(200_u16), Just(500), Just(404), Just(0)], 0..20),
    ) {
        crate::block_on(model(minutes, answers));
    }
}
