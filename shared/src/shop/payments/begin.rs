//! The order of a checkout, and the transaction with which it begins: it holds what is sold, writes the order and marks the cart.

use crate::model::{
    BuyerAddress, Cart, ChatId, Code, Held, ItemId, Ledger, Login, LoginKind, Money, OpenCheckout, Order, OrderEffects,
    OrderLine, OrderNumber, OrderReferral, OrderStatus, OrderSubscription, PaymentType, Payments, PlayerName,
    ProviderAccount, ProviderCheckout, ProviderCustomer, TaxMode, TaxPrices, ThreeDSecure, UserId,
};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::{Beneficiary, MayOwn, MustOwn, Sale, may_own, must_own};
use crate::rules::limits;
use crate::rules::limits::held;
use crate::rules::payment_methods::offered;
use crate::rules::pricing::Buyer;
use crate::shop::accounts::{self, logins};
use crate::shop::carts::{self, CartContext, LoadedCart};
use crate::shop::orders::effects::{OrderInputs, spent, take_codes, to_check};
use crate::shop::orders::lists::OwnedOrder;
use crate::shop::orders::refusal::{Guarded, Limit, Needed, OrderRefusal, OwnedLimit};
use crate::shop::orders::{StoredOrder, lists, new_internal_id};
use crate::shop::stock::ledgers;
use crate::shop::stock::reservations::Reservation;
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// How many seconds longer than it is promised a checkout is open, so that a slow request is not too late.
const MARGIN: i64 = 300;
/// The fewest minutes that a checkout is open: less is refused by providers.
const LEAST_MINUTES: i64 = 30;
/// How many seconds after its end the sweep looks at a checkout.
pub(super) const GRACE: i64 = 60;

#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub gateway: &'a str,
    /// The login that asks (rules.md, "Logins").
    pub login: Login,
    /// The chat account whose login was completed, if the buyer may use it (rules.md, "Chat login").
    pub chat: Option<&'a ChatId>,
    /// Whether the buyer has agreed to the terms and the privacy policy with this request.
    pub has_consented: bool,
    /// The client's address, whose checkouts are counted; `None` for an operator.
    pub address: Option<&'a str>,
    /// The hash of the address, under which it is remembered.
    pub address_hash: Option<&'a str>,
}

/// The order of a sale. Everything that the provider is sent is in it.
pub(super) fn order(
    sale: Sale,
    loaded: &LoadedCart,
    request: Request<'_>,
    recipients: &Recipients,
    number: OrderNumber,
    account: &ProviderAccount,
    now: i64,
) -> Result<StoredOrder, StoreError> {
    let config = &loaded.context.active.config;
    let payments: &Payments = &config.payments;
    let mut lines = sale.lines;
    for line in &mut lines {
        let server = line.chosen.as_ref().and_then(|chosen| chosen.server);
        let published = loaded.items.items.values();
        let mut given = published.flat_map(|one| std::iter::once(one.as_ref()).chain(&one.parts));
        let published = given.find(|given| given.item.id == line.item);
        line.places = published.map_or_else(Vec::new, |published| limits::places(&published.item, server, now, now));
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        line.recipient = name.and_then(|name| recipients.get(&name.key().to_string())).and_then(|found| found.user);
    }
    let order = Order {
        id: number,
        internal_id: new_internal_id().ok_or_else(StoreError::no_entropy)?,
        price: sale.price,
        currency: payments.currency.clone(),
        digits: config.digits,
        status: OrderStatus::Pending,
        gateway: request.gateway.to_owned(),
        created_at: now,
        owner: Some(loaded.context.user),
        moved_to: None,
        lines,
        tax: None,
    };
    let effects = OrderEffects {
        recorded_as: Some(OrderStatus::Pending),
        coupon: sale.coupon,
        gift_card: sale.gift_card,
        counted: Some(false),
        referral: loaded.referral().map(|found| OrderReferral { code: found.code.clone(), owner: found.owner }),
        consented_at: request.has_consented.then_some(now),
        chat: request.chat.cloned(),
        via: Some(if request.login.is_proven() { LoginKind::Proven } else { LoginKind::Name }),
        virtual_currency: sale.virtual_currency,
        // What costs nothing is paid at once.
        held: payments.hold_minutes > 0 || sale.price == Money::ZERO,
        login: Some(request.login),
        first_purchase: !loaded.context.ledger.has_bought(),
        subscription: subscription(loaded, &order.lines, account, request.login),
        ..OrderEffects::default()
    };
    Ok(StoredOrder { order, effects })
}

/// The subscription that an order begins, if it sells one. A login that proves its name uses the provider's customer of its
/// account; a name is not a proof, and a customer shows an e-mail address and cards.
fn subscription(
    loaded: &LoadedCart,
    lines: &[OrderLine],
    account: &ProviderAccount,
    login: Login,
) -> Option<OrderSubscription> {
    let line = lines.iter().find(|line| line.payment_type == PaymentType::Subscription)?;
    let plan = loaded.items.items.get(&line.item)?.item.plan;
    let currency = &loaded.context.active.config.payments.currency;
    let fits = |customer: &&ProviderCustomer| customer.account == *account && customer.currency == *currency;
    let known = loaded.context.customer.as_ref().filter(fits).filter(|_| login.is_proven());
    Some(OrderSubscription {
        plan,
        customer: known.map(|customer| customer.id.clone()),
        ..OrderSubscription::default()
    })
}

/// The order with its checkout at the provider.
pub(super) fn with_checkout(
    order: StoredOrder,
    loaded: &LoadedCart,
    account: ProviderAccount,
    is_limited: bool,
    address: Option<BuyerAddress>,
    now: i64,
) -> StoredOrder {
    let config = &loaded.context.active.config;
    let minutes = i64::from(config.payments.hold_minutes).max(LEAST_MINUTES);
    let expires_at = now.saturating_add(minutes * 60).saturating_add(MARGIN);
    let provider = ProviderCheckout {
        expires_at,
        storefront: config.storefront_url.clone(),
        methods: offered(&config.payments, is_limited, order.effects.subscription.is_some()),
        adaptive: config.payments.adaptive,
        three_d_secure: match config.payments.three_d_secure {
            ThreeDSecure::Auto => false,
            ThreeDSecure::Always => true,
            ThreeDSecure::NewBuyers => order.effects.via == Some(LoginKind::Name) || !loaded.context.ledger.has_any(),
        },
        account: account.id,
        live: account.live,
        // A subscription has invoices anyway.
        invoice: config.payments.invoices && order.effects.subscription.is_none(),
        address,
        tax: config.payments.tax,
        tax_on_top: config.payments.tax != TaxMode::None && config.payments.tax_prices == TaxPrices::Exclusive,
        ..ProviderCheckout::default()
    };
    // An order of nothing waits for no payment: if its request ends early, the sweep completes it.
    let ends = if order.order.price == Money::ZERO { now } else { expires_at };
    let effects = OrderEffects { provider: Some(provider), due: Some(ends.saturating_add(GRACE)), ..order.effects };
    StoredOrder { effects, ..order }
}

/// The inputs of the order's effects. It has all been read for the cart. `coupon` is the one that the order uses.
pub(super) fn inputs(
    loaded: &LoadedCart,
    lines: &[PricedLine<'_>],
    recipients: &Recipients,
    coupon: Option<&Code>,
) -> OrderInputs {
    let accounts = recipients.values().filter_map(|recipient| recipient.user);
    OrderInputs {
        users: accounts.chain([loaded.context.user]).collect::<BTreeSet<UserId>>(),
        items: lines.iter().flat_map(PricedLine::given).map(|(given, _)| (given.item.id, given.clone())).collect(),
        coupon: coupon.cloned(),
        gift_card: loaded.gift_card().cloned(),
        delivery: loaded.context.active.config.delivery.clone(),
        ..OrderInputs::default()
    }
}

/// A player that a gift in the cart is for.
#[derive(Debug, Clone)]
pub(super) struct Recipient {
    pub(super) name: PlayerName,
    /// The account, if there is one.
    pub(super) user: Option<UserId>,
    /// The ledger of the account; read only if it is too much for one condition.
    pub(super) ledger: Option<Ledger>,
}

impl Recipient {
    pub(super) fn key(&self) -> Key {
        keys::name(self.name.key())
    }
}

/// The players that gifts are for, by name in lower case.
pub(super) type Recipients = BTreeMap<String, Recipient>;

/// The reason why the order of a checkout is not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum HoldError {
    #[error(transparent)]
    Refused(#[from] OrderRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads what recipients own if there is more to compare than one condition can.
pub(super) async fn read_ledgers(
    db: &Db,
    lines: &[PricedLine<'_>],
    recipients: &mut Recipients,
    now: i64,
) -> Result<(), StoreError> {
    let large = possessions(lines, now).into_iter().filter(|(_, bounds)| bounds.len() > ledgers::ITEMS_AT_ONCE);
    let user = |(who, _)| match who {
        Beneficiary::Buyer => None,
        Beneficiary::Player(name) => recipients.get(&name)?.user,
    };
    let users: BTreeSet<UserId> = large.filter_map(user).collect();
    if users.is_empty() {
        return Ok(());
    }
    let mut rows = db.batch_get(users.iter().map(|user| keys::ledger(*user)).collect()).await?;
    for recipient in recipients.values_mut() {
        let user = recipient.user.filter(|user| users.contains(user));
        recipient.ledger = user.map(|user| ledgers::take(&mut rows, user)).transpose()?;
    }
    Ok(())
}

/// The players whose first purchase it must be, each with an item that they get.
pub(super) type FirstPurchases = BTreeMap<Beneficiary, ItemId>;

/// The writes with which a checkout begins. `context` is what was read of the buyer, `reservation` its units that are
/// reserved already.
pub(super) fn writes(
    order: &StoredOrder,
    context: &CartContext,
    lines: &[PricedLine<'_>],
    recipients: &Recipients,
    inputs: &OrderInputs,
    first: &FirstPurchases,
    reservation: Option<&Reservation>,
) -> Result<Vec<Guarded>, HoldError> {
    let mut writes = vec![order.put_new()?.into()];
    writes.extend(OwnedOrder::put(&order.order)?.map(Guarded::from));
    writes.extend(lists::put(order)?.into_iter().map(Guarded::from));
    writes.extend(order.due_rows(order.effects.due)?.into_iter().map(Guarded::from));
    writes.push(carts::write(&remembering(&context.cart, order))?.into());
    // A subscription is checked against the others that were read.
    let mut written = order.order.owner.filter(|_| order.effects.subscription.is_some());
    let subscribed =
        written.map(|owner| accounts::must_have_subscriptions(owner, &context.subscriptions)).transpose()?;
    writes.extend(subscribed.map(Guarded::from));
    if order.effects.held {
        writes.extend(reservation.map(|reservation| reservation.check().into()));
        writes.extend(take_codes(order, inputs)?);
        written = written.or_else(|| order.order.owner.filter(|_| spent(order).is_some()));
    }
    let recipient_accounts: BTreeSet<UserId> = recipients.values().filter_map(|recipient| recipient.user).collect();
    writes.extend(to_check(inputs, written).map(|user| {
        if recipient_accounts.contains(&user) {
            // A ban is of the present name: the one that was typed may be a former one.
            return accounts::must_not_be_banned(user).guarded_by(Limit::Ban);
        }
        accounts::must_exist(user).into()
    }));
    writes.extend(ledger_checks(order, context, lines, recipients, first)?);
    let bans = recipients.values().map(|recipient| keys::ban(recipient.name.key()));
    writes.extend(bans.map(|ban| Write::check(ban).only_if_absent().guarded_by(Limit::Ban)));
    let chat = order.effects.chat.as_ref().zip(order.order.owner);
    writes.extend(chat.map(|(id, user)| logins::claim(id, user, order.order.created_at).guarded_by(Limit::Chat)));
    Ok(writes)
}

/// The conditions on what buyer and recipients own and have paid.
fn ledger_checks(
    order: &StoredOrder,
    context: &CartContext,
    lines: &[PricedLine<'_>],
    recipients: &Recipients,
    first: &FirstPurchases,
) -> Result<Vec<Guarded>, HoldError> {
    let (mut writes, mut judged, mut owned) = (Vec::new(), BTreeSet::new(), possessions(lines, order.order.created_at));
    for who in first.keys() {
        owned.entry(who.clone()).or_default();
    }
    // What the buyer has paid on a first day is in the ledger that was read.
    let has_first_day = context.active.config.payments.first_day.is_some() && !owned.contains_key(&Beneficiary::Buyer);
    writes.extend(
        order
            .order
            .owner
            .filter(|owner| has_first_day && judged.insert(*owner))
            .map(|owner| Write::check(keys::ledger(owner)).and_at(context.ledger.version).into()),
    );
    for (who, bounds) in owned {
        let now = order.order.created_at;
        let (user, read, is_buyer) = match &who {
            Beneficiary::Buyer => (order.order.owner, Some(context.owner(now)), true),
            Beneficiary::Player(name) => {
                let recipient = recipients.get(name);
                let read = recipient.and_then(|recipient| recipient.ledger.as_ref());
                let read = read.map(|ledger| Buyer { ledger, subscriptions: &[], now });
                (recipient.and_then(|recipient| recipient.user), read, false)
            }
        };
        let (Some(user), first) = (user, first.get(&who)) else {
            bounds.allow_nothing_owned()?;
            continue;
        };
        // A gift for the buyer's own name, or for a player under a former and the present name: one transaction cannot
        // check a ledger twice.
        if !judged.insert(user) {
            let refusal = bounds.sold().map(|item| OrderRefusal::Recipient { item });
            let refusal = refusal.or_else(|| first.map(|item| OrderRefusal::FirstPurchase { item: *item }));
            refusal.map_or(Ok(()), Err)?;
            continue;
        }
        writes.push(match (first, bounds.must.first()) {
            // Who has no ledger owns nothing either.
            (Some(_), Some(needed)) if is_buyer => return Err(OrderRefusal::Lacks { item: needed.sold }.into()),
            (Some(_), Some(needed)) => return Err(OrderRefusal::RecipientLacks { item: needed.sold }.into()),
            (Some(item), None) => {
                let check = Write::check(keys::ledger(user)).only_if_absent();
                if is_buyer { check.into() } else { check.guarded_by(Limit::FirstPurchase { item: *item }) }
            }
            (None, _) => ownership(user, &bounds, read, is_buyer, now)?,
        });
    }
    Ok(writes)
}

/// The cart that remembers the checkout. It sells the version that this write makes.
fn remembering(cart: &Cart, order: &StoredOrder) -> Cart {
    let until = order.effects.provider.as_ref().map_or(0, |provider| provider.expires_at);
    let held = if order.effects.held { held(&order.order.lines, &order.effects) } else { Held::default() };
    let version = cart.version.saturating_add(1);
    let order = order.order.internal_id.clone();
    Cart { checkout: Some(OpenCheckout { order, version, until, held }), ..cart.clone() }
}

/// The limits of what a player owns before a checkout: at most, and at least.
#[derive(Debug, Default)]
struct Possessions {
    may: Vec<MayOwn>,
    must: Vec<MustOwn>,
}

impl Possessions {
    /// How many items are compared.
    fn len(&self) -> usize {
        self.may.len() + self.must.iter().map(|needed| needed.any_of.len()).sum::<usize>()
    }

    /// Whether a player without an account may get what is sold, who owns nothing.
    fn allow_nothing_owned(&self) -> Result<(), OrderRefusal> {
        if let Some(needed) = self.must.first() {
            return Err(OrderRefusal::RecipientLacks { item: needed.sold });
        }
        let beyond = self.may.iter().find(|limit| !limit.fits);
        beyond.map_or(Ok(()), |limit| Err(OrderRefusal::Recipient { item: limit.sold }))
    }

    /// The first item that it is about.
    fn sold(&self) -> Option<ItemId> {
        self.may.iter().map(|limit| limit.sold).chain(self.must.iter().map(|needed| needed.sold)).next()
    }
}

fn possessions(lines: &[PricedLine<'_>], now: i64) -> BTreeMap<Beneficiary, Possessions> {
    let mut all: BTreeMap<Beneficiary, Possessions> = BTreeMap::new();
    for (who, may) in may_own(lines, now) {
        all.entry(who).or_default().may = may;
    }
    for (who, must) in must_own(lines) {
        all.entry(who).or_default().must = must;
    }
    all
}

/// The condition that a user does not own more than the checkout allows, and what it requires. A ledger that was read must
/// allow it, and still be the same.
fn ownership(
    user: UserId,
    bounds: &Possessions,
    read: Option<Buyer<'_>>,
    is_buyer: bool,
    now: i64,
) -> Result<Guarded, OrderRefusal> {
    let refusal = |limit: &MayOwn| match limit.limit {
        _ if !is_buyer => OrderRefusal::Recipient { item: limit.sold },
        Some(most) => OrderRefusal::UserLimit { item: limit.sold, limit: most },
        None => OrderRefusal::Owned { item: limit.sold },
    };
    let lacks = |needed: &MustOwn| {
        let item = needed.sold;
        if is_buyer { OrderRefusal::Lacks { item } } else { OrderRefusal::RecipientLacks { item } }
    };
    let owns_more = |limit: &&MayOwn| !limit.fits || read.is_some_and(|read| limit.is_exceeded(read));
    if let Some(limit) = bounds.may.iter().find(owns_more) {
        return Err(refusal(limit));
    }
    let owns_none = |needed: &&MustOwn| read.is_some_and(|read| !needed.any_of.iter().any(|item| read.owns(*item)));
    if let Some(needed) = bounds.must.iter().find(owns_none) {
        return Err(lacks(needed));
    }
    // A subscription whose renewal is awaited is owned, and its run in the ledger has ended: the ledger is the one that was read.
    let is_in_ledger = |needed: &&MustOwn| {
        read.is_none_or(|read| needed.any_of.iter().any(|item| read.ledger.of(*item).at(now).units > 0))
    };
    let must: Vec<&MustOwn> = bounds.must.iter().filter(is_in_ledger).collect();
    let compared = ledgers::Bounds {
        at_most: bounds.may.iter().map(|limit| (limit.item, limit.most, limit.since)).collect(),
        any_of: must.iter().map(|needed| needed.any_of.clone()).collect(),
    };
    let limits = bounds.may.iter();
    let limits = limits.map(|limit| {
        let MayOwn { item, most, since, .. } = *limit;
        OwnedLimit { item, most, since, refusal: refusal(limit) }
    });
    let limits = limits.collect();
    let needed = must.iter().map(|needed| Needed { any_of: needed.any_of.clone(), refusal: lacks(needed) }).collect();
    let write = ledgers::check(user, compared, read.map(|read| read.ledger.version), now);
    Ok(write.guarded_by(Limit::Ownership { limits, needed, now }))
}
