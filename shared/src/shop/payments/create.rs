//! Beginning a checkout.

use super::begin::{self, HoldError, Recipient, Recipients, Request, inputs, order, with_checkout};
use super::desk::{Desk, SettleError};
use super::open::{Checkout, Existing, open, resume};
use super::provider::{Provider, ProviderError};
use super::reserve::{BuyerLimits, Place, confirm, has_limited, left_to_sweep, write};
use crate::model::{Cart, Login, Money, ProviderAccount};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::{CheckoutRefusal, Payer, check_commands, first_purchases, recipient_lacks, sale};
use crate::rules::code::AppliedCodes;
use crate::rules::sets::{Hindrance, required};
use crate::shop::accounts::names::NameRow;
use crate::shop::carts;
use crate::shop::carts::{CartContext, CartSources, LoadedCart};
use crate::shop::delivery::freeze;
use crate::shop::orders::refusal::{Guarded, OrderRefusal};
use crate::shop::orders::{StoredOrder, next_number};
use crate::shop::stock::reservations::Reservation;
use crate::table::transaction::send;
use crate::table::{Db, StoreError, Turns};
use std::collections::BTreeMap;

/// How often a cart that keeps changing is read again.
const CART_TURNS: u32 = 8;

/// The reason why there is no checkout. `E` is why the buyer could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CreateError<E> {
    #[error("the buyer could not be read")]
    Load(E),
    #[error(transparent)]
    Refused(#[from] CheckoutRefusal),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Begins a checkout of the buyer's cart, or finds the one that is open for the same cart. `first` is the
/// cart as it was read, `reload` reads it again if it has changed. If the provider or the database did not respond, the
/// same call continues where this one stopped.
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
    let desk = Desk::new(sources.db, sources.clock, provider);
    let mut first = Some(first);
    let mut paid = None;
    let mut is_looked_at_again = false;
    let mut turns = Turns::of(CART_TURNS);
    while turns.next().await {
        let context = match first.take() {
            Some(context) => context,
            None => reload().await.map_err(CreateError::Load)?,
        };
        if let Some(open) = &context.cart.checkout {
            match resume(&desk, open, &context.cart, request).await? {
                Existing::Open(checkout) => return Ok(checkout),
                Existing::Processing => return Err(CheckoutRefusal::Processing.into()),
                Existing::Paid => {
                    paid = Some(open.order.clone());
                    continue;
                }
                Existing::Ended => continue,
            }
        }
        let begun = match (begin(sources, provider.account(), request, context).await, &paid) {
            // All that was in the cart is paid. The buyer may not have seen the response.
            (Err(CreateError::Refused(CheckoutRefusal::Empty)), Some(order)) => {
                return Ok(Checkout { order: order.clone(), url: None });
            }
            (Err(CreateError::Store(StoreError::Contended)), _) => continue,
            // Another request of the same buyer may have reserved the units, and its order is not on the cart yet.
            (
                Err(CreateError::Refused(
                    CheckoutRefusal::SoldOut { .. }
                    | CheckoutRefusal::SoldOutOnServer { .. }
                    | CheckoutRefusal::Left { .. }
                    | CheckoutRefusal::LeftOnServer { .. }
                    | CheckoutRefusal::Later { .. },
                )),
                _,
            ) if !is_looked_at_again => {
                is_looked_at_again = true;
                continue;
            }
            (begun, _) => begun?,
        };
        let (order, reservation) = begun;
        let (opened, ()) = tokio::join!(open(&desk, &order), confirmed(sources, reservation));
        return opened.map_err(CreateError::from);
    }
    Err(StoreError::Contended.into())
}

async fn confirmed(sources: &CartSources<'_>, reservation: Option<Reservation>) {
    if let Some(reservation) = reservation {
        left_to_sweep(&reservation, confirm(sources.db, &reservation).await);
    }
}

/// Prices the cart, reserves stock and writes the pending order.
async fn begin<E>(
    sources: &CartSources<'_>,
    account: ProviderAccount,
    request: Request<'_>,
    mut context: CartContext,
) -> Result<(StoredOrder, Option<Reservation>), CreateError<E>> {
    let now = sources.clock.seconds();
    let mut limits = BuyerLimits::take(&mut context, request, sources.clock)?;
    let payments = context.active.config.payments.clone();
    let names: BTreeMap<String, Recipient> = recipients(&context);
    let loaded = LoadedCart::load_with(sources, context, None, names.values().map(Recipient::key).chain(limits.keys()));
    let (loaded, number) = tokio::join!(loaded, next_number(sources.db));
    let mut loaded = loaded?;
    let mut names = found(names, &mut loaded, now)?;
    limits.recognize(&mut loaded.items.rows)?;
    let lines = loaded.lines();
    let on_cart = loaded.codes(&lines, request.login.is_proven(), now);
    let coupon_ends = on_cart.coupon.as_ref().is_some_and(Result::is_err);
    let card_ends = on_cart.gift_card.as_ref().is_some_and(Result::is_err);
    let codes = on_cart.applied();
    if coupon_ends || card_ends {
        let cart = loaded.context.cart.clone();
        return Err(without_codes(sources.db, cart, (coupon_ends, card_ends), codes.to_pay(&lines)).await?.into());
    }
    if let Some(masked) = card_of_another(&loaded.context.cart, &codes, request.login) {
        return Err(CheckoutRefusal::CardOfAnotherLogin { masked }.into());
    }
    let payer = Payer {
        is_proven: request.login.is_proven(),
        has_chat: request.chat.is_some(),
        virtual_currency: loaded.context.virtual_currency,
        subscriptions: &loaded.context.subscriptions,
        now,
    };
    let sale = sale(&lines, &codes, &payments, payer)?;
    check_commands(&lines, &loaded.context.active.config.delivery)?;
    limits.check(sale.price)?;
    let coupon = loaded.coupon().filter(|_| sale.coupon.is_some());
    let is_limited = has_limited(&lines, coupon);
    let chat = request.chat.filter(|_| lines.iter().any(|line| line.item().needs_chat));
    let order = order(sale, &loaded, Request { chat, ..request }, &names, number?, &account, now)?;
    let address = limits.of_order(order.order.price);
    let mut order = with_checkout(order, &loaded, account, is_limited, address, now);
    let (inputs, first) = (inputs(&loaded, &lines, &names, coupon), first_purchases(&lines, &codes));
    let commands = freeze(&mut order, &inputs.items, &inputs.delivery)?;
    begin::read_ledgers(sources.db, &lines, &mut names, now).await?;
    let place = Place::of(&order, is_limited, request.address);
    let writes = |reservation: Option<&Reservation>| {
        let context = &loaded.context;
        let mut writes = begin::writes(&order, context, &lines, &names, &inputs, &first, reservation)?;
        writes.extend(limits.writes(order.address())?);
        writes.extend(commands.map(Guarded::from));
        Ok(writes)
    };
    match write(sources.db, &order, &loaded.context.cart, &inputs, place.as_ref(), writes).await {
        Ok(reservation) => Ok((order, reservation)),
        Err(HoldError::Refused(refusal)) => Err(refused(refusal, &lines)),
        Err(HoldError::Store(error)) => Err(error.into()),
    }
}

/// Takes codes that have ended off a cart: its buyer pays only what was shown.
async fn without_codes(
    db: &Db,
    mut cart: Cart,
    (coupon_ends, card_ends): (bool, bool),
    total: Money,
) -> Result<CheckoutRefusal, StoreError> {
    cart.coupon.take_if(|_| coupon_ends);
    cart.gift_card.take_if(|_| card_ends);
    send(db, vec![carts::write(&cart)?]).await?;
    Ok(CheckoutRefusal::CodeRemoved { total })
}

/// The players that gifts in the cart are for.
fn recipients(context: &CartContext) -> Recipients {
    let names = context.cart.lines.iter().filter_map(|line| line.gift_to.as_ref());
    names.map(|name| (name.key().to_string(), Recipient { name: name.clone(), user: None, ledger: None })).collect()
}

/// The recipients with their accounts. A former name that is still held is that of its account.
fn found(mut recipients: Recipients, loaded: &mut LoadedCart, now: i64) -> Result<Recipients, StoreError> {
    for recipient in recipients.values_mut() {
        let row: Option<NameRow> = loaded.items.rows.take_live(&recipient.key())?;
        recipient.user = row.filter(|row| !row.is_free(now)).map(|row| row.user);
    }
    Ok(recipients)
}

/// The gift card that would pay although another login entered it, as this login is shown it.
fn card_of_another(cart: &Cart, codes: &AppliedCodes<'_>, login: Login) -> Option<String> {
    let applied = cart.gift_card.as_ref().filter(|_| codes.gift_sum() > Money::ZERO)?;
    (!login.may_use_card_of(applied.login)).then(|| applied.code.masked())
}

/// The buyer's refusal for a refusal of the transaction. A code that was used up meanwhile is checked again.
fn refused<E>(refusal: OrderRefusal, lines: &[PricedLine<'_>]) -> CreateError<E> {
    let name_of = |line: &PricedLine<'_>| line.item().name.clone();
    let line_of = |id| lines.iter().find(|line| line.item().id == id);
    let name = |id| line_of(id).map_or_else(String::new, name_of);
    CreateError::Refused(match refusal {
        OrderRefusal::TooManyCheckouts { retry_seconds } => CheckoutRefusal::TooManyAttempts { retry_seconds },
        OrderRefusal::TooManyOpen { retry_seconds } => CheckoutRefusal::TooManyOpen { retry_seconds },
        OrderRefusal::FirstDay(first) => CheckoutRefusal::FirstDay(first),
        OrderRefusal::GlobalLimit { item, .. } | OrderRefusal::Place { item } => {
            CheckoutRefusal::SoldOut { name: name(item) }
        }
        OrderRefusal::Later { item, at } => CheckoutRefusal::Later { name: name(item), at },
        OrderRefusal::UserLimit { item, .. } | OrderRefusal::UserTime { item, .. } | OrderRefusal::Owned { item } => {
            CheckoutRefusal::Unavailable { name: name(item) }
        }
        OrderRefusal::Recipient { item } => CheckoutRefusal::Recipient { name: name(item) },
        OrderRefusal::FirstPurchase { item } => CheckoutRefusal::FirstPurchase { name: name(item) },
        OrderRefusal::Lacks { item } => {
            let why = line_of(item).map_or_else(String::new, |line| required(line.item()));
            CheckoutRefusal::Hindered { name: name(item), why: Hindrance::Requires(why) }
        }
        OrderRefusal::RecipientLacks { item } => match line_of(item) {
            Some(line) => recipient_lacks(line.item()),
            None => CheckoutRefusal::Recipient { name: name(item) },
        },
        OrderRefusal::Banned => CheckoutRefusal::Banned,
        OrderRefusal::Subscribed => CheckoutRefusal::AlreadySubscribed,
        OrderRefusal::VirtualCurrency => CheckoutRefusal::VirtualCurrency,
        OrderRefusal::Chat => {
            let needs_chat = |line: &&PricedLine<'_>| line.item().needs_chat;
            CheckoutRefusal::NoChat { name: lines.iter().find(needs_chat).map_or_else(String::new, name_of) }
        }
        OrderRefusal::UnknownCoupon
        | OrderRefusal::UnknownGiftCard
        | OrderRefusal::CouponUsedUp
        | OrderRefusal::CouponUsedUpByUser
        | OrderRefusal::GiftCardBalance
        | OrderRefusal::Card => return StoreError::Contended.into(),
    })
}

impl<E> From<SettleError> for CreateError<E> {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Provider(error) => Self::Provider(error),
            SettleError::Store(error) => Self::Store(error),
        }
    }
}
