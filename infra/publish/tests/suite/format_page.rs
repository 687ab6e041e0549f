//! The page that explains the format names every field there is, and its examples are a store without faults. So are those of the
//! page for newcomers.

use crate::support::{lines, store};
use publish::files::StoreFiles;
use publish::{LARGEST_PAGE, check, files, read, warnings};
use serde::de::DeserializeOwned;

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
