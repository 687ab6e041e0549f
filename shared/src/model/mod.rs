//! The data of a store: plain structs that parse and print themselves and do nothing else.
//!
//! Knows nothing of the table, of HTTP, of time or of any rule. There are two families: what an
//! owner *publishes* (settings, pages, categories, items), and *live* data (users, carts, codes, ledgers, orders,
//! statistics), which a publish never changes.

mod active_version;
mod cart;
mod category;
mod chat;
mod checkout;
mod code;
mod command;
mod content;
mod decimal;
mod delivery;
mod game_login;
mod id;
mod internal_id;
mod item;
mod ledger;
mod line;
mod link;
mod local_addresses;
mod login;
mod money;
mod order;
mod order_delivery;
mod player_name;
mod provider_account;
mod refund;
mod returned;
mod run;
mod server;
mod settings;
mod shop;
mod slug;
mod statistics;
mod subscription;
mod user;
mod user_name;

pub use active_version::{
    ActiveVersion, ChatLogin, ChatPlatform, Drained, Images, Maintenance, Payments, SCHEMA, StoreConfig,
};
pub use cart::{AppliedCoupon, AppliedGiftCard, Cart};
pub use category::{CategoryHead, CategoryWithItems, Comparison, Tree, TreeNode};
pub use chat::{ChatAccount, ChatId, ChatName, NotAChatId, NotAChatName};
pub use checkout::{Held, OpenCheckout, Units};
pub use code::{BlankCode, Code, CodeKind, CodeText, Coupon, Discount, GiftCard, Referral, Scope};
pub use command::{CommandEvent, CommandTemplate, FreeNames, ItemDelivery, StoreDelivery};
pub use content::{Page, PageUrl, Patronage, Staff, StaffMember};
pub use decimal::DecimalError;
pub use delivery::{AgentId, Command, CommandId, CommandState, Delivery, Entitlement, NotACommandId, NotAnAgentId};
pub use game_login::{
    Attempt, AuthId, CallerHash, GameLogin, KnownCaller, LoginSecret, NotALoginSecret, NotAnAuthId, PendingLogin,
};
pub use id::{CategoryId, CodeId, ItemId, LARGEST_ID, LineId, OrderNumber, ParseIdError, ServerId, UserId};
pub use internal_id::InternalId;
pub use item::{
    ComparisonValue, Deals, Item, ItemType, Items, PriceTier, Promotion, Promotions, PublishedItem, Sold, Variable,
    VariableKind,
};
pub use ledger::{Holding, Ledger, Owned, Run};
pub use line::{Line, LineVariable, PaymentType};
pub use link::Link;
pub use local_addresses::LocalAddresses;
pub use login::{Login, LoginId, NotALoginId};
pub use money::{Money, Percent, Rate};
pub use order::{
    Chosen, GiftCardPayment, LeftRun, LoginKind, Order, OrderEffects, OrderLine, OrderReferral, OrderStatus,
    ProviderCheckout, Term,
};
pub use order_delivery::{
    DeliveryStep, EarlierExpiry, EarlierHolder, FrozenCommand, FrozenCommands, FrozenLine, Holder, ItemEnds, Lasting,
    LastingText, Lasts, LineEnd, Moving, OrderDelivery, Season, TakenUnits,
};
pub use player_name::{BedrockPrefix, NotAPlayerName, PlayerName};
pub use provider_account::ProviderAccount;
pub use refund::{RefundAttempt, RefundOutcome, Refunds, ReviewOutcome, Reviewed};
pub use run::{DeliveryRun, Extension, NotARunName, OwnerRun, RunName};
pub use server::Server;
pub use settings::{Announcement, AuthType, Currency, GameServer, Goal, Language, Settings};
pub use shop::{Font, Hero, Palette, Section, Shop};
pub use slug::{CategoryPath, ParseSlugError, Slug};
pub use statistics::{Donations, Donor, MonthSum, PaidOrder, Patron, RecentDonation, TopPatrons};
pub use subscription::{
    Cancellation, OrderSubscription, PeriodUnit, Plan, ProviderCustomer, Subscription, SubscriptionDetail,
    SubscriptionState, SubscriptionStatus, UserSubscription,
};
pub use user::{LEEWAY, User, next_issue};
pub use user_name::{UserName, UserNameError};

/// Whether a field may be left out when it is stored.
fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
