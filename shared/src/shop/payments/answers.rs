//! The store's answers to disputes: when the sweep looks at one, and what it sends (rules.md, "Disputes").
//!
//! Evidence is submitted once and for good. What is sent is noted on the order before, so that a process that was killed sends the
//! same under the same key; and the provider is asked before each call whether it has any.

use super::desk::{Desk, SettleError, note_dispute};
use super::provider::{AwaitedEvidence, DisputeState, Provider, ProviderError};
use crate::model::{
    ActiveVersion, AnswerOutcome, DisputeAnswer, InternalId, LoginKind, Money, Order, OrderStatus, Settings, User,
};
use crate::money::CurrencyFormat;
use crate::rules::dispute::{OrderFacts, evidence, needs_response};
use crate::rules::payment::{Origin, origin};
use crate::rules::refund::SENDABLE;
use crate::shop::delivery::commands_of;
use crate::shop::orders::unfinished::Answers;
use crate::shop::orders::{self, StoredOrder, active_version, lists};
use crate::shop::subscriptions;
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, send, sent};
use crate::table::{StoreError, TURNS, in_turns, read_live, read_published};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many seconds before the bank takes no more evidence it is sent.
pub const BEFORE: i64 = 86_400;
/// The most earlier orders that are named.
const EARLIER: usize = 5;
/// The most of them whose cards are compared: each is a call to the provider.
const CARDS: usize = 10;

/// The answers once a state of a dispute is noted: the sweep looks at once at what the bank waits for.
pub(super) fn noted(stored: &StoredOrder, dispute: &DisputeState, now: i64) -> Answers {
    let mut answers = stored.effects.answers.clone();
    if needs_response(&dispute.state) {
        answers.entry(dispute.id.clone()).or_default().due = Some(now);
    } else if let Some(answer) = answers.get_mut(&dispute.id) {
        // What came of evidence that was about to be sent is still to be asked.
        answer.due = answer.due.filter(|_| answer.sent_at.is_some());
    }
    answers
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Later(i64),
    Send,
    /// The same as before: it is not known whether it arrived.
    SendAgain,
    Never(Option<AnswerOutcome>),
}

fn next(answer: &DisputeAnswer, found: &AwaitedEvidence, is_on: bool, now: i64) -> Next {
    let is_begun = answer.sent_at.is_some() && answer.outcome.is_none();
    if is_begun && found.is_submitted {
        return Next::Never(Some(AnswerOutcome::Submitted));
    }
    let due_by = found.due_by.filter(|due_by| needs_response(&found.state) && now < *due_by);
    let Some(due_by) = due_by.filter(|_| answer.outcome.is_none()) else { return Next::Never(answer.outcome) };
    let at = due_by.saturating_sub(BEFORE);
    if !is_begun && now < at {
        Next::Later(at)
    } else if found.is_submitted || found.has_others {
        Next::Never(Some(AnswerOutcome::Others))
    } else if is_begun {
        Next::SendAgain
    } else if is_on {
        Next::Send
    } else {
        Next::Never(None)
    }
}

/// Nothing more is sent. The evidence is the provider's now.
fn close(answer: &mut DisputeAnswer, outcome: Option<AnswerOutcome>) {
    (answer.due, answer.evidence, answer.outcome) = (None, BTreeMap::new(), outcome);
}

/// Looks at a dispute that is due. A row that is not the order's own is removed.
pub(super) async fn answer_due<P: Provider>(
    desk: &Desk<'_, Option<&P>>,
    row: &Key,
    order: &InternalId,
    dispute: &str,
) -> Result<(), SettleError> {
    let stored = orders::get(desk.db, order).await?;
    if stored.and_then(|stored| stored.answer_row(dispute)).as_ref() != Some(row) {
        let delete: Write = Write::delete(row.clone());
        sent(desk.db, vec![delete]).await?;
        return Ok(());
    }
    let Some(desk) = desk.connected() else { return Ok(()) };
    // Boxed, as what a command awaits nests deeper than the compiler follows.
    in_turns(TURNS, || Box::pin(desk.answer(order, dispute))).await
}

impl<P: Provider> Desk<'_, &P> {
    /// Asks the provider what the bank waits for, and does what is due.
    async fn answer(&self, order: &InternalId, dispute: &str) -> Result<(), SettleError> {
        let Some(stored) = orders::get(self.db, order).await? else { return Ok(()) };
        let is_elsewhere = |checkout| origin(checkout, &self.provider.account()) == Origin::Other;
        let found = match self.provider.awaited(dispute).await {
            _ if stored.effects.provider.as_ref().is_some_and(is_elsewhere) => None,
            // It is one of another account.
            Err(ProviderError::NoCheckout(_)) => None,
            found => Some(found?),
        };
        let Some(found) = found else { return self.close(order, dispute, None).await };
        let state = DisputeState { id: dispute.to_owned(), intent: None, state: found.state.clone() };
        note_dispute(self.db, self.clock, order, &state).await?;
        let active = active_version(self.db).await?;
        let Some(stored) = orders::get(self.db, order).await? else { return Ok(()) };
        let Some(answer) = stored.effects.answers.get(dispute) else { return Ok(()) };
        match next(answer, &found, active.config.payments.answer_disputes, self.clock.seconds()) {
            Next::Later(at) => {
                let later = |answer: &mut DisputeAnswer| (answer.due, answer.due_by) = (Some(at), found.due_by);
                Ok(self.change_answer(order, dispute, later).await?)
            }
            Next::Never(outcome) => {
                let never = |answer: &mut DisputeAnswer| {
                    answer.due_by = found.due_by;
                    close(answer, outcome);
                };
                Ok(self.change_answer(order, dispute, never).await?)
            }
            Next::Send => self.begin_answer(&stored, dispute, &active, found.due_by).await,
            Next::SendAgain => self.submit(order, dispute, answer).await,
        }
    }

    /// Notes what is to be sent, and sends it. What the provider has refunded by now is in it.
    async fn begin_answer(
        &self,
        read: &StoredOrder,
        dispute: &str,
        active: &ActiveVersion,
        due_by: Option<i64>,
    ) -> Result<(), SettleError> {
        let order = &read.order.internal_id;
        self.settle(read).await?;
        let Some(stored) = orders::get(self.db, order).await? else { return Ok(()) };
        let now = self.clock.seconds();
        let mut attempt = stored.effects.refund.iter().filter(|attempt| attempt.is_open());
        if attempt.any(|attempt| now.saturating_sub(attempt.at) <= SENDABLE) {
            return Err(StoreError::Contended.into());
        }
        let Some(evidence) = self.gather(&stored, active).await? else { return self.close(order, dispute, None).await };
        let mut answers = stored.effects.answers.clone();
        let Some(answer) = answers.get_mut(dispute) else { return Ok(()) };
        (answer.due_by, answer.sent_at, answer.evidence) = (due_by, Some(now), evidence);
        let begun = answer.clone();
        send(self.db, stored.set_answers(&answers)?).await?;
        self.submit(order, dispute, &begun).await
    }

    /// Sends what is noted.
    async fn submit(&self, order: &InternalId, dispute: &str, answer: &DisputeAnswer) -> Result<(), SettleError> {
        let key = format!("evidence-{dispute}-{}", answer.sent_at.unwrap_or_default());
        match self.provider.submit_evidence(dispute, &key, &answer.evidence).await {
            Ok(true) => {
                tracing::info!(order = %order, "evidence was sent in a dispute");
                self.close(order, dispute, Some(AnswerOutcome::Submitted)).await
            }
            Ok(false) if self.provider.awaited(dispute).await?.is_submitted => {
                self.close(order, dispute, Some(AnswerOutcome::Submitted)).await
            }
            Ok(false) => {
                let anew = |answer: &mut DisputeAnswer| (answer.sent_at, answer.evidence) = (None, BTreeMap::new());
                self.change_answer(order, dispute, anew).await?;
                Err(ProviderError::Unavailable("it failed to take evidence".to_owned()).into())
            }
            Err(ProviderError::Refused(reason)) => {
                tracing::error!(order = %order, reason, "evidence in a dispute was refused");
                self.close(order, dispute, Some(AnswerOutcome::Refused)).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Notes that nothing more is sent.
    async fn close(
        &self,
        order: &InternalId,
        dispute: &str,
        outcome: Option<AnswerOutcome>,
    ) -> Result<(), SettleError> {
        Ok(self.change_answer(order, dispute, |answer| close(answer, outcome)).await?)
    }

    async fn change_answer(
        &self,
        order: &InternalId,
        dispute: &str,
        change: impl Fn(&mut DisputeAnswer),
    ) -> Result<(), StoreError> {
        in_turns(TURNS, || async {
            let Some(stored) = orders::get(self.db, order).await? else { return Ok(()) };
            let mut answers = stored.effects.answers.clone();
            let Some(answer) = answers.get_mut(dispute) else { return Ok(()) };
            change(answer);
            if answers == stored.effects.answers { Ok(()) } else { send(self.db, stored.set_answers(&answers)?).await }
        })
        .await
    }

    /// The evidence about an order; `None` if it was not sold, or its owner was erased.
    async fn gather(
        &self,
        stored: &StoredOrder,
        active: &ActiveVersion,
    ) -> Result<Option<BTreeMap<String, String>>, SettleError> {
        let (order, effects) = (&stored.order, &stored.effects);
        let owner: Option<User> = match order.owner {
            Some(owner) => read_live(self.db, &keys::user(owner)).await?,
            None => None,
        };
        let is_erased = order.owner.is_some() && owner.is_none();
        if is_erased || stored.is_sold_by_provider() || !order.status.was_paid() {
            return Ok(None);
        }
        let refunds = match stored.intent() {
            Some(intent) => self.provider.confirmed_refunds(intent).await?,
            None => Vec::new(),
        };
        let settings: Option<Settings> = read_published(self.db, &keys::settings(&active.version)).await?;
        let facts = OrderFacts {
            order,
            effects,
            format: CurrencyFormat::of(order),
            store: settings.as_ref().map_or("", |settings| &settings.website_name),
            buyer: owner.as_ref().map(|owner| owner.username.as_str()),
            consented_at: self.consent(stored).await?,
            commands: &commands_of(self.db, stored).await?,
            delivery: &active.config.delivery,
            refunds: &refunds,
            earlier: &self.earlier(stored).await?,
        };
        Ok(Some(evidence(&facts)))
    }

    /// When the buyer agreed to the terms; for a renewal, when the subscription began.
    async fn consent(&self, stored: &StoredOrder) -> Result<Option<i64>, StoreError> {
        let own = stored.effects.subscription.as_ref().filter(|own| own.renewal);
        let Some(id) = own.and_then(|own| own.id.as_deref()) else { return Ok(stored.effects.consented_at) };
        let Some(subscription) = subscriptions::get(self.db, id).await? else { return Ok(None) };
        Ok(orders::get(self.db, &subscription.first).await?.and_then(|first| first.effects.consented_at))
    }

    /// Orders that surely the same buyer has paid before, and that were neither disputed nor refunded, the newest first. A name
    /// that was typed proves nothing: both logins must be proven, or both be paid by the same card.
    async fn earlier(&self, stored: &StoredOrder) -> Result<Vec<Order>, SettleError> {
        let Some(owner) = stored.order.owner else { return Ok(Vec::new()) };
        let is_undisputed = |one: &StoredOrder| {
            one.order.created_at < stored.order.created_at
                && one.order.status == OrderStatus::Paid
                && one.order.price > Money::ZERO
                && one.is_checkout()
                && one.effects.dispute.is_none()
                && one.effects.refunded == Money::ZERO
        };
        let ids = lists::page(self.db, owner, None).await?.orders;
        let mut rows = self.db.batch_get(ids.iter().map(keys::order).collect()).await?;
        let mut before = Vec::with_capacity(ids.len());
        for id in &ids {
            before.extend(StoredOrder::take(&mut rows, id)?.filter(is_undisputed));
        }
        let is_proven = |one: &StoredOrder| one.effects.via == Some(LoginKind::Proven);
        let (proven, others): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|one| is_proven(stored) && is_proven(one));
        let mut earlier: Vec<Order> = proven.into_iter().map(|one| one.order).take(EARLIER).collect();
        let card = if others.is_empty() { None } else { self.card(stored).await? };
        for one in others.into_iter().take(CARDS).filter(|_| card.is_some()) {
            if earlier.len() < EARLIER && self.card(&one).await? == card {
                earlier.push(one.order);
            }
        }
        earlier.sort_by_key(|order| Reverse(order.created_at));
        Ok(earlier)
    }
}
