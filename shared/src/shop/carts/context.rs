//! A user's cart with their ledger, read together, and the items of its lines, which may be cached: everything that its price depends
//! on.

use crate::clock::Clock;
use crate::model::{
    ActiveVersion, Cart, Code, CouponUses, ItemId, Items, Ledger, Money, ProviderCustomer, Referral, Sold, User,
    UserId, UserSubscription,
};
use crate::rules::add_line::CartInputs;
use crate::rules::cart::{PricedLine, price_lines};
use crate::rules::code::{Applied, AppliedCodes, CodeBuyer, CodeInputs, CodeRefusal, judge};
use crate::rules::limits::{release_code, release_units};
use crate::rules::pricing::{Buyer, Terms};
use crate::rules::referral::in_force;
use crate::shop::catalog::{ItemPlan, known_missing};
use crate::shop::stock::{Counters, ledgers};
use crate::shop::{carts, codes};
use crate::table::caches::VersionedCache;
use crate::table::keys::{self, Key};
use crate::table::{Db, Rows, StoreError, published};
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub struct CartSources<'a> {
    pub db: &'a Db,
    /// Published items.
    pub items: &'a VersionedCache,
    /// Units sold.
    pub counters: &'a Counters,
    /// The time, by which counters are trusted.
    pub clock: &'a dyn Clock,
}

/// A user's cart and ledger, as they are in the table now.
#[derive(Debug)]
pub struct CartContext {
    pub user: UserId,
    pub username: String,
    /// The user's balance in virtual currency, without what an open checkout holds.
    pub virtual_currency: Money,
    /// The user's subscriptions that are not over.
    pub subscriptions: Vec<UserSubscription>,
    pub customer: Option<ProviderCustomer>,
    pub active: Arc<ActiveVersion>,
    pub cart: Cart,
    pub ledger: Ledger,
    /// The other rows that were read with them.
    pub rows: Rows,
}

#[derive(Debug)]
pub struct CartItems {
    pub items: Items,
    /// Units sold of those with a global limit.
    pub sold: Sold,
    /// The other rows that were read with them.
    pub rows: Rows,
    /// The version that they are of.
    active: Arc<ActiveVersion>,
    /// The second at which they were read.
    now: i64,
}

impl CartItems {
    pub fn terms(&self) -> Terms<'_> {
        Terms::of(&self.active.config, &self.sold, self.now)
    }

    pub fn price<'a>(&'a self, context: &'a CartContext) -> Vec<PricedLine<'a>> {
        price_lines(&context.cart.lines, &self.items, self.terms(), context.owner(self.now))
    }
}

impl CartContext {
    /// The keys of a user's cart and ledger.
    pub fn keys(user: UserId) -> [Key; 2] {
        [keys::cart(user), keys::ledger(user)]
    }

    /// Takes a user's cart and ledger out of what was read.
    pub fn take(user: User, active: Arc<ActiveVersion>, mut rows: Rows) -> Result<Self, StoreError> {
        let cart = carts::take(&mut rows, user.id)?;
        let ledger = ledgers::take(&mut rows, user.id)?;
        let User { id: user, username, virtual_currency, subscriptions, customer, .. } = user;
        Ok(Self { user, username, virtual_currency, subscriptions, customer, active, cart, ledger, rows })
    }

    /// The cart's owner, as prices and availability depend on them.
    pub fn owner(&self, now: i64) -> Buyer<'_> {
        Buyer { ledger: &self.ledger, subscriptions: &self.subscriptions, now }
    }

    /// A code that was read, and the user's uses of it, without what the user's own checkout holds. A coupon of another
    /// user is none.
    pub fn usable(&self, code: Option<Code>, uses: CouponUses) -> (Option<Code>, CouponUses) {
        let code = code.filter(|code| code.is_for(Some(self.user)));
        match &self.cart.checkout {
            Some(checkout) => release_code(code, uses, &checkout.held),
            None => (code, uses),
        }
    }

    /// Reads the items of the cart and `also`, their counters and the items under `more`, all at once. Reads nothing if
    /// everything is cached and `more` is empty.
    pub async fn load_items(
        &self,
        sources: &CartSources<'_>,
        also: Option<ItemId>,
        more: impl IntoIterator<Item = Key>,
    ) -> Result<CartItems, StoreError> {
        let ids = || self.cart.lines.iter().map(|line| line.item).chain(also);
        let items = ItemPlan::new(sources.items, &self.active.version, ids());
        let limited = |id: ItemId| match items.known(id) {
            Some(published) => published.item.limited().collect(),
            None => vec![id],
        };
        let counters = sources.counters.plan(ids().flat_map(limited), sources.clock.millis());
        let mut keys: Vec<Key> = items.keys().chain(counters.keys()).collect();
        keys.extend(more);
        let mut rows = if keys.is_empty() { Rows::default() } else { sources.db.batch_get(keys).await? };
        // An id that is on no cart may be any number that a caller sent.
        let is_kept = |id: ItemId| self.cart.lines.iter().any(|line| line.item == id);
        let items = items.complete(&mut rows, is_kept)?;
        let mut sold = sources.counters.complete(counters, &mut rows)?;
        // The parts of a bundle were not known if it was not cached.
        let limited = items.values().flat_map(|published| published.item.limited());
        let unread: Vec<ItemId> = limited.filter(|id| !sold.contains_key(id)).collect();
        if !unread.is_empty() {
            sold.extend(sources.counters.read(sources.db, unread.into_iter(), sources.clock.millis()).await?);
        }
        let sold = self.without_own_hold(sold);
        Ok(CartItems { items, sold, rows, active: Arc::clone(&self.active), now: sources.clock.seconds() })
    }

    /// The units sold without those that the user's own checkout holds.
    #[must_use]
    pub fn without_own_hold(&self, mut sold: Sold) -> Sold {
        if let Some(checkout) = &self.cart.checkout {
            release_units(&mut sold, &checkout.held, &checkout.order);
        }
        sold
    }

    /// Everything that decides about a line that is added or changed.
    pub fn inputs<'a>(&'a self, items: &'a CartItems) -> CartInputs<'a> {
        CartInputs {
            cart: &self.cart,
            items: &items.items,
            terms: items.terms(),
            owner: self.owner(items.now),
            buyer: &self.username,
            has_virtual_currency: self.active.config.is_virtual_currency,
            delivery: &self.active.config.delivery,
        }
    }
}

/// Removes the lines whose item is no longer published from a cart that is about to be written (rules.md, "Carts").
/// Cached items may be stale, and during a restore no version is published: a line is removed only if the active
/// version and the absence of its item are read here. Reads nothing if no item is known to be missing.
pub async fn drop_unpublished(sources: &CartSources<'_>, version: &str, cart: &mut Cart) -> Result<(), StoreError> {
    let mut missing = known_missing(sources.items, version, cart.lines.iter().map(|line| line.item));
    if missing.is_empty() {
        return Ok(());
    }
    let items = missing.iter().map(|id| keys::item(version, *id)).collect();
    let (current, rows) = tokio::join!(published::read_active_version(sources.db), sources.db.batch_get(items));
    let mut rows = rows?;
    if current?.is_some_and(|current| !current.is_empty() && current.version == version) {
        missing.retain(|id| rows.take(&keys::item(version, *id)).is_none());
        cart.lines.retain(|line| !missing.contains(&line.item));
    }
    Ok(())
}

/// A cart with its items and the codes on it.
#[derive(Debug)]
pub struct LoadedCart {
    pub context: CartContext,
    pub items: CartItems,
    /// The coupon on the cart, if it is still the one that was applied.
    coupon: Option<Code>,
    uses: CouponUses,
    /// The gift card on the cart, if it is still the one that was applied.
    gift_card: Option<Code>,
    /// The referral code on the cart, in force or not.
    referral: Option<Referral>,
}

/// The codes on a cart, each as it applies or why it counts as not applied; `None` if there is none.
#[derive(Debug)]
pub struct CodesOnCart<'a> {
    pub coupon: Option<Result<Applied<'a>, CodeRefusal>>,
    pub gift_card: Option<Result<Applied<'a>, CodeRefusal>>,
}

impl<'a> CodesOnCart<'a> {
    pub fn applied(self) -> AppliedCodes<'a> {
        let applied = |code: Option<Result<Applied<'a>, CodeRefusal>>| code.and_then(Result::ok);
        AppliedCodes { coupon: applied(self.coupon), gift_card: applied(self.gift_card) }
    }
}

impl LoadedCart {
    /// Reads the items of a cart and `also`, and the codes on the cart, all at once.
    pub async fn load(
        sources: &CartSources<'_>,
        context: CartContext,
        also: Option<ItemId>,
    ) -> Result<Self, StoreError> {
        Self::load_with(sources, context, also, []).await
    }

    /// [`Self::load`], and the rows under `more` with it.
    pub async fn load_with(
        sources: &CartSources<'_>,
        context: CartContext,
        also: Option<ItemId>,
        more: impl IntoIterator<Item = Key>,
    ) -> Result<Self, StoreError> {
        let (cart, owner) = (&context.cart, context.user);
        let coupon_keys = cart.coupon.iter().flat_map(|on| [keys::code(&on.code), keys::code_use(&on.code, owner)]);
        let card_keys = cart.gift_card.iter().map(|on| keys::code(&on.code));
        let referral_keys = cart.referral.iter().map(keys::referral);
        let wanted = coupon_keys.chain(card_keys).chain(referral_keys).chain(more);
        let mut items = context.load_items(sources, also, wanted).await?;
        let rows = &mut items.rows;
        let (coupon, uses) = match &cart.coupon {
            Some(on) => {
                let coupon = codes::take(rows, &on.code)?.filter(|code| code.id() == on.id);
                context.usable(coupon, codes::take_uses(rows, &on.code, owner)?)
            }
            None => (None, CouponUses::default()),
        };
        let gift_card = match &cart.gift_card {
            Some(on) => {
                let found = codes::take(rows, &on.code)?.filter(|code| code.id() == on.id);
                context.usable(found, CouponUses::default()).0
            }
            None => None,
        };
        let referral = match &cart.referral {
            Some(text) => codes::take_referral(rows, text)?,
            None => None,
        };
        Ok(Self { context, items, coupon, uses, gift_card, referral })
    }

    /// Reads the items of a cart and none of the codes on it: none counts as applied.
    pub async fn load_without_codes(sources: &CartSources<'_>, context: CartContext) -> Result<Self, StoreError> {
        let items = context.load_items(sources, None, []).await?;
        Ok(Self { context, items, coupon: None, uses: CouponUses::default(), gift_card: None, referral: None })
    }

    /// The priced lines, in the order of the cart.
    pub fn lines(&self) -> Vec<PricedLine<'_>> {
        self.items.price(&self.context)
    }

    /// The coupon on the cart, if it is known and still the one that was applied.
    pub const fn coupon(&self) -> Option<&Code> {
        self.coupon.as_ref()
    }

    /// The gift card on the cart, if it is known and still the one that was applied.
    pub const fn gift_card(&self) -> Option<&Code> {
        self.gift_card.as_ref()
    }

    /// The inputs of a code's effect on the cart for a login that is proven or not, if its coupon takes off `coupon_sum`.
    pub fn code_inputs<'a>(&self, lines: &'a [PricedLine<'a>], is_proven: bool, coupon_sum: Money) -> CodeInputs<'a> {
        let buyer = CodeBuyer { is_proven, has_bought: self.context.ledger.has_bought() };
        CodeInputs { lines, buyer, coupon_sum, least: self.context.active.config.payments.least }
    }

    /// The amounts that the codes on the cart take off at `now`, for a login that is proven or not.
    pub fn codes(&self, lines: &[PricedLine<'_>], is_proven: bool, now: i64) -> CodesOnCart<'_> {
        let cart = &self.context.cart;
        let inputs = |coupon_sum: Money| self.code_inputs(lines, is_proven, coupon_sum);
        let coupon = || judge(self.coupon.as_ref(), self.uses, inputs(Money::ZERO), now);
        let coupon = cart.coupon.as_ref().map(|_| coupon());
        let coupon_sum = coupon.as_ref().and_then(|coupon| coupon.as_ref().ok()).map_or(Money::ZERO, |on| on.sum);
        let gift_card = || judge(self.gift_card.as_ref(), CouponUses::default(), inputs(coupon_sum), now);
        CodesOnCart { gift_card: cart.gift_card.as_ref().map(|_| gift_card()), coupon }
    }

    /// The referral code on the cart, if it is in force.
    pub fn referral(&self) -> Option<&Referral> {
        in_force(self.referral.as_ref(), self.context.active.config.is_ref)
    }
}
