//! The sample store is whole: it reads, checks, compiles, publishes and seeds. The JSON Schemas beside the crate are those of its
//! types, and the sample store's files point to them. The page that explains the format names every field there is, and its examples
//! are a store without faults. So are those of the page for newcomers.

use crate::support::{self, NOW, compiled_in, lines, store};
use local::live::{self, Live, seed};
use publish::files::{self, StoreFiles};
use publish::schema::schemas;
use publish::{Compiled, Fault, LARGEST_PAGE, check, read, warnings};
use serde::de::DeserializeOwned;
use shared::model::{Code, CommandEvent, OrderStatus, PublishedItem, UserId, VariableKind};
use shared::table::{codec, keys};
use std::fs;
use std::path::{Path, PathBuf};
use tests::TestTable;

fn sample_store() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-store")
}

fn live_of(compiled: &Compiled) -> Live {
    live::read(&sample_store(), &compiled.settings.goals, NOW).unwrap()
}

#[test]
fn the_sample_store_has_no_faults() {
    let files = read(&sample_store()).unwrap_or_else(|faults| panic!("{}", support::lines(&faults)));
    let faults = check(&files);
    assert!(faults.is_empty(), "{}", support::lines(&faults));
    // It shows what an item looks like that this login cannot pay, and a command of every sale for one of its servers.
    let is_shown = |warning: &Fault| warning.field.ends_with(".virtual_only") || warning.field == "commands.servers";
    let warnings: Vec<Fault> = publish::warnings(&files).into_iter().filter(|warning| !is_shown(warning)).collect();
    assert_eq!(support::lines(&warnings), "", "nothing to copy that looks like a mistake");
}

#[test]
fn the_sample_store_shows_every_kind_of_thing() {
    let compiled = compiled_in(&sample_store());
    let items: Vec<_> = compiled.items.iter().map(|entry| &entry.item).collect();
    assert!(compiled.tree.0.len() >= 5 && items.len() >= 30);
    assert!(compiled.tree.0.iter().any(|top| !top.subcategories.is_empty()));
    assert!(compiled.items.iter().any(|entry| entry.price_tiers.len() >= 4));
    assert!(!compiled.deals.0.is_empty() && !compiled.promotions.0.is_empty());
    assert!(items.iter().any(|item| !item.active));
    assert!(items.iter().any(|item| item.any_price));
    let subscriptions = || compiled.items.iter().filter(|entry| entry.item.is_subscription);
    for event in [CommandEvent::Bought, CommandEvent::Renewed, CommandEvent::Expired, CommandEvent::Refunded] {
        let runs = |entry: &PublishedItem| entry.delivery.commands.iter().any(|command| command.on == event);
        assert!(subscriptions().count() > 0 && subscriptions().all(runs), "{event:?}");
    }
    assert!(items.iter().any(|item| item.virtual_only));
    assert!(items.iter().any(|item| item.global_limit.is_some() && item.user_limit.is_some()));
    assert!(items.iter().any(|item| item.allow_select_server));
    assert!(items.iter().any(|item| item.gifting) && items.iter().any(|item| item.needs_chat));
    let variables = || items.iter().flat_map(|item| &item.variables);
    assert!(variables().any(|variable| !variable.options.is_empty()));
    for kind in [VariableKind::Word, VariableKind::Text, VariableKind::Number] {
        assert!(variables().any(|variable| variable.options.is_empty() && variable.kind == kind), "{kind:?}");
    }
    assert!(compiled.config.chat_sync && compiled.config.chat.is_complete());
    assert!(compiled.settings.is_featured_deal);
}

#[test]
fn the_sample_stores_buyers_are_in_different_states() {
    let compiled = compiled_in(&sample_store());
    let live = live_of(&compiled);
    assert!(live.users.len() >= 3);
    assert!(live.users.iter().any(|user| user.tokens_valid_after.is_some_and(|after| after > NOW)));
    assert!(live.users.iter().any(|user| live.carts.iter().all(|cart| cart.user != user.id)));
    for status in OrderStatus::ALL {
        let mut of_status = live.orders.iter().filter(|order| order.status == status);
        assert!(of_status.clone().any(|order| order.owner.is_some()), "{status:?}");
        assert!(of_status.any(|order| order.owner.is_none()), "{status:?}");
    }
    assert_eq!(live.derived.donations.recent.len(), 10);
    assert!(!live.derived.donations.top.is_empty());
    assert!(live.codes.iter().any(|code| matches!(code, Code::Gift(card) if card.balance.minor() == 0)));
    let sold_out = compiled.items.iter().map(|entry| &entry.item).filter(|item| {
        let sold = live.derived.sold.get(&item.id).copied().unwrap_or_default();
        item.global_limit.is_some_and(|limit| sold >= u64::from(limit))
    });
    assert_eq!(sold_out.map(|item| item.name.as_str()).collect::<Vec<_>>(), ["Eclipse Key"]);
}

#[tokio::test]
async fn the_sample_store_is_seeded_in_the_shape_that_is_read() {
    let table = TestTable::empty().await;
    let compiled = compiled_in(&sample_store());
    publish::publish(&table.db, &compiled, NOW).await.unwrap();
    let live = live_of(&compiled);
    seed(&table.db, &live).await.unwrap();
    let thornwick = UserId::new(1);
    let ledger = table.db.get(&keys::ledger(thornwick), true).await.unwrap().unwrap();
    assert_eq!(ledger["u102"].as_n().unwrap(), "1");
    assert_eq!(ledger["p102"].as_n().unwrap(), "500");
    let used = keys::code_use(&shared::model::CodeText::parse("ONCEONLY").unwrap(), thornwick);
    assert_eq!(table.db.get(&used, true).await.unwrap().unwrap()["uses"].as_n().unwrap(), "1");
    let eclipse = keys::count(shared::model::ItemId::new(204));
    assert_eq!(table.db.get(&eclipse, true).await.unwrap().unwrap()["sold"].as_n().unwrap(), "5");
    let key = keys::donations();
    let donations = table.db.get(&key, true).await.unwrap().unwrap();
    assert_eq!(codec::decode_live::<shared::model::Donations>(&key, donations).unwrap(), live.derived.donations);
    for user in &live.users {
        let key = keys::user(user.id);
        let stored = table.db.get(&key, true).await.unwrap().unwrap();
        assert_eq!(&codec::decode_live::<shared::model::User>(&key, stored).unwrap(), user);
    }
    for code in &live.codes {
        let key = keys::code(code.text());
        let stored = table.db.get(&key, true).await.unwrap().unwrap();
        assert_eq!(&codec::decode_live::<Code>(&key, stored).unwrap(), code);
    }
    for cart in &live.carts {
        let key = keys::cart(cart.user);
        let stored = table.db.get(&key, true).await.unwrap().unwrap();
        assert_eq!(&codec::decode_live::<shared::model::Cart>(&key, stored).unwrap(), cart);
    }
    for order in &live.orders {
        let key = keys::order(&order.internal_id);
        let stored = table.db.get(&key, true).await.unwrap().unwrap();
        assert_eq!(&codec::decode_live::<shared::model::Order>(&key, stored).unwrap(), order);
    }
    let orders = table.db.get(&keys::sequence("order"), true).await.unwrap().unwrap();
    assert_eq!(orders["next"].as_n().unwrap(), "28");
    let patrons = table.db.query(&keys::patrons()).await.unwrap();
    assert_eq!(patrons.len(), live.derived.patrons.len());
    let top = shared::shop::statistics::top_patrons(&table.db).await.unwrap();
    assert_eq!(top.patrons.len(), live.derived.patrons.len());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema")
}

#[test]
fn the_committed_schemas_are_fresh() {
    fs::create_dir_all(folder()).unwrap();
    let mut stale = Vec::new();
    for (name, text) in schemas() {
        let path = folder().join(name);
        // As values: the order of members depends on which packages are built together.
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        if fs::read_to_string(&path).ok().and_then(|text| parse(&text)) != parse(&text) {
            // It is written again here: commit it, and the next run passes.
            fs::write(&path, text).unwrap();
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "these schemas were stale and have been written again, commit them: {stale:?}");
    let known: Vec<&str> = schemas().iter().map(|(name, _)| *name).collect();
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "{name} is not the schema of a type");
    }
}

#[test]
fn every_file_of_the_sample_store_points_to_its_schema() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-store");
    let mut files = vec![store.join("store.yaml"), store.join("staff.yaml")];
    for folder in ["categories", "pages"] {
        files.extend(fs::read_dir(store.join(folder)).unwrap().map(|file| file.unwrap().path()));
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let target = first.strip_prefix("# yaml-language-server: $schema=").unwrap_or_else(|| panic!("{first}"));
        let schema = file.parent().unwrap().join(target);
        assert!(schema.is_file(), "{} points to {target}, which is not there", file.display());
    }
}

const PAGE: &str = include_str!("../../../docs/store-format.md");
const FIRST_SHOP: &str = include_str!("../../../docs/first-shop.md");

/// The text below the heading of one file.
fn section(heading: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// The fields of a part of the format, as its parser names them when it meets one that it does not know.
fn fields<T: DeserializeOwned>() -> Vec<&'static str> {
    let Err(error) = serde_saphyr::from_str::<T>("no such field: 1") else { panic!("an unknown field was taken") };
    match error.without_snippet() {
        serde_saphyr::Error::SerdeUnknownField { expected, .. } => expected.clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_page_names_every_field_under_its_file() {
    let all = [
        ("store.yaml", fields::<files::StoreFile>()),
        ("store.yaml", fields::<files::LanguageFile>()),
        ("store.yaml", fields::<files::CurrencyFile>()),
        ("store.yaml", fields::<files::RateFile>()),
        ("store.yaml", fields::<files::LinkFile>()),
        ("store.yaml", fields::<files::GameServerFile>()),
        ("store.yaml", fields::<files::AnnouncementFile>()),
        ("store.yaml", fields::<files::GoalFile>()),
        ("store.yaml", fields::<files::ChatFile>()),
        ("store.yaml", fields::<files::ChatClientFile>()),
        ("store.yaml", fields::<files::VirtualCurrencyFile>()),
        ("store.yaml", fields::<files::PaymentsFile>()),
        ("store.yaml", fields::<files::ShopFile>()),
        ("store.yaml", fields::<files::HeroFile>()),
        ("store.yaml", fields::<files::ColoursFile>()),
        ("store.yaml", fields::<files::PaletteFile>()),
        ("store.yaml", fields::<files::PatronsFile>()),
        ("store.yaml", fields::<files::ServerFile>()),
        ("Commands", fields::<files::CommandFile>()),
        ("categories/*.yaml", fields::<files::CategoryFile>()),
        ("categories/*.yaml", fields::<files::ComparisonRow>()),
        ("categories/*.yaml", fields::<files::ItemFile>()),
        ("categories/*.yaml", fields::<files::IntervalFile>()),
        ("categories/*.yaml", fields::<files::VariableFile>()),
        ("categories/*.yaml", fields::<files::PromotionFile>()),
        ("pages/*.yaml", fields::<files::PageFile>()),
        ("sales.yaml", fields::<files::SaleFile>()),
        ("sales.yaml", fields::<files::ScopeFile>()),
        ("sales.yaml", fields::<files::WhoFile>()),
        ("staff.yaml", fields::<files::StaffEntry>()),
    ];
    for (heading, fields) in all {
        for field in fields {
            assert!(section(heading).contains(&format!("`{field}`")), "{heading} does not explain {field}");
        }
    }
}

#[test]
fn the_page_names_the_largest_category() {
    assert_eq!(LARGEST_PAGE, 1_000_000);
    assert!(PAGE.contains("may not be larger than 1,000,000 bytes"));
}

/// The files that are the examples of a page, without faults and warnings.
fn examples(page: &str) -> (tempfile::TempDir, StoreFiles) {
    let examples = page.split("```yaml\n# ").skip(1).map(|rest| {
        let (path, rest) = rest.split_once('\n').unwrap();
        (path, rest.split_once("```").unwrap().0)
    });
    let dir = store(&examples.collect::<Vec<_>>());
    let files = read(dir.path()).unwrap_or_else(|faults| panic!("{}", lines(&faults)));
    assert_eq!((lines(&check(&files)), lines(&warnings(&files))), (String::new(), String::new()));
    (dir, files)
}

#[test]
fn the_store_of_the_page_for_newcomers_has_no_faults_and_the_page_is_short() {
    let (_dir, files) = examples(FIRST_SHOP);
    assert_eq!(files.categories.len(), 3);
    assert!(FIRST_SHOP.lines().count() <= 200);
}

#[test]
fn the_examples_are_a_store_without_faults() {
    examples(PAGE);
}
