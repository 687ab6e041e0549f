//! GET /profile/{name}: a player's public profile (api.md, "GET /profile/{name}"): what their ledger and the statistics
//! say.

use crate::State;
use crate::get_category::{CatalogItemBody, item_body};
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Cache, Endpoint, Error, Json, PathParameter, Refusal, RoundTrips};
use shared::http::reply::Rendered;
use shared::model::{
    ActiveVersion, ItemId, Money, PublishedItem, Settings, Sold, Staff, StaffMember, StoreConfig, User, UserName,
    UserNameError,
};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::rules::pricing::{Buyer, Terms, availability};
use shared::shop::accounts::names;
use shared::shop::catalog::ItemPlan;
use shared::shop::statistics;
use shared::shop::stock::ledgers;
use shared::table::{Rows, StoreError, keys};
use std::str::FromStr;
use std::sync::Arc;

/// How many items a profile lists.
const MOST_ITEMS: usize = 20;

pub struct GetProfile;

/// The player's name. Case is ignored.
#[derive(schemars::JsonSchema)]
pub struct ProfileName(#[schemars(with = "String")] UserName);

impl FromStr for ProfileName {
    type Err = UserNameError;

    fn from_str(text: &str) -> Result<Self, UserNameError> {
        UserName::parse(text).map(Self)
    }
}

/// A player's profile.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ProfileReply<'a> {
    /// 1 if the player has a staff group, otherwise 0.
    #[schemars(range(max = 1))]
    display_group: u8,
    /// The account's UUID.
    uuid: &'a str,
    /// The name in the game.
    username: &'a str,
    /// The name to show; the same as `username`.
    displayname: &'a str,
    /// The player's staff group. Empty if they have none.
    group: &'a str,
    /// The time of the account's creation: `YYYY-MM-DD HH:MM:SS` in UTC.
    created: String,
    /// The name of the item of `items` that the player paid most for. Null if `items` is empty.
    top_item_name: Option<&'a str>,
    /// The id of that item. 0 if `items` is empty.
    top_item_id: u64,
    /// The items that the player has, as a category shows them to a guest, by id: at most 20, those that they paid most for.
    items: Vec<CatalogItemBody<'a>>,
    /// Money: what the player gave, all time, less refunds.
    money_spent: Decimal,
    /// Always `success`.
    status: &'static str,
}

/// Profiles are off, or no player has the name, or the player is banned.
#[derive(Debug, thiserror::Error)]
#[error("This profile does not exist.")]
pub struct NoProfile;

impl Refusal for NoProfile {
    fn status(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("Profiles are off, no player has the name, or the name is banned", Self)]
    }
}

type Failure = Error<NoProfile>;

impl Endpoint for GetProfile {
    type State = State;
    type Caller = ();
    type Input = PathParameter<ProfileName>;
    type Reply = Json<ProfileReply<'static>>;
    type Refusal = NoProfile;

    const ROUTES: &'static [&'static str] = &["GET /profile/{name}"];
    const SUMMARY: &'static str = "returns a player's public profile";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), PathParameter(name): Self::Input) -> Result<Self::Reply, Failure> {
        let ProfileName(name) = name.ok_or(Error::Refused(NoProfile))?;
        let published = state.base.published.at_current(|active| load(state, active));
        let (published, user) = tokio::join!(published, names::owner(&state.base.db, &name));
        let (active, (settings, staff)) = published?;
        if !settings.is_profile_enabled {
            return Err(Error::Refused(NoProfile));
        }
        let id = user?.ok_or(Error::Refused(NoProfile))?;
        let mut rows = state.base.db.batch_get(vec![keys::user(id), keys::ledger(id), keys::patron(id)]).await?;
        let user: Option<User> = rows.take_live(&keys::user(id))?;
        let user = user.filter(|user| !user.banned).ok_or(Error::Refused(NoProfile))?;
        let (ledger, spent) = (ledgers::take(&mut rows, id)?, statistics::take_sum(&mut rows, id)?);
        let buyer = Buyer { ledger: &ledger, subscriptions: &user.subscriptions, now: state.base.clock.seconds() };
        let (shown, sold) = bought(state, &active, buyer).await?;
        let group = group_of(&staff, &user.username);
        let body = body((&user, spent, buyer.now), group, &shown, &sold, &active.config);
        Ok(Json::kept(Arc::new(Rendered::new(&body))))
    }
}

async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<(Arc<Settings>, Arc<Staff>), StoreError> {
    let (published, version) = (&state.base.published, &active.version);
    let (settings, staff) = (keys::settings(version), keys::staff(version));
    let (settings, staff) = tokio::try_join!(published.get(&settings), published.get(&staff))?;
    Ok((settings.unwrap_or_default(), staff.unwrap_or_default()))
}

/// The items that a player has, by id, each with the sum paid for it.
type Bought = Vec<(Arc<PublishedItem>, Money)>;

/// The published ones of the items that a player paid most for, and the units sold of those with a global limit.
async fn bought(state: &State, active: &ActiveVersion, buyer: Buyer<'_>) -> Result<(Bought, Sold), StoreError> {
    let owned = buyer.ledger.iter().map(|(item, _)| (item, buyer.owned(item)));
    let mut held: Vec<(Money, ItemId)> =
        owned.filter(|(_, owned)| owned.units > 0).map(|(item, owned)| (owned.paid, item)).collect();
    held.sort_by(|(paid, item), (other, other_item)| other.cmp(paid).then(item.cmp(other_item)));
    held.truncate(MOST_ITEMS);
    let ids = || held.iter().map(|(_, item)| *item);
    let items = ItemPlan::new(&state.base.published.cache, &active.version, ids());
    let limited = |id: &ItemId| items.known(*id).is_none_or(|published| published.item.is_counted());
    let counters = state.counters.plan(ids().filter(limited), state.base.clock.millis());
    let keys: Vec<_> = items.keys().chain(counters.keys()).collect();
    let mut rows = if keys.is_empty() { Rows::default() } else { state.base.db.batch_get(keys).await? };
    let items = items.complete(&mut rows, |_| true)?;
    let mut shown: Bought = items.into_iter().map(|(id, published)| (published, buyer.owned(id).paid)).collect();
    shown.sort_by_key(|(published, _)| published.item.id);
    Ok((shown, state.counters.complete(counters, &mut rows)?))
}

fn body<'a>(
    (user, spent, now): (&'a User, Money, i64),
    group: Option<&'a str>,
    shown: &'a [(Arc<PublishedItem>, Money)],
    sold: &Sold,
    config: &'a StoreConfig,
) -> ProfileReply<'a> {
    // Of items with the same sum, the first.
    let top = shown.iter().rev().max_by_key(|(_, paid)| *paid).map(|(published, _)| &published.item);
    let items = shown.iter().map(|(published, _)| {
        let terms = Terms::of(config, sold, now);
        let available = availability(&published.item, &published.price_tiers, terms, None);
        item_body(&published.item, available, (None, config), terms)
    });
    ProfileReply {
        display_group: u8::from(group.is_some()),
        uuid: &user.uuid,
        username: &user.username,
        displayname: &user.username,
        group: group.unwrap_or_default(),
        created: money::date_and_time(user.created_at),
        top_item_name: top.map(|item| item.name.as_str()),
        top_item_id: top.map_or(0, |item| item.id.get()),
        items: items.collect(),
        money_spent: CurrencyFormat::new(config.digits).money(spent),
        status: "success",
    }
}

/// The first staff group that lists a player.
fn group_of<'a>(staff: &'a Staff, username: &str) -> Option<&'a str> {
    let name = username.to_lowercase();
    let is_member = |members: &[StaffMember]| members.iter().any(|member| member.username.to_lowercase() == name);
    staff.0.iter().find(|(_, members)| is_member(members)).map(|(group, _)| group.as_str())
}
