//! `coupon`, `gift` and `referral`.

use super::accounts::key;
use super::short_text;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Clone, Subcommand)]
pub enum CouponCommand {
    /// Make a coupon.
    #[command(
        after_help = "Examples:\n  storectl coupon add SPRING --percentage 12.5 --ends-at 2026-12-24 --stack storefront\n  \
                            storectl coupon add FIVEOFF --amount 5 --minimum 20 --max-uses 100 --category 1\n  \
                            storectl coupon add SORRY --percentage 20 --max-uses 1 --user Thornwick --stack storefront"
    )]
    Add(AddCoupon),
    /// Show one coupon.
    #[command(after_help = "Example:\n  storectl coupon show SPRING --stack storefront")]
    Show(OneCode),
    /// List every coupon; looks through the whole table.
    #[command(after_help = "Example:\n  storectl coupon list --stack storefront")]
    List,
    /// Change the given fields of a coupon.
    #[command(after_help = "Examples:\n  storectl coupon edit SPRING --percentage 15 --ends-at 'in 30 days'\n  \
                            storectl coupon edit SPRING --max-uses none --everything --stack storefront\n\n\
                            `none` removes a limit or a time. --category and --item replace what the coupon applied \
                            to.")]
    Edit(EditCoupon),
    /// Delete a coupon that no order has used; one that was used can only be disabled.
    #[command(after_help = "Example:\n  storectl coupon delete SPRING --stack storefront")]
    Delete(DeleteCoupon),
    /// Switch a coupon off.
    #[command(after_help = "Example:\n  storectl coupon disable SPRING --stack storefront")]
    Disable(OneCode),
    /// Switch a coupon on again.
    #[command(after_help = "Example:\n  storectl coupon enable SPRING --stack storefront")]
    Enable(OneCode),
}

#[derive(Debug, Clone, Subcommand)]
pub enum GiftCommand {
    /// Make gift cards with random codes that can be read aloud.
    #[command(after_help = "Examples:\n  storectl gift add --balance 25 --stack storefront\n  \
                            storectl gift add --balance 25 --for Thornwick --note 'won the build contest' --stack storefront\n  \
                            storectl gift add --balance 10 --count 5000 --out spring.csv --stack storefront\n\n\
                            The file is written first. If the command is interrupted, run it again with the same file: \
                            it makes the cards that are missing.")]
    Add(AddGift),
    /// Show one gift card.
    #[command(after_help = "Example:\n  storectl gift show lusab-babad-gutih-tugad-mudof --stack storefront")]
    Show(OneCode),
    /// List every gift card; looks through the whole table.
    #[command(after_help = "Example:\n  storectl gift list --stack storefront")]
    List,
    /// Switch a gift card off; its balance stays.
    #[command(after_help = "Example:\n  storectl gift disable lusab-babad-gutih-tugad-mudof --stack storefront")]
    Disable(OneCode),
    /// Switch a gift card on again.
    #[command(after_help = "Example:\n  storectl gift enable lusab-babad-gutih-tugad-mudof --stack storefront")]
    Enable(OneCode),
    /// Change when a gift card may be used.
    #[command(after_help = "Example:\n  storectl gift edit lusab-babad-gutih-tugad-mudof --ends-at none\n\n\
                            `none` removes a time.")]
    Edit(EditGift),
    /// Add to a gift card's balance, once per key.
    #[command(after_help = "Examples:\n  storectl gift top-up lusab-babad-gutih-tugad-mudof 25 --stack storefront\n  \
                            storectl gift top-up lusab-babad-gutih-tugad-mudof 25 --key ticket-118 --stack storefront\n\n\
                            Run again, also after it was interrupted, it adds nothing a second time. Without --key, the same \
                            AMOUNT with the same note is the same top-up.")]
    TopUp(TopUp),
}

#[derive(Debug, Clone, Subcommand)]
pub enum ReferralCommand {
    /// Make a user's referral code.
    #[command(after_help = "Example:\n  storectl referral add lantern --owner 1 --stack storefront")]
    Add(AddReferral),
    /// List every referral code; looks through the whole table.
    #[command(after_help = "Example:\n  storectl referral list --stack storefront")]
    List,
    /// Switch a referral code off.
    #[command(after_help = "Example:\n  storectl referral disable lantern --stack storefront")]
    Disable(OneCode),
    /// Switch a referral code on again.
    #[command(after_help = "Example:\n  storectl referral enable lantern --stack storefront")]
    Enable(OneCode),
    /// Add up the paid orders with each referral code; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl referral report --stack storefront\n  \
                            storectl referral report --from 2026-11-01 --to 2026-11-30 --json --stack storefront\n\n\
                            The sums are what was charged in money, less refunds. An order belongs to the code that was \
                            on the cart when its checkout began, and to its owner then.")]
    Report(ReferralReport),
}

#[derive(Debug, Clone, Args)]
pub struct ReferralReport {
    /// Only orders made at or after this time, or on or after this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only orders made before this time, or up to the end of this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
}

/// A code and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneCode {
    /// The code; case does not matter.
    pub code: String,
}

/// The discount of a coupon, and its condition.
#[derive(Debug, Clone, Args)]
pub struct DiscountOptions {
    /// Percentage taken off every eligible line, with at most two digits.
    #[arg(long, value_name = "P", conflicts_with = "amount")]
    pub percentage: Option<String>,
    /// Amount taken off the eligible lines together.
    #[arg(long, value_name = "A")]
    pub amount: Option<String>,
    /// Minimum total of the cart.
    #[arg(long, value_name = "A")]
    pub minimum: Option<String>,
}

/// When a code may be used.
#[derive(Debug, Clone, Args)]
pub struct PeriodOptions {
    /// From when it may be used: from the beginning of a day such as 2026-12-01 (UTC), 2031-05-01T12:00:00Z, `now`, `in 3
    /// days`.
    #[arg(long, alias = "from", value_name = "TIME")]
    pub starts_at: Option<String>,
    /// Until when it may be used: until the end of a day such as 2026-12-24 (UTC), or a time as for --starts-at.
    #[arg(long, alias = "until", value_name = "TIME")]
    pub ends_at: Option<String>,
}

/// The scope of a coupon; everything if neither is given.
#[derive(Debug, Clone, Args)]
pub struct ScopeOptions {
    /// Only items of this category and its subcategories; may be given more than once.
    #[arg(long = "category", value_name = "ID")]
    pub categories: Vec<u64>,
    /// Only this item; may be given more than once.
    #[arg(long = "item", value_name = "ID")]
    pub items: Vec<u64>,
}

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("discount").required(true).args(["percentage", "amount"]))]
pub struct AddCoupon {
    /// The code, at most 40 characters; case does not matter.
    pub code: String,
    #[command(flatten)]
    pub discount: DiscountOptions,
    /// Uses in total.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_uses: Option<u32>,
    /// Uses per user.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_uses_per_user: Option<u32>,
    /// Only this user may use it: id or name.
    #[arg(long, alias = "player", value_name = "USER")]
    pub user: Option<String>,
    #[command(flatten)]
    pub period: PeriodOptions,
    #[command(flatten)]
    pub scope: ScopeOptions,
}

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("changes").required(true).multiple(true).args(
    ["percentage", "amount", "minimum", "max_uses", "max_uses_per_user", "starts_at", "ends_at", "categories", "items",
     "everything"]
))]
pub struct EditCoupon {
    /// The code; case does not matter.
    pub code: String,
    #[command(flatten)]
    pub discount: DiscountOptions,
    /// Uses in total, or `none`.
    #[arg(long, value_name = "N")]
    pub max_uses: Option<String>,
    /// Uses per user, or `none`.
    #[arg(long, value_name = "N")]
    pub max_uses_per_user: Option<String>,
    #[command(flatten)]
    pub period: PeriodOptions,
    #[command(flatten)]
    pub scope: ScopeOptions,
    /// Every item.
    #[arg(long, conflicts_with_all = ["categories", "items"])]
    pub everything: bool,
}

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("changes").required(true).multiple(true).args(["starts_at", "ends_at"]))]
pub struct EditGift {
    /// The code; case does not matter.
    pub code: String,
    #[command(flatten)]
    pub period: PeriodOptions,
}

#[derive(Debug, Clone, Args)]
pub struct TopUp {
    /// The code; case does not matter.
    pub code: String,
    /// Amount to add to the balance.
    pub amount: String,
    /// The reason; `gift show` shows it.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub note: Option<String>,
    /// Unique among the card's top-ups, such as the number of a ticket; by default AMOUNT and TEXT.
    #[arg(long, value_parser = key)]
    pub key: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct AddGift {
    /// Balance of each card.
    #[arg(long, value_name = "A")]
    pub balance: String,
    /// How many cards.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// For whom it is, for your own records; anybody who has the code may use it.
    #[arg(long = "for", value_name = "NAME", value_parser = short_text)]
    pub made_for: Option<String>,
    /// The reason, for your own records; `gift show` and `gift list` show both.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub note: Option<String>,
    /// File that the codes are written to, as CSV; needed for more than 20.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub period: PeriodOptions,
}

#[derive(Debug, Clone, Args)]
pub struct DeleteCoupon {
    /// The code; case does not matter.
    pub code: String,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct AddReferral {
    /// The code, at most 255 characters without spaces; case does not matter.
    pub code: String,
    /// Its owner: id or name.
    #[arg(long, value_name = "USER")]
    pub owner: String,
}
