//! `coupon …`, by the same rules as coupons in files.

use crate::arguments::{is_absolute, money, percent, positive, seconds};
use crate::code::{self, OneCode, PeriodOptions, edited, missing, period};
use crate::code_file::{GenerateCoupons, generate};
use crate::prelude::*;
use crate::user;
use publish::LoadError;
use shared::model::{
    ActiveVersion, CategoryId, Code, CodeId, CodeKind, CodeText, Coupon, Discount, ItemId, Money, Percent,
    PublishedItem, Scope,
};
use shared::money::CurrencyFormat;
use shared::rules::code::covers;
use shared::shop::codes;
use shared::shop::codes::add_coupon;
use shared::table::{keys, read_live, read_published};

#[derive(Debug, Clone, Subcommand)]
pub enum CouponCommand {
    /// Make a coupon.
    #[command(
        after_help = "Examples:\n  storectl coupon add SPRING --percentage 12.5 --ends-at 2026-12-24 --stack storefront\n  \
                            storectl coupon add FIVEOFF --amount 5 --minimum 20 --max-uses 100 --category 1\n  \
                            storectl coupon add SORRY --percentage 20 --max-uses 1 --user Thornwick --stack storefront\n  \
                            storectl coupon add WELCOME --percentage 15 --first-purchase --stack storefront\n  \
                            storectl coupon add THREEFORTWO --cheapest-free --once-per 30d --item 310 --stack storefront"
    )]
    Add(AddCoupon),
    /// Make many coupons with random codes, each for one use.
    #[command(
        after_help = "Example:\n  storectl coupon generate 500 --percentage 10 --ends-at 2026-12-24 --csv stream.csv\n\n\
                            The file is written first. If the command is interrupted, run it again with the same file: \
                            it makes the coupons that are missing."
    )]
    Generate(GenerateCoupons),
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

/// The discount of a coupon, and its condition.
#[derive(Debug, Clone, Args)]
pub struct DiscountOptions {
    /// Percentage taken off every eligible line, with at most two digits.
    #[arg(long, value_name = "P", conflicts_with_all = ["amount", "cheapest_free"])]
    pub percentage: Option<String>,
    /// Amount taken off the eligible lines together.
    #[arg(long, value_name = "A", conflicts_with = "cheapest_free")]
    pub amount: Option<String>,
    /// One unit of the cheapest item is free, of at least two.
    #[arg(long)]
    pub cheapest_free: bool,
    /// Minimum total of the cart.
    #[arg(long, value_name = "A")]
    pub minimum: Option<String>,
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

/// What a new coupon takes off, of what and when.
#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("discount").required(true).args(["percentage", "amount", "cheapest_free"]))]
pub struct KindOptions {
    #[command(flatten)]
    pub discount: DiscountOptions,
    /// Only for the first purchase of a buyer, or of who gets a gift.
    #[arg(long)]
    pub first_purchase: bool,
    #[command(flatten)]
    pub period: PeriodOptions,
    #[command(flatten)]
    pub scope: ScopeOptions,
}

#[derive(Debug, Clone, Args)]
pub struct AddCoupon {
    /// The code, at most 40 characters; case does not matter.
    pub code: String,
    #[command(flatten)]
    pub kind: KindOptions,
    /// Uses in total.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_uses: Option<u32>,
    /// Uses per user.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_uses_per_user: Option<u32>,
    /// The time from a user's use to the next, such as 30d.
    #[arg(long, value_name = "TIME", value_parser = once_per)]
    pub once_per: Option<u32>,
    /// Only this user may use it: id or name.
    #[arg(long, alias = "player", value_name = "USER")]
    pub user: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("changes").required(true).multiple(true).args(
    ["percentage", "amount", "cheapest_free", "minimum", "max_uses", "max_uses_per_user", "once_per", "first_purchase",
     "starts_at", "ends_at", "categories", "items", "everything"]
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
    /// The time from a user's use to the next, such as 30d, or `none`. Uses from before it was set do not count.
    #[arg(long, value_name = "TIME")]
    pub once_per: Option<String>,
    /// Whether it is only for a first purchase: true or false.
    #[arg(long, value_name = "BOOL")]
    pub first_purchase: Option<bool>,
    #[command(flatten)]
    pub period: PeriodOptions,
    #[command(flatten)]
    pub scope: ScopeOptions,
    /// Every item.
    #[arg(long, conflicts_with_all = ["categories", "items"])]
    pub everything: bool,
}

#[derive(Debug, Clone, Args)]
pub struct DeleteCoupon {
    /// The code; case does not matter.
    pub code: String,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

impl CouponCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Add(options) => add(at, options).await,
            Self::Generate(options) => generate(at, console, options).await,
            Self::Show(one) => {
                let coupon = find(at, &one.code).await?;
                let facts = code::facts(&Code::Coupon(coupon), at.digits().await?);
                Ok(Printed::new(code::lines(&facts), &facts))
            }
            Self::List => code::list(at, CodeKind::Coupon).await,
            Self::Edit(options) => edit(at, options).await,
            Self::Delete(options) => delete(at, console, options).await,
            Self::Disable(one) => code::switch(at, CodeKind::Coupon, &one.code, false).await,
            Self::Enable(one) => code::switch(at, CodeKind::Coupon, &one.code, true).await,
        }
    }
}

async fn find(at: &Deployment, written: &str) -> Result<Coupon> {
    match code::find(at, CodeKind::Coupon, written).await? {
        Code::Coupon(coupon) => Ok(coupon),
        Code::Gift(_) => Err(missing(CodeKind::Coupon)),
    }
}

async fn add(at: &Deployment, options: &AddCoupon) -> Outcome {
    let code = text(&options.code)?;
    let active = at.published().await?;
    let digits = active.config.digits;
    let user = match &options.user {
        Some(text) => Some(user::find(at, text).await?.id),
        None => None,
    };
    let coupon = Coupon {
        max_uses: options.max_uses,
        max_uses_per_user: options.max_uses_per_user,
        once_per: options.once_per,
        user,
        ..of_kind(at, &active, code.clone(), &options.kind).await?
    };
    let warnings = doubts_of(at, &coupon, digits).await?;
    let made = add_coupon(&at.db, coupon.clone()).await;
    let made =
        made.unsure("It is not known whether the coupon was made.", "Run the same command again: it is made once.")?;
    let is_new = made.is_some();
    let known = match made {
        Some(Code::Coupon(made)) => Some(made),
        _ => made_before(at, &coupon, &options.kind.period).await?,
    };
    let known = known.ok_or_else(|| {
        let what = format!("The code {code} is taken by another coupon or a gift card.");
        Failure::refused(what, "Choose another, or change that one with `storectl coupon edit`.")
    })?;
    let from = known.starts_at.map_or_else(String::new, |at| format!(" from {}", Time(at)));
    let until = known.ends_at.map_or_else(String::new, |at| format!(" until {}", Time(at)));
    let said = if is_new {
        ok!("Coupon {code} (id {}) may be used{from}{until}.", known.id)
    } else {
        format!("Nothing to do: coupon {code} (id {}) was made before; it may be used{from}{until}.", known.id)
    };
    let text = said + &as_lines(&warnings);
    Ok(Printed::new(text, &facts! { coupon: code::facts(&Code::Coupon(known), digits), made: is_new, warnings }))
}

/// A new coupon of a kind, without limits of its uses.
pub async fn of_kind(at: &Deployment, active: &ActiveVersion, code: CodeText, kind: &KindOptions) -> Result<Coupon> {
    let digits = active.config.digits;
    let discount = discount(&kind.discount, digits)?;
    let minimum = kind.discount.minimum.as_ref().map(|text| money("--minimum", text, digits)).transpose()?;
    let (starts_at, ends_at) = period(&kind.period, at.clock.seconds())?;
    Ok(Coupon {
        id: CodeId::new(0),
        code,
        active: true,
        starts_at,
        ends_at,
        discount,
        cheapest_free: kind.discount.cheapest_free,
        scope: scope(at, &active.version, &kind.scope).await?,
        minimum: minimum.unwrap_or(Money::ZERO),
        max_uses: None,
        max_uses_per_user: None,
        once_per: None,
        first_purchase: kind.first_purchase,
        user: None,
        uses: 0,
    })
}

/// Reads the time between two uses.
fn once_per(text: &str) -> Result<u32, String> {
    u32::try_from(seconds(text)?).map_err(|error| error.to_string())
}

/// Reads the text of a new code.
pub fn text(written: &str) -> Result<CodeText> {
    if written.chars().count() > CodeText::LONGEST_COUPON {
        let what = format!("The code has more than {} characters.", CodeText::LONGEST_COUPON);
        return Err(Failure::refused(what, "Buyers could not enter it; choose a shorter one."));
    }
    CodeText::parse(written).map_err(|_| Failure::refused("The code is blank.", "Choose one that buyers can type."))
}

/// The coupon that an earlier run of the same command has made. Of a period that is counted from now it is only compared whether
/// it is limited: that run had another now.
async fn made_before(at: &Deployment, wanted: &Coupon, options: &PeriodOptions) -> Result<Option<Coupon>> {
    let Some(Code::Coupon(found)) = read_live(&at.db, &keys::code(&wanted.code)).await? else { return Ok(None) };
    let is_same = |typed: &Option<String>, found: Option<i64>, wanted: Option<i64>| {
        let counts_from_now = typed.as_ref().is_some_and(|text| !is_absolute(text));
        found == wanted || counts_from_now && found.is_some()
    };
    let is_made = is_same(&options.starts_at, found.starts_at, wanted.starts_at)
        && is_same(&options.ends_at, found.ends_at, wanted.ends_at)
        && Coupon {
            id: found.id,
            uses: found.uses,
            starts_at: found.starts_at,
            ends_at: found.ends_at,
            ..wanted.clone()
        } == found;
    Ok(is_made.then_some(found))
}

async fn delete(at: &Deployment, console: &Console, options: &DeleteCoupon) -> Outcome {
    let coupon = find(at, &options.code).await?;
    let code = &coupon.code;
    let used = || {
        let what = format!("The coupon {code} is not deleted: orders or open checkouts use it.");
        Failure::refused(what, format!("`storectl coupon disable {code}` switches it off."))
    };
    if coupon.uses > 0 {
        return Err(used());
    }
    console.confirm(&format!("Coupon {code} (id {})", coupon.id), "Delete it?", options.yes)?;
    let deleted = codes::delete_unused(&at.db, &coupon).await;
    if !deleted.unsure("It is not known whether the coupon was deleted.", AGAIN)? {
        return Err(used());
    }
    let said = ok!("Coupon {code} is deleted; carts that have it no longer count it.");
    Ok(Printed::new(said, &facts! { code, deleted: true }))
}

async fn edit(at: &Deployment, options: &EditCoupon) -> Outcome {
    let mut coupon = find(at, &options.code).await?;
    let before = Code::Coupon(coupon.clone());
    let active = at.published().await?;
    let digits = active.config.digits;
    let DiscountOptions { percentage, amount, cheapest_free, .. } = &options.discount;
    if percentage.is_some() || amount.is_some() || *cheapest_free {
        coupon.discount = discount(&options.discount, digits)?;
        coupon.cheapest_free = *cheapest_free;
    }
    if let Some(text) = &options.discount.minimum {
        coupon.minimum = money("--minimum", text, digits)?;
    }
    if let Some(text) = &options.max_uses {
        coupon.max_uses = limit("--max-uses", text)?;
    }
    if let Some(text) = &options.max_uses_per_user {
        coupon.max_uses_per_user = limit("--max-uses-per-user", text)?;
    }
    coupon.once_per = match options.once_per.as_deref().map(str::trim) {
        None => coupon.once_per,
        Some("none") => None,
        Some(text) => Some(
            once_per(text)
                .map_err(|error| Failure::refused(format!("--once-per: {error}."), "Correct it and try again."))?,
        ),
    };
    coupon.first_purchase = options.first_purchase.unwrap_or(coupon.first_purchase);
    (coupon.starts_at, coupon.ends_at) = edited(at, &options.period, (coupon.starts_at, coupon.ends_at))?;
    if options.everything {
        coupon.scope = Scope::default();
    } else if !(options.scope.categories.is_empty() && options.scope.items.is_empty()) {
        coupon.scope = scope(at, &active.version, &options.scope).await?;
    }
    let warnings = doubts_of(at, &coupon, digits).await?;
    let coupon = code::write(at, &before, Code::Coupon(coupon), digits).await?;
    Ok(Printed::new(code::lines(&coupon) + &as_lines(&warnings), &facts! { #[serde(flatten)] coupon, warnings }))
}

/// Reads a discount: a percentage or an amount, of nothing if the cheapest item is free.
fn discount(options: &DiscountOptions, digits: u8) -> Result<Discount> {
    if options.cheapest_free {
        return Ok(Discount::Amount(Money::ZERO));
    }
    if let Some(text) = &options.percentage {
        return Ok(Discount::Percentage(percent("--percentage", text)?));
    }
    Ok(Discount::Amount(positive("--amount", options.amount.as_deref().unwrap_or_default(), digits)?))
}

/// The scope of a coupon; everything that is named must be published.
async fn scope(at: &Deployment, version: &str, options: &ScopeOptions) -> Result<Scope> {
    let ScopeOptions { categories, items } = options;
    if !categories.is_empty() {
        let tree = publish::read_tree(&at.db, version).await?.unwrap_or_default();
        let heads = tree.0.iter().flat_map(|node| std::iter::once(&node.head).chain(&node.subcategories));
        let known: Vec<u64> = heads.map(|head| head.id.get()).collect();
        if let Some(unknown) = categories.iter().find(|id| !known.contains(id)) {
            let what = format!("There is no published category {unknown}.");
            return Err(Failure::refused(what, "Publish it first, or check the id."));
        }
    }
    for id in items {
        item(at, version, ItemId::new(*id)).await?;
    }
    Ok(Scope {
        categories: categories.iter().copied().map(CategoryId::new).collect(),
        items: items.iter().copied().map(ItemId::new).collect(),
    })
}

/// Reads a limit of the command line, at least 1, or `none`.
fn limit(name: &str, text: &str) -> Result<Option<u32>> {
    match text.trim() {
        "none" => Ok(None),
        number => match number.parse() {
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => {
                Err(Failure::refused(format!("{name} must be a number from 1, or none."), "Correct it and try again."))
            }
        },
    }
}

async fn item(at: &Deployment, version: &str, id: ItemId) -> Result<PublishedItem> {
    read_published(&at.db, &keys::item(version, id)).await?.ok_or_else(|| {
        let what = format!("There is no published item {id}.");
        Failure::refused(what, "Items of hidden categories are not published; check the id.")
    })
}

/// Every published item; none if what is published is damaged.
pub async fn items(at: &Deployment) -> Result<Vec<PublishedItem>> {
    match publish::load_version(&at.db, &at.published().await?.version).await {
        Ok(store) => Ok(store.items),
        Err(LoadError::Store(error)) => Err(error.into()),
        // That is the doctor's to say.
        Err(LoadError::Missing { .. } | LoadError::Altered { .. }) => Ok(Vec::new()),
    }
}

/// Percentages below this one, in hundredths of a percent, are more likely a share of 1: 0.1 for 10 %.
const LEAST_LIKELY: u32 = 100;

/// The doubts about a coupon of the table, each a sentence without its end.
pub async fn doubts_of(at: &Deployment, coupon: &Coupon, digits: u8) -> Result<Vec<String>> {
    Ok(doubts(coupon, &items(at).await?, digits, at.clock.seconds()))
}

/// The doubts about a coupon of a store with these items.
fn doubts(coupon: &Coupon, items: &[PublishedItem], digits: u8, now: i64) -> Vec<String> {
    let format = CurrencyFormat::new(digits);
    let mut found = Vec::new();
    match coupon.discount {
        Discount::Percentage(percent) if percent.hundredths() < LEAST_LIKELY => {
            let of_share = Percent::from_hundredths(100 * percent.hundredths());
            let (taken, meant) = (shared::money::percent(percent), shared::money::percent(of_share));
            found.push(format!("takes off {taken} percent; for {meant} percent write {meant}"));
        }
        Discount::Amount(amount) if coupon.minimum > Money::ZERO && amount > coupon.minimum => {
            let (amount, minimum) = (format.money(amount), format.money(coupon.minimum));
            found.push(format!("takes off {amount} from a cart of {minimum}, its minimum: that is free"));
        }
        Discount::Percentage(_) | Discount::Amount(_) => {}
    }
    if coupon.ends_at.is_some_and(|end| end <= now) {
        found.push("has ended: no one can use it any more".to_owned());
    }
    let mut covered = items.iter().filter(|item| item.item.active && covers(&coupon.scope, item)).peekable();
    if covered.peek().is_some() && covered.all(|item| item.item.is_subscription) {
        found.push("is for subscriptions only, and a code takes nothing off a subscription".to_owned());
    }
    found
}

pub fn as_lines(doubts: &[String]) -> String {
    doubts.iter().fold(String::new(), |lines, doubt| lines + "\n" + &warning!("The coupon {doubt}."))
}
