//! The data of a store: plain structs that parse and print themselves and do nothing else.
//!
//! Knows nothing of the table, of HTTP, of time or of any rule. There are two families: what an
//! owner *publishes* (settings, pages, categories, items), and *live* data (users, carts, codes, ledgers, orders,
//! statistics), which a publish never changes.

/// A type that is read from text by its `parse` alone.
macro_rules! parsed {
    ($name:ident: $error:ident) => {
        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                Self::parse(&text)
            }
        }
    };
}

/// A type that is a text, and is shown as that.
macro_rules! texts {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

mod active_version;
mod cart;
mod category;
mod code;
mod content;
mod delivery;
mod id;
mod item;
mod limit;
mod local_addresses;
mod money;
mod notice;
mod order;
mod order_delivery;
mod payment;
mod player_name;
mod proof;
mod sale;
mod statistics;
mod subscription;
mod user;

pub use active_version::{
    ActiveVersion, ChatLogin, ChatPlatform, Images, Maintenance, Payments, SCHEMA, StoreConfig, ThreeDSecure,
};
pub use cart::{AppliedCoupon, AppliedGiftCard, Cart, Line, LineVariable, PaymentType};
pub use category::{CategoryHead, CategoryPath, CategoryWithItems, Comparison, ParseSlugError, Slug, Tree, TreeNode};
pub use code::{BlankCode, Code, CodeKind, CodeText, Coupon, CouponUses, Discount, GiftCard, Referral, Scope};
pub use content::{
    Announcement, AuthType, Currency, Font, GameServer, Goal, Hero, Language, Link, Page, PageUrl, Palette, Patronage,
    Section, Server, Settings, Shop, Staff, StaffMember,
};
pub use delivery::{
    AgentId, Command, CommandEvent, CommandId, CommandState, CommandTemplate, Delivery, Entitlement, FreeNames,
    ItemDelivery, NotACommandId, NotAnAgentId, StoreDelivery,
};
pub use id::{
    CategoryId, CodeId, InternalId, ItemId, LARGEST_ID, LineId, OrderNumber, ParseIdError, SaleId, ServerId, UserId,
};
pub use item::{
    ComparisonValue, Deals, Item, ItemType, Items, LowestPrice, PriceTier, Promotion, Promotions, PublishedItem,
    QuantityPrice, Sold, Variable, VariableKind,
};
pub use limit::{Counted, Every, ItemLimit, Place, Window, WindowKind, is_mark_of, mark, time_of};
pub use local_addresses::LocalAddresses;
pub use money::{DecimalError, Money, Percent, Rate};
pub use notice::{
    About, DayLine, Notice, NoticeDay, NoticeEvent, NoticeLine, NoticeOrder, NoticeRefund, NoticeTarget, PausedTarget,
    Sending, TargetKind,
};
pub use order::{
    BuyerAddress, Chosen, GiftCardPayment, GoalPart, LeftRun, LoginKind, Order, OrderEffects, OrderLine, OrderReferral,
    OrderStatus, ProviderCheckout, Term,
};
pub use order_delivery::{
    DeliveryRun, DeliveryStep, Extension, FrozenCommand, FrozenCommands, FrozenLine, Holder, ItemEnds, Lasting,
    LastingText, Lasts, LineEnd, Moving, NotARunName, OrderDelivery, OwnerRun, RunName, Season, TakenUnits, Try,
};
pub use payment::{
    AnswerOutcome, DisputeAnswer, Held, OpenCheckout, PaymentFacts, Proceeds, ProviderAccount, RefundAttempt,
    RefundOutcome, Refunds, ReviewOutcome, Reviewed, Tax, TaxMode, TaxPrices, Units,
};
pub use player_name::{BedrockPrefix, NotAPlayerName, PlayerName};
pub use proof::{
    Attempt, AuthId, CallerHash, ChatAccount, ChatId, ChatName, GameLogin, KnownCaller, LoginSecret, NotAChatId,
    NotAChatName, NotALoginSecret, NotAnAuthId, PendingLogin,
};
pub use sale::{Bundle, Conditions, NamedItem, OfBundle, OnSale, Part, Sale};
pub use statistics::{
    Back, BalanceChange, BalanceKind, Donations, Donor, Holding, Ledger, MonthSum, OrderOfMonth, Owned, PaidOrder,
    Patron, RecentDonation, Run, ShownTimes, Spent, StoreZone, TopPatrons,
};
pub use subscription::{
    Cancellation, OrderSubscription, PeriodUnit, Plan, ProviderCustomer, Subscription, SubscriptionDetail,
    SubscriptionState, SubscriptionStatus, UserSubscription,
};
pub use user::{LEEWAY, Login, LoginId, NotALoginId, User, UserName, UserNameError, next_issue};

/// Whether a field may be left out when it is stored.
fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
