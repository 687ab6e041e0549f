//! The order desk: the one place that asks the payment provider about an order, decides, and writes what follows.
//!
//! *Settle* asks what became of a payment and writes it, *end* ends a checkout first, *apply* writes what is known already. What
//! the buyer's bank says of a payment is noted with it (rules.md, "Disputes").

use super::answers::noted;
use super::provider::{DisputeState, Provider, ProviderError, Session};
use super::refunds::{EndsGone, end_review, ended_by, note_attempt, note_failed, refund_in_part, review, take_off};
use crate::clock::Clock;
use crate::model::{
    Cancellation, DeliveryStep, Entitlement, InternalId, LoginKind, Money, OrderDelivery, OrderEffects, OrderStatus,
    User, UserName,
};
use crate::rules::dispute::{decisive, is_older, is_taken_back, takes_back};
use crate::rules::payment::{Decision, Origin, PaymentState, Progress, decide, is_own, new_facts, origin, tax_of};
use crate::shop::accounts::bans;
use crate::shop::notices::of_orders::Telling;
use crate::shop::orders::change::{Step, after, complete, give_up, must_change, write_paid};
use crate::shop::orders::{self, OrderRefusal, StoredOrder};
use crate::shop::subscriptions::of_orders::end;
use crate::shop::subscriptions::without_order;
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, LostRace, StoreError, TURNS, in_turns, keys, read_live};
use crate::telemetry::{self, PaymentEvent, payment_event};

/// The table, the time, and the payment provider that is asked: `&P`, or `Option<&P>` where it may be missing.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a, P> {
    pub db: &'a Db,
    pub clock: &'a dyn Clock,
    pub provider: P,
}

impl<'a, P> Desk<'a, P> {
    pub const fn new(db: &'a Db, clock: &'a dyn Clock, provider: P) -> Self {
        Self { db, clock, provider }
    }
}

impl<'a, P: Provider> Desk<'a, Option<&'a P>> {
    /// The desk with its provider; `None` if none is connected.
    pub(super) fn connected(&self) -> Option<Desk<'a, &'a P>> {
        self.provider.map(|provider| Desk::new(self.db, self.clock, provider))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The payment has not ended; the order waits.
    Open,
    /// The provider has no such checkout; the order waits for the end of its time.
    Gone,
    Changed,
    /// The order says already what the provider says.
    Unchanged,
}

/// The reason why an order was not settled. The same call may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::table::lost_race!(SettleError);

/// The id of the order's own payment, if the order does not have it yet.
pub(super) fn unknown_intent<'a>(stored: &StoredOrder, state: &'a PaymentState) -> Option<&'a str> {
    let provider = stored.effects.provider.as_ref()?;
    let intent = state.intent.as_deref().filter(|_| state.progress == Progress::Paid)?;
    let is_own = state.order.as_ref() == Some(&stored.order.internal_id);
    (is_own && provider.intent.as_deref() != Some(intent)).then_some(intent)
}

impl<P: Provider> Desk<'_, &P> {
    /// Asks the provider what became of an order's checkout, and writes it. An order whose checkout was never opened waits.
    pub async fn settle(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        let Some(session) = stored.session() else {
            return Ok(Settled::Open);
        };
        let settled = match self.provider.fetch(session).await {
            Ok(state) => self.apply_own(stored, &state).await,
            Err(error) => Err(error.into()),
        };
        self.or_gone(stored, settled, EndsGone::Later).await
    }

    /// [`Self::settle`], or [`Self::end`] if the time of a pending order's checkout is up, or nothing has to be paid.
    pub(super) async fn settle_or_end(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        let is_awaited = stored.order.price > Money::ZERO && stored.is_open(self.clock.seconds());
        if stored.order.status != OrderStatus::Pending || is_awaited {
            return self.settle(stored).await;
        }
        let ended = self.end_or_ended(stored).await;
        self.or_gone(stored, ended, EndsGone::Later).await
    }

    /// [`Self::end`]. The provider has most likely ended it by itself: then one call is enough.
    async fn end_or_ended(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        if let Some(session) = stored.session() {
            let state = self.provider.fetch(session).await?;
            if state.progress != Progress::Open {
                return self.apply_own(stored, &state).await;
            }
        }
        self.end(stored).await
    }

    /// [`Self::settle`], unless the provider was asked about the same order less than `every` seconds ago; then `None`.
    pub async fn ask(&self, stored: &StoredOrder, every: i64) -> Result<Option<Settled>, SettleError> {
        let now = self.clock.seconds();
        let write: Write = stored.set_asked(now, now.saturating_sub(every));
        if sent(self.db, vec![write]).await? { self.settle(stored).await.map(Some) } else { Ok(None) }
    }

    /// Ends an order's checkout at the provider, and writes what came of it. A session whose URL was never stored is asked
    /// for again by the same key, so that nothing stays open that could be paid.
    pub(super) async fn end(&self, stored: &StoredOrder) -> Result<Settled, SettleError> {
        if stored.order.price == Money::ZERO {
            complete(self.db, self.clock, &stored.order.internal_id).await?;
            return Ok(Settled::Changed);
        }
        let session = match stored.session() {
            Some(session) => session.to_owned(),
            None => match self.open_session(stored).await {
                Ok(session) => session.id,
                Err(SettleError::Provider(ProviderError::Refused(_) | ProviderError::Key(_))) => {
                    return Ok(Settled::Changed);
                }
                Err(error) => return Err(error),
            },
        };
        self.provider.expire(&session).await?;
        let state = self.provider.fetch(&session).await?;
        self.apply_own(stored, &state).await
    }

    async fn apply_own(&self, stored: &StoredOrder, state: &PaymentState) -> Result<Settled, SettleError> {
        Ok(self.apply(&stored.order.internal_id, state).await?.unwrap_or(Settled::Unchanged))
    }

    /// Writes what the provider says of an order, conditional on the order's status, with the disputes of the payment: their
    /// events may have come before the order was known as its own. A checkout that is not the order's own changes nothing.
    /// `None` if there is no such order.
    pub async fn apply(&self, id: &InternalId, state: &PaymentState) -> Result<Option<Settled>, SettleError> {
        // Boxed, as what a command awaits nests deeper than the compiler follows.
        let settled = in_turns(TURNS, || Box::pin(self.decide_once(id, state))).await?;
        if settled.is_some() && state.order.as_ref() == Some(id) {
            self.note_disputes(id, state).await?;
        }
        Ok(settled)
    }

    async fn note_disputes(&self, id: &InternalId, state: &PaymentState) -> Result<(), SettleError> {
        for (dispute, words) in &state.disputes {
            let dispute = DisputeState { id: dispute.clone(), intent: None, state: words.clone() };
            note_dispute(self.db, self.clock, id, &dispute).await?;
        }
        Ok(())
    }

    /// Decides about an order, and writes that.
    async fn decide_once(&self, id: &InternalId, state: &PaymentState) -> Result<Option<Settled>, SettleError> {
        let Some(mut stored) = orders::get(self.db, id).await? else { return Ok(None) };
        if !is_own(&stored.order, &stored.effects, state) {
            // One whose response was lost ends by itself. Only a paid one needs an operator.
            without_order(state, "a paid checkout is not its order's own");
            return Ok(Some(Settled::Unchanged));
        }
        note_attempt(self.db, &stored, state).await?;
        let decision = decide(&stored.order, &stored.effects, state);
        self.carry_out(&mut stored, state, decision).await.inspect_err(|error| {
            if error.is_contended() {
                telemetry::conflict();
            }
        })?;
        let status = stored.order.status;
        if decision == Decision::Nothing {
            if stored.delivery_due() || stored.effects.cart_cleared == Some(false) {
                after(self.db, self.clock, &stored).await?;
            }
            return Ok(Some(if status == OrderStatus::Pending { Settled::Open } else { Settled::Unchanged }));
        }
        if matches!(decision, Decision::Pay | Decision::PayOrRefund)
            && status == OrderStatus::Paid
            && state.refunded > Money::ZERO
        {
            // It is seen for the first time when a part is refunded already.
            let refunds = decide(&stored.order, &stored.effects, state);
            self.carry_out(&mut stored, state, refunds).await?;
        }
        after(self.db, self.clock, &stored).await?;
        Ok(Some(Settled::Changed))
    }

    /// Writes a decision.
    async fn carry_out(
        &self,
        stored: &mut StoredOrder,
        state: &PaymentState,
        decision: Decision,
    ) -> Result<(), SettleError> {
        let ended = ended_by(stored, state, self.clock);
        let step = |to| {
            let intent = unknown_intent(stored, state);
            Step { intent, reviewed: ended.as_ref(), ..Step::to(to, self.clock.seconds()) }
        };
        match decision {
            Decision::Nothing => note_payment(self.db, stored, state).await?,
            Decision::Pay | Decision::PayOrRefund => self.pay_or_refund(stored, state).await?,
            Decision::FinishRefund => {
                abandon(self.provider, state).await?;
                self.refund_late(stored, state).await?;
            }
            Decision::End(to) => {
                abandon(self.provider, state).await?;
                must_change(self.db, stored, &step(to)).await?;
            }
            Decision::Refund => {
                // First what is lost in a dispute: it gives less back than a refund. The change conflicts with what is noted now.
                self.note_disputes(&stored.order.internal_id, state).await?;
                must_change(self.db, stored, &step(OrderStatus::Refunded)).await?;
            }
            Decision::RefundInPart(refunds) => refund_in_part(self.db, self.clock, stored, &refunds).await?,
            Decision::RefundFailed(refunds) => note_failed(self.db, stored, &refunds).await?,
            Decision::EndReview => {
                if let Some(reviewed) = &ended {
                    abandon(self.provider, state).await?;
                    end_review(self.db, stored, reviewed).await?;
                }
            }
            Decision::Review(reason) => review(self.db, stored, unknown_intent(stored, state), reason).await?,
        }
        Ok(())
    }
}

/// Cancels the subscription of a payment that does not become an order, because it was refunded before it was seen or after
/// a review: it would be charged again. Nothing else knows of one whose first payment that is.
async fn abandon<P: Provider>(provider: &P, state: &PaymentState) -> Result<(), ProviderError> {
    let Some(period) = &state.period else { return Ok(()) };
    let how = if period.renewal { Cancellation::AtPeriodEnd } else { Cancellation::Now };
    provider.cancel_subscription(&period.subscription, how).await
}

/// Writes the order of a payment as soon as the payment is known: later refunds and disputes name only the payment. And what has
/// become known of it since. A buyer whose payment is confirmed later is not sent to its page again.
async fn note_payment(db: &Db, stored: &StoredOrder, state: &PaymentState) -> Result<(), StoreError> {
    let has_url = stored.effects.provider.as_ref().is_some_and(|provider| provider.url.is_some());
    if state.progress == Progress::Processing && has_url {
        // Another request may have settled the order.
        sent(db, vec![stored.forget_url()]).await?;
    }
    if let Some(intent) = unknown_intent(stored, state) {
        send(db, stored.set_intent(intent)?).await?;
    }
    match new_facts(&stored.order, &stored.effects, state) {
        Some(facts) => send(db, vec![stored.set_facts(&facts)?]).await,
        None => Ok(()),
    }
}

impl<P: Provider> Desk<'_, &P> {
    /// Opens the provider's session of an order. If the provider refuses it permanently, what is held is given back.
    pub(super) async fn open_session(&self, stored: &StoredOrder) -> Result<Session, SettleError> {
        let is_elsewhere = |checkout| origin(checkout, &self.provider.account()) == Origin::Other;
        if stored.effects.provider.as_ref().is_some_and(is_elsewhere) {
            // It may be open there already. Here it would be another one.
            return Err(ProviderError::NoCheckout("the order is one of another account or mode".to_owned()).into());
        }
        let opened = self.provider.open(stored).await;
        if opened.as_ref().is_err_and(ProviderError::is_refusal) {
            give_up(self.db, self.clock, &stored.order.internal_id).await?;
        }
        Ok(opened?)
    }

    /// Writes that an order is paid. What was not held and cannot be taken any more is refunded.
    async fn pay_or_refund(&self, stored: &mut StoredOrder, state: &PaymentState) -> Result<(), SettleError> {
        let (intent, period) = (state.intent.as_deref(), state.period.as_ref());
        // A renewal ends with the ban of the name.
        let card = state.card.as_deref().filter(|_| period.is_none_or(|period| !period.renewal));
        let facts = new_facts(&stored.order, &stored.effects, state);
        let facts = facts.as_ref();
        let tax = tax_of(&stored.order, &stored.effects, state);
        let tax = tax.as_ref();
        let step = Step { intent, period, card, tax, facts, ..Step::to(OrderStatus::Paid, self.clock.seconds()) };
        match write_paid(self.db, self.clock, stored, &step).await? {
            Ok(()) => return Ok(()),
            Err(OrderRefusal::Card) if !stored.effects.card_banned => {
                // The buyer is told why.
                send(self.db, vec![stored.set_card_banned()]).await?;
            }
            Err(_) => {}
        }
        abandon(self.provider, state).await?;
        self.refund_late(stored, state).await
    }
}

/// Notes the state of a dispute on its order. One that takes the order back takes it off what ledgers call paid, recalls what
/// waits for game servers, takes back what ran, and bans the buyer if the store says so. The same state may be noted again; an
/// older one is not. Returns the order as it was before; `None` if it does not exist. After an error the same call may be
/// repeated.
pub async fn note_dispute(
    db: &Db,
    clock: &dyn Clock,
    order: &InternalId,
    dispute: &DisputeState,
) -> Result<Option<StoredOrder>, SettleError> {
    in_turns(TURNS, || async {
        let Some(stored) = orders::get(db, order).await? else { return Ok(None) };
        let noted = stored.effects.disputes.get(&dispute.id);
        if noted.is_some_and(|noted| *noted == dispute.state || is_older(&dispute.state, noted)) {
            return Ok(Some(stored));
        }
        note(db, clock, &stored, dispute).await?;
        tracing::error!(order = %order, state = dispute.state, "a payment is disputed");
        payment_event(PaymentEvent::Dispute, 1);
        after(db, clock, &stored).await?;
        Ok(Some(stored))
    })
    .await
}

/// Writes the state of a dispute and what follows from it.
async fn note(db: &Db, clock: &dyn Clock, stored: &StoredOrder, dispute: &DisputeState) -> Result<(), SettleError> {
    let mut disputes = stored.effects.disputes.clone();
    disputes.insert(dispute.id.clone(), dispute.state.clone());
    let decides = decisive(disputes.values().map(String::as_str));
    let takes_back = takes_back(decides);
    if takes_back && !is_taken_back(&stored.effects) {
        // Before it is noted, so that a repeated call does it again.
        ban_buyer(db, clock, stored).await?;
    }
    let begun = if takes_back { taken_back(stored) } else { None };
    let begun = begun.map(|next| stored.begin_delivery(next, clock.seconds())).transpose()?;
    let (with, others) = begun.map_or((None, Vec::new()), |(own, others)| (Some(own), others));
    let after = OrderEffects { dispute: Some(decides.to_owned()), ..stored.effects.clone() };
    let paid = if stored.order.status == OrderStatus::Paid {
        take_off(db, stored, &after, clock.seconds()).await?
    } else {
        Vec::new()
    };
    let ended = if takes_back { end(db, stored, true, clock.seconds()).await? } else { Vec::new() };
    let (own, answers) = (stored.set_disputes(&disputes, decides, with), noted(stored, dispute, clock.seconds()));
    let own = if answers == stored.effects.answers {
        vec![own]
    } else {
        stored.with_answers(own.also(", answers = :answers"), &answers)?
    };
    let telling = Telling::read(db, &stored.order).await?;
    let told = telling.disputed(stored, (&dispute.id, &dispute.state), clock.seconds())?;
    let writes: Vec<Write> = own.into_iter().chain(others).chain(paid).chain(ended).chain(told).collect();
    Ok(send(db, writes).await?)
}

/// The delivery of a paid order that begins to be taken back. `None` if nothing is delivered, or it is taken back already.
fn taken_back(stored: &StoredOrder) -> Option<OrderDelivery> {
    let delivery = stored.effects.delivery.clone()?;
    let is_given = matches!(delivery.step, DeliveryStep::Queue | DeliveryStep::Queued);
    let next = OrderDelivery { step: DeliveryStep::Recall, next: 0, entitlement: Entitlement::ChargedBack, ..delivery };
    (is_given && stored.order.status == OrderStatus::Paid).then_some(next)
}

/// Bans the name of an order's buyer, if the store does so on disputes. Not after a login by name: anyone could have a
/// player banned by it.
async fn ban_buyer(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), StoreError> {
    let Some(owner) = stored.order.owner.filter(|_| stored.effects.via != Some(LoginKind::Name)) else { return Ok(()) };
    if !read_active_version(db).await?.is_some_and(|active| active.config.ban_on_dispute) {
        return Ok(());
    }
    let Some(user) = read_live::<User>(db, &keys::user(owner)).await? else { return Ok(()) };
    let Ok(name) = UserName::parse(&user.username) else { return Ok(()) };
    let reason = format!("the payment of order {} is disputed", stored.order.internal_id);
    let now = clock.seconds();
    if let Some(user) = bans::ban(db, &name, Some(&reason), &[], now).await? {
        bans::cancel_subscriptions(db, user, now).await?;
    }
    Ok(())
}
