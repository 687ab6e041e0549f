//! The reason why a line is not placed or changed.

use crate::model::{Cart, Line, Money, ServerId};
use crate::money::date_and_time;
use crate::rules::command_servers::MOST_COMMANDS;
use crate::rules::sets::Hindrance;
use crate::rules::variable::WrongValue;

/// Sentences of both cart/add and a checkout.
pub(in crate::rules) const ALREADY_SUBSCRIBED: &str = "You already have this subscription.";
pub(in crate::rules) const SUBSCRIPTION_NOT_ALONE: &str =
    "A subscription is bought separately: it cannot be in a cart with other items.";

/// The reason why a line is not placed or changed, in the order in which the reasons are checked. The text is a
/// sentence for the buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineRefusal {
    /// The cart has no such line. Storefronts look for "does not exist".
    #[error("This line does not exist.")]
    NoSuchLine,
    #[error("The quantity must be at least 1.")]
    NoUnits,
    #[error("This item is not available.")]
    NotPublished,
    #[error("This item is not on sale.")]
    Inactive,
    #[error("This item is on sale from {} UTC.", date_and_time(*.begins))]
    NotYet {
        /// Seconds since 1970 UTC.
        begins: i64,
    },
    #[error("This item is sold for virtual currency, which this store does not use.")]
    NoVirtualCurrency,
    #[error("The quantity must be at most {}.", Line::MAX_COUNT)]
    TooManyUnits,
    /// More units than one order may have of the item.
    #[error("At most {most} of this item can be bought at once.")]
    AtOnce {
        /// The most units.
        most: u32,
    },
    #[error("This item is not a subscription.")]
    NotASubscription,
    #[error("This item can only be bought as a subscription.")]
    SubscriptionOnly,
    #[error("This item cannot be bought as a gift.")]
    NoGifting,
    #[error("The name of the player who receives the gift is missing.")]
    NoRecipient,
    #[error("Only a gift has a recipient.")]
    NotAGift,
    #[error("A gift must be for another player.")]
    GiftToOneself,
    #[error("This item has no variable {0}.")]
    UnknownVariable(u64),
    #[error("\"{name}\" is given twice.")]
    DuplicateVariable { name: String },
    #[error("\"{name}\" {wrong}.")]
    WrongValue {
        name: String,
        /// The reason why it is not right.
        wrong: WrongValue,
    },
    #[error("This item cannot be delivered to the selected server.")]
    WrongServer(ServerId),
    /// A chosen price for an item that has a price, or for a line at the promoted price.
    #[error("The price of this item cannot be chosen.")]
    FixedPrice,
    #[error("The price is below this item's minimum.")]
    BelowMinimum { minimum: Money },
    #[error("The price is too high.")]
    PriceTooHigh,
    /// More than one unit of a subscription or of an item of a cumulative category.
    #[error("Only one of this item can be bought.")]
    OnlyOne,
    /// A limit in time is reached.
    #[error("No more can be bought until {} UTC.", date_and_time(*.at))]
    Later {
        /// Seconds since 1970 UTC.
        at: i64,
    },
    /// More units than are left in all.
    #[error("{}", only(*.left))]
    GlobalLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// More units than are left for the selected server.
    #[error("{} The limit is per server: select another one.", only(*.left))]
    ServerLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// More units than the buyer may buy.
    #[error("{} The limit is per buyer.", only(*.left))]
    UserLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// The buyer has the item as a subscription that gives access.
    #[error("{ALREADY_SUBSCRIBED}")]
    AlreadySubscribed,
    #[error("This item cannot be bought: {0}.")]
    Hindered(Hindrance),
    /// The buyer owns the item, or one of its category whose regular price is not lower.
    #[error("This item, or one that includes it, is owned already.")]
    Owned,
    #[error("This player cannot receive gifts.")]
    Banned,
    #[error("{SUBSCRIPTION_NOT_ALONE}")]
    SubscriptionNotAlone,
    #[error("A cart can have gifts for at most {} players.", Cart::MAX_RECIPIENTS)]
    TooManyRecipients,
    #[error("The cart is full: it has at most {} lines.", Cart::MAX_LINES)]
    Full,
    /// The lines would make more commands on game servers than an order may.
    #[error("One order can run at most {MOST_COMMANDS} commands on game servers. Pay for what is in your cart first.")]
    TooManyCommands,
}

fn only(left: u64) -> String {
    if left == 0 { "No more can be bought.".to_owned() } else { format!("Only {left} more can be bought.") }
}
