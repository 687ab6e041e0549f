//! Beginning a checkout.

use super::existing::{Existing, resume};
use super::hold::{self, HoldError, Recipient, Recipients};
use super::provider::{Provider, ProviderError};
use super::settle::{SettleError, complete, open_session};
use super::take::{Took, keep, left_to_sweep, settle_take, take_back, take_units};
use crate::model::{
    Cart, Code, InternalId, Money, Order, OrderEffects, OrderNumber, OrderStatus, Payments, ProviderCheckout, UserId,
};
use crate::rules::cart::{PricedLine, sums};
use crate::rules::checkout::{CheckoutRefusal, Payer, Sale, sale};
use crate::store::names::NameRow;
use crate::store::orders::StoredOrder;
use crate::store::takes::Take;
use crate::store::transaction::{Sent, send, send_patiently};
use crate::store::{StoreError, backoff, carts, keys, orders, read_live};
use crate::usecases::carts::{CartContext, CartSources, LoadedCart};
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::refusal::{OrderRefusal, Write};
use crate::usecases::orders::{new_internal_id, next_number};
use std::collections::{BTreeMap, BTreeSet};

/// How many seconds longer than it is promised a checkout is open, so that a slow request is not too late.
const MARGIN: i64 = 300;
/// The fewest minutes that a checkout is open: less is refused by providers.
const LEAST_MINUTES: i64 = 30;
/// How many seconds after its end the sweep looks at a checkout.
const GRACE: i64 = 60;
/// How often a cart that keeps changing is read again.
const ROUNDS: u32 = 8;

/// What a buyer asks for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The name of the payment method.
    pub gateway: &'a str,
    /// Whether the token proves more than a name (rules.md, "Tokens").
    pub is_proven: bool,
    /// Whether the buyer has completed the chat login.
    pub has_chat: bool,
}

/// A checkout that the buyer can pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The order's id.
    pub order: InternalId,
    /// The URL at which it is paid; `None` if the order is paid already.
    pub url: Option<String>,
}

/// Why there is no checkout. `E` is why the buyer could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CreateError<E> {
    /// The buyer could not be read.
    #[error("the buyer could not be read")]
    Load(E),
    /// The cart cannot be paid as it is.
    #[error(transparent)]
    Refused(#[from] CheckoutRefusal),
    /// The code on the cart no longer applies. It has been removed.
    #[error("The code on your cart no longer applies and was removed.")]
    CodeRemoved {
        /// What the cart costs without it.
        total: Money,
    },
    /// The last payment has not ended.
    #[error("Your last payment is being processed.")]
    Processing,
    /// The provider.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Other writes kept changing the same items.
    #[error("other writes kept changing the same items; nothing was held")]
    Conflict,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Begins a checkout of the buyer's cart, or finds the one that is open for the same cart. `first` is the
/// cart as it was read, `reload` reads it again if it has changed.
///
/// # Errors
/// [`CreateError`]. If the provider or the database did not respond, the same call continues where this one stopped.
pub async fn create<P, E, F>(
    sources: &CartSources<'_>,
    provider: &P,
    request: Request<'_>,
    first: CartContext,
    reload: impl Fn() -> F,
) -> Result<Checkout, CreateError<E>>
where
    P: Provider,
    F: Future<Output = Result<CartContext, E>>,
{
    let mut first = Some(first);
    let mut paid = None;
    let mut is_looked_at_again = false;
    for round in 0..ROUNDS {
        let context = match first.take() {
            Some(context) => context,
            None => {
                tokio::time::sleep(backoff(round - 1)).await;
                reload().await.map_err(CreateError::Load)?
            }
        };
        if let Some(open) = &context.cart.checkout {
            match resume(sources, provider, open, context.cart.version, context.user).await? {
                Existing::Open(checkout) => return Ok(checkout),
                Existing::Processing => return Err(CreateError::Processing),
                Existing::Paid => {
                    paid = Some(open.order.clone());
                    continue;
                }
                Existing::Ended => continue,
            }
        }
        let begun = match (begin(sources, request, context).await, &paid) {
            // All that was in the cart is paid. The buyer may not have seen the response.
            (Err(CreateError::Refused(CheckoutRefusal::Empty)), Some(order)) => {
                return Ok(Checkout { order: order.clone(), url: None });
            }
            // Another request of the same buyer may have counted the units, and its order is not on the cart yet.
            (Err(CreateError::Refused(CheckoutRefusal::SoldOut { .. } | CheckoutRefusal::Left { .. })), _)
                if !is_looked_at_again =>
            {
                is_looked_at_again = true;
                continue;
            }
            (begun, _) => begun?,
        };
        if let Some((order, take)) = begun {
            let (opened, ()) = tokio::join!(open(sources, provider, &order), kept(sources, take));
            return opened.map_err(CreateError::from);
        }
    }
    Err(CreateError::Conflict)
}

async fn kept(sources: &CartSources<'_>, take: Option<Take>) {
    if let Some(take) = take {
        left_to_sweep(&take, keep(sources.db, &take).await);
    }
}

/// Judges the cart and holds what it sells. `None` if it has changed meanwhile.
async fn begin<E>(
    sources: &CartSources<'_>,
    request: Request<'_>,
    context: CartContext,
) -> Result<Option<(StoredOrder, Option<Take>)>, CreateError<E>> {
    let now = sources.clock.seconds();
    let payments = context.active.config.payments.clone();
    let names: BTreeMap<String, Recipient> = recipients(&context);
    let loaded = LoadedCart::load_with(sources, context, None, names.values().map(Recipient::key));
    let (loaded, number) = tokio::join!(loaded, next_number(sources.db));
    let mut loaded = loaded?;
    let names = found(names, &mut loaded)?;
    let lines = loaded.lines();
    let applied = match (&loaded.context.cart.code, loaded.applied(&lines, now)) {
        (None, _) => None,
        (Some(_), Ok(applied)) => Some(applied),
        (Some(_), Err(_)) => return remove_code(sources, &loaded, &lines).await,
    };
    let payer = Payer {
        is_proven: request.is_proven,
        has_chat: request.has_chat,
        virtual_currency: loaded.context.virtual_currency,
    };
    let sale = sale(&lines, applied.as_ref(), &payments, payer)?;
    let order = order(sale, &loaded, request, &names, number?, now)?;
    let inputs = inputs(&loaded, &lines, &names);
    let cart = &loaded.context.cart;
    let (sent, take) =
        write(sources, &order, cart, &inputs, now, |take| hold::writes(&order, cart, &lines, &names, &inputs, take))
            .await?;
    match sent {
        Sent::Written => Ok(Some((order, take))),
        Sent::Conflict => Ok(None),
        Sent::Refused(refusal) => refused(refusal, &lines),
    }
}

/// Counts the units of an order that holds them, and sends the writes of the order. If they are refused, the units are
/// taken back.
async fn write(
    sources: &CartSources<'_>,
    order: &StoredOrder,
    cart: &Cart,
    inputs: &OrderInputs,
    now: i64,
    writes: impl FnOnce(Option<&Take>) -> Result<Vec<Write>, HoldError>,
) -> Result<(Sent<OrderRefusal>, Option<Take>), StoreError> {
    let mut take = None;
    if order.effects.held {
        match take_units(sources.db, order, inputs, now).await? {
            Took::All(taken) => take = Some(taken),
            Took::Refused(refusal) => {
                // Another request of the same buyer may have taken them.
                let current: Option<Cart> = read_live(sources.db, &keys::cart(cart.user)).await?;
                let is_same = current.is_none_or(|current| current.version == cart.version);
                return Ok((if is_same { Sent::Refused(refusal) } else { Sent::Conflict }, None));
            }
            Took::Conflict => return Ok((Sent::Conflict, None)),
        }
    }
    let sent = match writes(take.as_ref()) {
        Ok(writes) => match send_patiently(sources.db, writes).await {
            Ok(sent) => sent,
            Err(error) => {
                if let Some(take) = &take {
                    // It is not known whether the order is written.
                    left_to_sweep(take, settle_take(sources.db, take).await);
                }
                return Err(error);
            }
        },
        Err(HoldError::Refused(refusal)) => Sent::Refused(refusal),
        Err(HoldError::Store(error)) => return Err(error),
    };
    if let Some(take) = take.as_ref().filter(|_| sent != Sent::Written) {
        take_back(sources.db, take).await?;
    }
    Ok((sent, take))
}

/// The players that gifts in the cart are for.
fn recipients(context: &CartContext) -> Recipients {
    let names = context.cart.lines.iter().filter_map(|line| line.gift_to.as_ref());
    names.map(|name| (name.key().to_string(), Recipient { name: name.clone(), user: None })).collect()
}

/// The recipients with their accounts.
fn found(mut recipients: Recipients, loaded: &mut LoadedCart) -> Result<Recipients, StoreError> {
    for recipient in recipients.values_mut() {
        let key = recipient.key();
        let row: Option<NameRow> = loaded.items.rows.take(&key).map(|row| row.live(&key)).transpose()?;
        recipient.user = row.map(|row| row.user);
    }
    Ok(recipients)
}

/// The order of a sale. Everything that the provider is sent is in it.
fn order(
    sale: Sale,
    loaded: &LoadedCart,
    request: Request<'_>,
    recipients: &Recipients,
    number: OrderNumber,
    now: i64,
) -> Result<StoredOrder, StoreError> {
    let config = &loaded.context.active.config;
    let payments: &Payments = &config.payments;
    let minutes = i64::from(payments.hold_minutes).max(LEAST_MINUTES);
    let expires_at = now.saturating_add(minutes * 60).saturating_add(MARGIN);
    let mut lines = sale.lines;
    for line in &mut lines {
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        line.recipient = name.and_then(|name| recipients.get(&name.key().to_string())).and_then(|found| found.user);
    }
    let order = Order {
        id: number,
        internal_id: new_internal_id().ok_or_else(|| StoreError::unavailable("getrandom"))?,
        price: sale.price,
        currency: payments.currency.clone(),
        digits: Some(config.digits),
        status: OrderStatus::Pending,
        gateway: request.gateway.to_owned(),
        created_at: now,
        owner: Some(loaded.context.user),
        lines,
    };
    let provider = ProviderCheckout {
        session: None,
        url: None,
        intent: None,
        expires_at,
        storefront: config.storefront_url.clone(),
        delayed: payments.delayed,
        asked_at: None,
    };
    let effects = OrderEffects {
        recorded_as: Some(OrderStatus::Pending),
        coupon: sale.coupon,
        gift_card: sale.gift_card,
        counted: Some(false),
        virtual_currency: sale.virtual_currency,
        // What costs nothing is paid at once.
        held: payments.hold_minutes > 0 || sale.price == Money::ZERO,
        provider: Some(provider),
        due: Some(expires_at.saturating_add(GRACE)),
        ..OrderEffects::default()
    };
    Ok(StoredOrder { order, effects })
}

/// What the order's effects depend on. It has all been read for the cart.
fn inputs(loaded: &LoadedCart, lines: &[PricedLine<'_>], recipients: &Recipients) -> OrderInputs {
    let code = |is_kind: fn(&Code) -> bool| loaded.code().filter(|code| is_kind(code)).cloned();
    let accounts = recipients.values().filter_map(|recipient| recipient.user);
    OrderInputs {
        stored: None,
        users: accounts.chain([loaded.context.user]).collect::<BTreeSet<UserId>>(),
        ledgers: BTreeSet::new(),
        items: lines.iter().map(|line| (line.item().id, line.published.clone())).collect(),
        counted: BTreeSet::new(),
        coupon: code(|code| matches!(code, Code::Coupon(_))),
        has_use: false,
        gift_card: code(|code| matches!(code, Code::Gift(_))),
        checkout: None,
    }
}

/// Removes a code that no longer applies from the cart, so that the buyer pays only what was shown.
async fn remove_code<T, E>(
    sources: &CartSources<'_>,
    loaded: &LoadedCart,
    lines: &[PricedLine<'_>],
) -> Result<Option<T>, CreateError<E>> {
    let cart = Cart { code: None, ..loaded.context.cart.clone() };
    let write: Write = carts::write(&cart)?;
    match send(sources.db, vec![write]).await? {
        Sent::Written => Err(CreateError::CodeRemoved { total: sums(lines).clear_price }),
        Sent::Conflict | Sent::Refused(_) => Ok(None),
    }
}

/// The buyer's refusal for a refusal of the transaction. A code that was used up meanwhile is checked again.
fn refused<T, E>(refusal: OrderRefusal, lines: &[PricedLine<'_>]) -> Result<Option<T>, CreateError<E>> {
    let name =
        |id| lines.iter().find(|line| line.item().id == id).map_or_else(String::new, |line| line.item().name.clone());
    Err(CreateError::Refused(match refusal {
        OrderRefusal::GlobalLimit { item, .. } => CheckoutRefusal::SoldOut { name: name(item) },
        OrderRefusal::UserLimit { item, .. } | OrderRefusal::Owned { item } => {
            CheckoutRefusal::Unavailable { name: name(item) }
        }
        OrderRefusal::Recipient { item } => CheckoutRefusal::Recipient { name: name(item) },
        OrderRefusal::Banned => CheckoutRefusal::Banned,
        OrderRefusal::VirtualCurrency => CheckoutRefusal::VirtualCurrency,
        OrderRefusal::UnknownCoupon
        | OrderRefusal::UnknownGiftCard
        | OrderRefusal::CouponUsedUp
        | OrderRefusal::CouponUsedUpByUser
        | OrderRefusal::GiftCardBalance => return Ok(None),
    }))
}

/// Opens the provider's checkout of an order and stores it. An order without a price is paid at once. If the provider
/// refuses it permanently, what was held is given back.
pub(super) async fn open<P: Provider>(
    sources: &CartSources<'_>,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Checkout, SettleError> {
    let order = stored.order.internal_id.clone();
    if stored.order.price == Money::ZERO {
        complete(sources.db, sources.clock, stored).await?;
        return Ok(Checkout { order, url: None });
    }
    let session = open_session(sources.db, sources.clock, provider, stored).await?;
    let write: Write = stored.set_session(&session.id, &session.url);
    if send_patiently(sources.db, vec![write]).await? != Sent::Written {
        // Another request for the same order may have stored the same session, or ended the order.
        let now = orders::get(sources.db, &order).await?;
        let is_stored = |stored: &StoredOrder| {
            stored.effects.provider.as_ref().is_some_and(|provider| provider.session.as_ref() == Some(&session.id))
        };
        if !now.as_ref().is_some_and(is_stored) {
            // The session of an order that waits is opened again by the next request or the sweep, with the same key: the
            // provider then returns this one, and it must not be expired.
            if !now.is_some_and(|stored| stored.order.status == OrderStatus::Pending) {
                provider.expire(&session.id).await?;
            }
            return Err(SettleError::Conflict);
        }
    }
    Ok(Checkout { order, url: Some(session.url) })
}

impl<E> From<SettleError> for CreateError<E> {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Provider(error) => Self::Provider(error),
            SettleError::Store(error) => Self::Store(error),
            SettleError::Conflict => Self::Conflict,
        }
    }
}
