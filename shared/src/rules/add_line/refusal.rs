//! Why a line is not placed or changed.

use crate::model::{Cart, Line, Money, ServerId};
use crate::rules::command_servers::MOST_COMMANDS;
use crate::rules::variable::WrongValue;

/// Why a line is not placed or changed, in the order in which the reasons are checked. The text is a sentence for the
/// buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineRefusal {
    /// The cart has no such line. Storefronts look for "does not exist".
    #[error("This line does not exist.")]
    NoSuchLine,
    /// A quantity of zero.
    #[error("The quantity must be at least 1.")]
    NoUnits,
    /// The item is not published.
    #[error("This item is not available.")]
    NotPublished,
    /// The item is not active.
    #[error("This item is not on sale.")]
    Inactive,
    /// The item is sold for virtual currency, which the store does not use.
    #[error("This item is sold for virtual currency, which this store does not use.")]
    NoVirtualCurrency,
    /// A quantity above the largest of a line.
    #[error("The quantity must be at most {}.", Line::MAX_COUNT)]
    TooManyUnits,
    /// A subscription to an item that has none.
    #[error("This item is not a subscription.")]
    NotASubscription,
    /// A subscription that is bought once.
    #[error("This item can only be bought as a subscription.")]
    SubscriptionOnly,
    /// A gift of an item that cannot be given.
    #[error("This item cannot be bought as a gift.")]
    NoGifting,
    /// A gift without a recipient.
    #[error("The name of the player who receives the gift is missing.")]
    NoRecipient,
    /// A recipient of a line that is not a gift.
    #[error("Only a gift has a recipient.")]
    NotAGift,
    /// A gift of the buyer to the buyer.
    #[error("A gift must be for another player.")]
    GiftToOneself,
    /// A variable that the item does not have.
    #[error("This item has no variable {0}.")]
    UnknownVariable(u64),
    /// A variable with two values.
    #[error("\"{name}\" is given twice.")]
    DuplicateVariable { name: String },
    /// A value that is not right for its variable.
    #[error("\"{name}\" {wrong}.")]
    WrongValue {
        name: String,
        /// Why it is not right.
        wrong: WrongValue,
    },
    /// A server that the item is not delivered to.
    #[error("This item cannot be delivered to the selected server.")]
    WrongServer(ServerId),
    /// A chosen price for an item that has a price, or for a line at the promoted price.
    #[error("The price of this item cannot be chosen.")]
    FixedPrice,
    /// A chosen price below the item's minimum.
    #[error("The price is below this item's minimum.")]
    BelowMinimum { minimum: Money },
    /// A chosen price above the largest amount.
    #[error("The price is too high.")]
    PriceTooHigh,
    /// More than one unit of a subscription or of an item of a cumulative category.
    #[error("Only one of this item can be bought.")]
    OnlyOne,
    /// More units than are left in all.
    #[error("{}", only(*.left))]
    GlobalLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// More units than the buyer may buy.
    #[error("{} The limit is per buyer.", only(*.left))]
    UserLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// The buyer owns the item, or one of its category whose regular price is not lower.
    #[error("This item, or one that includes it, is owned already.")]
    Owned,
    /// A gift to a player whose name is banned.
    #[error("This player cannot receive gifts.")]
    Banned,
    /// A subscription and another line.
    #[error("A subscription is bought separately: it cannot be in a cart with other items.")]
    SubscriptionNotAlone,
    /// Gifts for too many players.
    #[error("A cart can have gifts for at most {} players.", Cart::MAX_RECIPIENTS)]
    TooManyRecipients,
    /// The cart has no room for another line.
    #[error("The cart is full: it has at most {} lines.", Cart::MAX_LINES)]
    Full,
    /// The lines would make more commands on game servers than an order may.
    #[error("One order can run at most {MOST_COMMANDS} commands on game servers. Pay for what is in your cart first.")]
    TooManyCommands,
}

fn only(left: u64) -> String {
    if left == 0 { "No more can be bought.".to_owned() } else { format!("Only {left} more can be bought.") }
}
