//! Orders.

use super::{
    ChatId, CodeText, DisputeAnswer, InternalId, ItemId, LineId, LineVariable, Login, Money, OfBundle, OrderDelivery,
    OrderNumber, OrderSubscription, PaymentFacts, PaymentType, PlayerName, ProviderAccount, RefundAttempt, Reviewed,
    ServerId, Tax, TaxMode, UserId,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of an order (rules.md, "Who may see an order").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum OrderStatus {
    /// The payment has not ended yet.
    Pending,
    /// Paid.
    Paid,
    /// The payment failed.
    Failed,
    /// The buyer or the owner cancelled it.
    Cancelled,
    /// Paid and refunded.
    Refunded,
}

impl OrderStatus {
    /// Whether an order in it was paid, whatever went back since.
    pub const fn was_paid(self) -> bool {
        matches!(self, Self::Paid | Self::Refunded)
    }

    /// Every status, in the order of rules.md, "Who may see an order".
    pub const ALL: [Self; 5] = [Self::Pending, Self::Paid, Self::Failed, Self::Cancelled, Self::Refunded];

    /// The status in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Paid => "PAID",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Refunded => "REFUNDED",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    pub item: ItemId,
    pub count: u32,
    /// The line's total after coupon, in the store's currency.
    pub total: Money,
    #[serde(default, skip_serializing_if = "PaymentType::is_one_off")]
    pub payment_type: PaymentType,
    /// The user a gift is for; `None` on every other line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<UserId>,
    /// The buyer's choices; `None` on a line that was recorded without choices by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
    /// Whether it pays a further period of a subscription: it counts money and no units.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub renewal: bool,
    /// How many seconds a unit lasts, as the item said when the order was created; `None` if it does not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<u32>,
    /// Units of it that were refunded by themselves, while the order stayed PAID.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub returned: u32,
    /// The line's total in virtual currency.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_total: Money,
    /// The line's part in a run of purchases that end together, once the order is paid; `None` of what lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<Term>,
    /// When it was paid, seconds since 1970 UTC; only of a line that was moved to another player.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The runs of the players from whom it was moved away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftRun>,
    /// The places of the item's counter in which its units count, at the second at which the order was created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// The tax code of the item, if the provider is sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_code: Option<String>,
    /// The bundle that it is a part of, and was sold with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<OfBundle>,
    /// How much less its total is than its regular price, by sale, coupon or upgrade; zero of lines of before this was stored.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub discount: Money,
}

/// A run of purchases that a line was part of before it was moved to another player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRun {
    pub user: UserId,
    /// When it began, seconds since 1970 UTC.
    pub begun: i64,
}

/// The part of a paid line in a [`super::Run`] of its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// When the run began, seconds since 1970 UTC.
    pub begun: i64,
    /// How many seconds later the run ends because of the line.
    pub seconds: i64,
    /// Whether the line began it: then a renewal gives the unit as well.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub first: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The cart's line; of a recorded order the line's place, from 1.
    pub line: LineId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<LineVariable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    /// The name of the player that a gift is for, as it was typed. The player may have no account before the order is
    /// paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_to: Option<PlayerName>,
}

impl OrderLine {
    /// A one-off line that is not a gift.
    pub const fn new(item: ItemId, count: u32, total: Money) -> Self {
        Self {
            item,
            count,
            total,
            payment_type: PaymentType::OneOff,
            recipient: None,
            chosen: None,
            renewal: false,
            lasts: None,
            returned: 0,
            virtual_total: Money::ZERO,
            term: None,
            since: None,
            left: Vec::new(),
            places: Vec::new(),
            tax_code: None,
            bundle: None,
            discount: Money::ZERO,
        }
    }

    /// The same line as a gift.
    #[must_use]
    pub fn gift_for(self, recipient: UserId) -> Self {
        Self { payment_type: PaymentType::Gift, recipient: Some(recipient), ..self }
    }

    /// The units that it counts, without those that were refunded: a renewal has none.
    pub const fn units(&self) -> u32 {
        if self.renewal { 0 } else { self.count.saturating_sub(self.returned) }
    }

    /// The units that its beneficiary owns by it.
    pub fn owned_units(&self) -> u32 {
        if self.renewal && self.term.is_some_and(|term| term.first) { self.count } else { self.units() }
    }

    /// How many seconds later its run ends because of it.
    pub fn adds_seconds(&self) -> i64 {
        let of_units = self.lasts.map(|lasts| i64::from(lasts).saturating_mul(i64::from(self.units())));
        of_units.or_else(|| self.term.map(|term| term.seconds)).unwrap_or_default()
    }

    /// Whether it is a gift: it has a recipient of its own.
    pub fn is_gift(&self) -> bool {
        self.payment_type == PaymentType::Gift
    }

    /// The user whose limits and ownership the line counts for: the recipient of a gift, otherwise the order's player
    /// (rules.md, "Gifts"). A gift without a recipient counts for no user.
    pub fn beneficiary(&self, player: Option<UserId>) -> Option<UserId> {
        if self.is_gift() { self.recipient } else { player }
    }

    /// When it was paid, seconds since 1970 UTC, or at least created.
    pub fn paid_at(&self, order: &Order) -> i64 {
        let begun = self.term.filter(|term| term.first).map(|term| term.begun);
        self.since.or(begun).unwrap_or(order.created_at)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub id: OrderNumber,
    pub internal_id: InternalId,
    /// The amount that the gateway charged, in minor units of `currency`.
    pub price: Money,
    pub currency: String,
    /// Digits of every amount in the order, as the store had them when it was recorded.
    pub digits: u8,
    pub status: OrderStatus,
    pub gateway: String,
    /// When it was created, seconds since 1970 UTC.
    pub created_at: i64,
    /// The user whose order it is, who paid; `None` after a guest checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// The player to whom the owner of the store has moved what is not a gift; `None` if that is who paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<UserId>,
    #[serde(default)]
    pub lines: Vec<OrderLine>,
    /// The tax of the payment, once it is paid; `None` if the provider worked out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Tax>,
}

impl Order {
    /// The most lines of an order: those of a full cart.
    pub const MAX_LINES: usize = super::cart::MAX_LINES;

    /// The player of the lines that are not gifts.
    pub fn player(&self) -> Option<UserId> {
        self.moved_to.or(self.owner)
    }

    /// The sum of the lines, in the store's currency.
    #[must_use]
    pub fn total(&self) -> Money {
        self.lines.iter().map(|line| line.total).sum()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiftCardPayment {
    pub code: CodeText,
    /// The amount that is taken from it when the order is paid.
    pub amount: Money,
}

/// The referral code with which an order was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderReferral {
    pub code: CodeText,
    /// The user whose code it was then, who is credited.
    pub owner: UserId,
}

/// How the buyer had logged in (rules.md, "Tokens").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoginKind {
    /// By typing a name, which proves nothing.
    Name,
    /// In the game, or by a token that the operator issued.
    Proven,
}

/// A checkout at a payment provider. Everything that the provider is sent is in the order, so that the request can be
/// repeated unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProviderCheckout {
    /// Its id at the provider; `None` until the provider has responded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The id of the payment, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// When the provider ends it, seconds since 1970 UTC.
    pub expires_at: i64,
    /// The URL of the storefront to which the buyer returns, without a slash at the end.
    pub storefront: String,
    /// The ways to pay that it offers, by the provider's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Whether a buyer abroad can pay in another currency.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub adaptive: bool,
    /// Whether the bank of a card is asked to confirm who pays.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub three_d_secure: bool,
    /// The second (since 1970 UTC) at which the provider was last asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<i64>,
    /// The account that it was opened for, if the keys said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Whether the account's key was one for real money.
    pub live: bool,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub tax: TaxMode,
    /// Whether tax comes on top of the price.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub tax_on_top: bool,
    /// Whether the provider makes an invoice of what is paid once.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub invoice: bool,
    /// The address of the buyer, until the order is paid or ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<BuyerAddress>,
}

/// The address of a buyer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuyerAddress {
    /// Its hash by a key of the store.
    pub hash: String,
    /// The amount that was added to what is spent from it; `None` if that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Money>,
}

impl ProviderCheckout {
    /// One that was paid at the provider before its order was made, at `at` (seconds since 1970 UTC).
    pub fn paid(session: String, intent: Option<String>, account: ProviderAccount, at: i64) -> Self {
        Self {
            session: Some(session),
            intent,
            expires_at: at,
            account: account.id,
            live: account.live,
            ..Self::default()
        }
    }
}

/// What is in a goal's sum of an order of which not every line counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalPart {
    /// The places of the lines in the order, from 0.
    pub lines: Vec<u16>,
    pub amount: Money,
}

/// The effects of an order, stored with the order so that a refund gives back exactly that. An order that was loaded
/// together with its counters and statistics has none of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrderEffects {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_as: Option<OrderStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupon: Option<CodeText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_card: Option<GiftCardPayment>,
    /// The goals to which its sum was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goals: Option<Vec<String>>,
    /// The goals to which only some of its lines were added.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub goal_parts: BTreeMap<String, GoalPart>,
    /// Whether the statistics count it. This mark guards their transaction. Without it they agree with the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<bool>,
    /// The user for whom the statistics count it, if that is not who paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credited: Option<UserId>,
    /// How often it, or a line of it, was moved to another player.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub moves: u32,
    /// The referral code that was on the cart, if it was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral: Option<OrderReferral>,
    /// When the buyer agreed to the terms and the privacy policy, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consented_at: Option<i64>,
    /// How the buyer had logged in at the checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<LoginKind>,
    /// The chat account of the buyer, if an item needed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_currency: Money,
    /// Whether units, uses and balances are taken although the order is not paid. Never set on a paid order, which has
    /// taken them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub held: bool,
    /// The login that began the checkout (rules.md, "Logins"); `None` if it was recorded, or stored without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderCheckout>,
    /// The second (since 1970 UTC) at which the scheduled sweep looks at the order; `None` if nothing is left to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// When it became PAID, seconds since 1970 UTC. Orders of before this was stored have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<i64>,
    /// Whether the bought lines have been removed from the buyer's cart; only of an order that is a checkout's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cart_cleared: Option<bool>,
    /// The amount of a paid order that was refunded, or lost in a dispute.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub refunded: Money,
    /// When the last of it was noted, or that all of it is; seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refunded_at: Option<i64>,
    /// The part of `refunded` that the statistics have taken off, if they count the order.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub counted_refunded: Money,
    /// How often units of lines were refunded by themselves.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub line_refunds: u32,
    /// The total to which the payment is refunded by that, in its minor units: a repeated command finishes it.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub refund_to: Money,
    /// The last attempt to refund the payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund: Option<RefundAttempt>,
    /// The sum of the refunds that the provider reports as failed.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub failed_refunds: Money,
    /// The part of failed refunds that the buyer still waits for: it has not been refunded again.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub unreturned: Money,
    /// Whether a recipient was over a limit when the gift was paid: another gift came in between.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub over_limit: bool,
    /// The reason why an operator has to look at the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// How the last such look ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<Reviewed>,
    /// The state of the dispute that decides, in the provider's words, or `early_fraud_warning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<String>,
    /// The state of each dispute of the payment, by the provider's ids. A warning has the id of the payment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disputes: BTreeMap<String, String>,
    /// The store's answers to them, by the same ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, DisputeAnswer>,
    /// The period that it pays, if it is a subscription's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<OrderSubscription>,
    /// How far its delivery is; `None` if nothing of it runs on a game server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<OrderDelivery>,
    /// How it was paid, and what the store has of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<PaymentFacts>,
    /// Whether it was not paid because the card is banned.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub card_banned: bool,
    /// Whether its owner had bought nothing before; not set on orders of before this was stored.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub first_purchase: bool,
}

impl OrderEffects {
    /// The part that a gift card paid.
    #[must_use]
    pub fn card(&self) -> Money {
        self.gift_card.as_ref().map(|payment| payment.amount).unwrap_or_default()
    }
}
