//! A generated store of any size, with buyers of several sizes.

use crate::error::BenchError;
use publish::live::{self, Live};
use publish::{Compiled, CompiledCategory};
use shared::model::{
    Cart, CategoryHead, CategoryId, CategoryWithItems, Code, CodeId, CodeText, Coupon, Deals, Discount, InternalId,
    Item, ItemId, ItemType, Line, LineId, Money, Order, OrderLine, OrderNumber, OrderStatus, Percent, Promotions,
    PublishedItem, Scope, Slug, Tree, TreeNode, User, UserId,
};
use shared::store::Db;
use std::collections::BTreeMap;

/// Items in a category.
pub const ITEMS_EACH: u64 = 50;
/// Coupons without limits.
pub const COUPONS: [&str; 2] = ["tenth", "twentieth"];
/// An order without an owner.
pub const ORDER: &str = "8f14e45fceea167a";

/// What a buyer has in the cart and has bought before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buyer {
    pub lines: u32,
    /// Orders paid before, one item each.
    pub orders: u32,
}

impl Buyer {
    pub const ALL: [Self; 4] = [
        Self { lines: 1, orders: 0 },
        Self { lines: 10, orders: 0 },
        Self { lines: 50, orders: 0 },
        Self { lines: 10, orders: 10_000 },
    ];

    pub fn id(self) -> UserId {
        UserId::new(u64::from(self.lines) + u64::from(self.orders))
    }
}

/// Publishes a store of so many items, and loads its live data.
pub async fn fill(db: &Db, items: u64, now: i64) -> Result<(), BenchError> {
    let failed = BenchError::setup("a store of some size");
    live::seed(db, &live_data(items, now)).await.map_err(|error| failed(&error))?;
    let compiled = compiled(items).map_err(|error| failed(&error))?;
    publish::publish(db, &compiled, now).await.map_err(|error| failed(&error))?;
    Ok(())
}

fn compiled(items: u64) -> Result<Compiled, shared::model::ParseSlugError> {
    let mut compiled = harness::TestStore::sample().compiled.clone();
    compiled.version = format!("scale{items:015}");
    let categories = (1..=items.div_ceil(ITEMS_EACH)).map(|number| category(number, items));
    compiled.categories = categories.collect::<Result<_, _>>()?;
    let shelves = compiled.categories.iter().map(|category| &category.shelf);
    let node = |shelf: &CategoryWithItems| TreeNode { head: shelf.head.clone(), subcategories: Vec::new() };
    compiled.tree = Tree(shelves.clone().map(node).collect());
    compiled.items = shelves.flat_map(published).collect();
    (compiled.deals, compiled.promotions) = (Deals::default(), Promotions::default());
    Ok(compiled)
}

fn published(shelf: &CategoryWithItems) -> impl Iterator<Item = PublishedItem> {
    let publish = |item: &Item| PublishedItem {
        item: item.clone(),
        category: shelf.head.id,
        parent: None,
        price_tiers: Vec::new(),
    };
    shelf.items.iter().map(publish)
}

fn category(number: u64, items: u64) -> Result<CompiledCategory, shared::model::ParseSlugError> {
    let head = CategoryHead {
        id: CategoryId::new(number),
        slug: Slug::parse(&format!("c{number}"))?,
        name: format!("Category {number}"),
        description: None,
        image: None,
    };
    let first = (number - 1) * ITEMS_EACH + 1;
    let items = (first..first + ITEMS_EACH).take_while(|id| *id <= items).map(item).collect();
    let shelf = CategoryWithItems { head, comparison: Vec::new(), cumulative: false, items };
    Ok(CompiledCategory { shelf, subcategories: Vec::new() })
}

fn item(id: u64) -> Item {
    Item {
        id: ItemId::new(id),
        name: format!("Item {id}"),
        description: Some(
            "A description of ordinary length that a buyer reads on the page, in a sentence or two.".to_owned(),
        ),
        image: format!("/img/items/{id}.png"),
        price: Money::from_minor(999),
        discount: Money::from_minor(50),
        active: true,
        kind: ItemType::Cmd,
        is_subscription: false,
        any_price: false,
        min_price: Money::ZERO,
        global_limit: None,
        user_limit: None,
        allow_select_server: false,
        servers: Vec::new(),
        virtual_price: Money::ZERO,
        virtual_only: false,
        featured: false,
        comparison: Vec::new(),
        variables: Vec::new(),
        gifting: false,
        needs_chat: false,
        promotion: None,
    }
}

fn live_data(items: u64, now: i64) -> Live {
    let users: Vec<User> = Buyer::ALL.map(|buyer| user(buyer, now)).into();
    let mut orders = vec![order(ORDER, 1, None, items, now)];
    for buyer in Buyer::ALL {
        let numbers = (0..u64::from(buyer.orders)).map(|number| 2 + number);
        orders.extend(numbers.map(|number| order(&format!("order-{number}"), number, Some(buyer.id()), items, now)));
    }
    let by_id: BTreeMap<UserId, &User> = users.iter().map(|user| (user.id, user)).collect();
    let derived = shared::rules::statistics::derive(&orders, &by_id, &[], now);
    let carts = Buyer::ALL.map(|buyer| cart(buyer, items)).into();
    let codes = COUPONS.iter().zip(1..).filter_map(|(text, id)| coupon(text, id)).collect();
    Live { users, carts, codes, orders, derived, ..Live::default() }
}

fn user(buyer: Buyer, now: i64) -> User {
    let id = buyer.id();
    User {
        id,
        username: format!("Buyer{id}"),
        avatar: String::new(),
        system: "minecraft".to_owned(),
        identificator: format!("5b0c2f4e-6d1a-4c07-9a53-{id:012}"),
        uuid: format!("5b0c2f4e-6d1a-4c07-9a53-{id:012}"),
        created_at: now - 1_000_000,
        updated_at: now - 1_000_000,
        virtual_currency: Money::ZERO,
        tokens_valid_after: None,
        banned: false,
    }
}

/// A cart with lines from all over the store; a small store's items occur more than once.
fn cart(buyer: Buyer, items: u64) -> Cart {
    let line = |number: u64| Line::new(LineId::new(number), spread(number, items), 1);
    let lines = (1..=u64::from(buyer.lines)).map(line).collect();
    Cart { version: 1, next_line: u64::from(buyer.lines) + 1, lines, ..Cart::empty(buyer.id()) }
}

/// The `number`-th item of a walk that reaches every item once before it repeats.
fn spread(number: u64, items: u64) -> ItemId {
    const STEP: u64 = 7_919;
    ItemId::new(number * STEP % items + 1)
}

fn coupon(text: &str, id: u64) -> Option<Code> {
    let coupon = Coupon {
        id: CodeId::new(id),
        code: CodeText::parse(text).ok()?,
        active: true,
        starts_at: None,
        ends_at: None,
        discount: Discount::Percentage(Percent::from_hundredths(1_000)),
        scope: Scope::default(),
        minimum: Money::ZERO,
        max_uses: None,
        max_uses_per_user: None,
        uses: 0,
    };
    Some(Code::Coupon(coupon))
}

fn order(internal_id: &str, number: u64, owner: Option<UserId>, items: u64, now: i64) -> Order {
    Order {
        id: OrderNumber::new(number),
        internal_id: InternalId::new(internal_id),
        price: Money::from_minor(949),
        currency: "EUR".to_owned(),
        digits: Some(2),
        status: OrderStatus::Paid,
        gateway: "cardhouse".to_owned(),
        created_at: now - 3_600,
        owner,
        lines: vec![OrderLine::new(spread(number, items), 1, Money::from_minor(949))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_as_many_items_as_it_should() {
        for items in [10, 120] {
            let compiled = compiled(items).unwrap();
            assert_eq!(compiled.items.len() as u64, items);
            assert_eq!(compiled.tree.0.len() as u64, items.div_ceil(ITEMS_EACH));
        }
    }

    #[test]
    fn a_walk_reaches_every_item_once() {
        for items in [10, 1_000] {
            let met: std::collections::BTreeSet<ItemId> = (1..=items).map(|number| spread(number, items)).collect();
            assert_eq!(met.len() as u64, items);
        }
    }

    #[test]
    fn a_ledger_grows_with_distinct_items_and_not_with_orders() {
        let live = live_data(10, 1_781_524_800);
        let buyer = Buyer::ALL[3];
        assert_eq!(live.derived.ledgers[&buyer.id()].iter().count(), 10);
        assert_eq!(live.orders.len(), 10_001);
    }
}
