//! The order of a checkout, before it is written.

use super::hold::Recipients;
use crate::model::{
    ChatId, Login, LoginKind, Money, Order, OrderEffects, OrderLine, OrderNumber, OrderReferral, OrderStatus,
    OrderSubscription, PaymentType, Payments, ProviderAccount, ProviderCheckout, ProviderCustomer, UserId,
};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::Sale;
use crate::store::StoreError;
use crate::store::orders::StoredOrder;
use crate::usecases::carts::LoadedCart;
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::new_internal_id;
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
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        line.recipient = name.and_then(|name| recipients.get(&name.key().to_string())).and_then(|found| found.user);
    }
    let order = Order {
        id: number,
        internal_id: new_internal_id().ok_or_else(StoreError::no_entropy)?,
        price: sale.price,
        currency: payments.currency.clone(),
        digits: Some(config.digits),
        status: OrderStatus::Pending,
        gateway: request.gateway.to_owned(),
        created_at: now,
        owner: Some(loaded.context.user),
        moved_to: None,
        lines,
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

/// The order with its checkout at the provider. Methods that confirm a payment days later would hold limited units, and uses of a
/// coupon, for as long.
pub(super) fn with_checkout(
    order: StoredOrder,
    loaded: &LoadedCart,
    account: ProviderAccount,
    is_limited: bool,
    now: i64,
) -> StoredOrder {
    let config = &loaded.context.active.config;
    let minutes = i64::from(config.payments.hold_minutes).max(LEAST_MINUTES);
    let expires_at = now.saturating_add(minutes * 60).saturating_add(MARGIN);
    let provider = ProviderCheckout {
        session: None,
        url: None,
        intent: None,
        expires_at,
        storefront: config.storefront_url.clone(),
        delayed: config.payments.delayed && !is_limited,
        asked_at: None,
        account: account.id,
        live: Some(account.live),
    };
    // An order of nothing waits for no payment: if its request ends early, the sweep completes it.
    let ends = if order.order.price == Money::ZERO { now } else { expires_at };
    let effects = OrderEffects { provider: Some(provider), due: Some(ends.saturating_add(GRACE)), ..order.effects };
    StoredOrder { effects, ..order }
}

/// The inputs of the order's effects. It has all been read for the cart.
pub(super) fn inputs(loaded: &LoadedCart, lines: &[PricedLine<'_>], recipients: &Recipients) -> OrderInputs {
    let accounts = recipients.values().filter_map(|recipient| recipient.user);
    OrderInputs {
        users: accounts.chain([loaded.context.user]).collect::<BTreeSet<UserId>>(),
        ledgers: BTreeMap::new(),
        items: lines.iter().map(|line| (line.item().id, line.published.clone())).collect(),
        counted: BTreeMap::new(),
        coupon: loaded.coupon().cloned(),
        has_use: false,
        gift_card: loaded.gift_card().cloned(),
        checkout: None,
        delivery: loaded.context.active.config.delivery.clone(),
    }
}
