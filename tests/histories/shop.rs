//! The offers in the histories of one buyer: items, prices, codes and limits, as the model and the table both have them.

use publish::Compiled;
use publish::files::{Choice, Decimal, SaleFile, ScopeFile};
use shared::model::{TaxMode, TaxPrices};
use std::sync::LazyLock;
use tests::{item, repository};

/// The item with two servers.
pub const SERVERS: u8 = 0;
/// The item with a text and options.
pub const OPTIONS: u8 = 1;
/// The item whose price the buyer names.
pub const ANY_PRICE: u8 = 2;
/// The item of which few are sold.
pub const LIMITED: u8 = 3;

/// The item that is given to another player.
pub const GIFT: u8 = 4;
/// The subscription, which every buyer has from the beginning on.
pub const MONTHLY: u8 = 5;

/// The ids of the items in the store's files.
pub const ITEMS: [u64; 6] = [401, 301, 601, 302, 311, 602];
/// The options of [`OPTIONS`].
pub const COLOURS: [&str; 3] = ["Copper", "Ash", "Midnight"];
pub const REFERRALS: [&str; 2] = ["lantern", "toadmail"];

/// The coupon of ten per cent.
pub const TENTH: u8 = 0;
/// The coupon of [`AMOUNT`].
pub const THREE: u8 = 1;
pub const CARD: u8 = 2;
/// How often [`TENTH`] may be used in all.
pub const TENTH_USES: usize = 2;
/// How often each user may use [`THREE`].
pub const THREE_USES: usize = 1;
/// The amount of [`THREE`], in cents.
pub const AMOUNT: i64 = 300;
/// The least amount that can be paid, in cents.
pub const LEAST: i64 = 50;
/// The balance of [`CARD`], in cents.
pub const BALANCE: i64 = 1_700;

/// The values that differ between the versions of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The price of [`OPTIONS`] in cents.
    pub price: i64,
    /// How many units of [`LIMITED`] may be sold.
    pub limit: i64,
}

/// The versions that are published.
pub const VERSIONS: [Version; 3] =
    [Version { price: 500, limit: 6 }, Version { price: SALE, limit: 6 }, Version { price: 500, limit: 4 }];

/// The price of [`OPTIONS`] in a sale that takes a tenth off [`REGULAR`].
const SALE: i64 = 585;
const REGULAR: i64 = 650;

/// How the versions are taxed.
const TAXES: [(TaxMode, TaxPrices); 3] = [
    (TaxMode::Stripe, TaxPrices::Exclusive),
    (TaxMode::Stripe, TaxPrices::Inclusive),
    (TaxMode::None, TaxPrices::Inclusive),
];

/// The price of a unit in cents.
pub fn price(item: u8, choice: u16, version: Version) -> i64 {
    match item {
        SERVERS => 299,
        OPTIONS => version.price,
        ANY_PRICE if choice == 0 => 500,
        ANY_PRICE => i64::from(choice) * 100,
        GIFT => 800,
        _ => 300,
    }
}

/// The versions, compiled from the sample store's files.
pub static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| VERSIONS.into_iter().zip(TAXES).map(compile).collect());

fn compile((version, (tax, prices)): (Version, (TaxMode, TaxPrices))) -> Compiled {
    let mut files = publish::read(&repository().join("infra/sample-store")).unwrap();
    let payments = &mut files.store.content.payments;
    (payments.tax, payments.tax_prices) = (tax.into(), Some(prices.into()));
    let options = item(&mut files, ITEMS[usize::from(OPTIONS)]);
    let is_sale = version.price == SALE;
    let regular = if is_sale { REGULAR } else { version.price };
    options.price.as_mut().unwrap().0 = format!("{}.{:02}", regular / 100, regular % 100).into();
    files.sales.content.0.extend(is_sale.then(sale));
    item(&mut files, ITEMS[usize::from(LIMITED)]).global_limit = Some(u32::try_from(version.limit).unwrap().into());
    files.store.content.payments.delayed = true;
    publish::compile(&files).unwrap()
}

fn sale() -> SaleFile {
    SaleFile {
        id: 1.into(),
        name: "A tenth off".to_owned(),
        percentage: Some(Decimal("10".to_owned().into())),
        amount: None,
        covers: Choice::Fields(ScopeFile { categories: Vec::new(), items: vec![ITEMS[usize::from(OPTIONS)].into()] }),
        except: ScopeFile::default(),
        from: None,
        until: None,
        who: Choice::default(),
        with_codes: true,
    }
}
