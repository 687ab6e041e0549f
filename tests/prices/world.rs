//! Any store, buyer and cart, and the store's files.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Write;

/// The time zone of a store, with a day on which its clocks are changed at a second, and how many minutes they are ahead of UTC
/// before and after it. All times of a world are on that day.
#[derive(Debug, Clone, Copy)]
pub struct Zone {
    pub name: &'static str,
    pub day: &'static str,
    pub change: i64,
    pub before: i64,
    pub after: i64,
}

const fn zone(name: &'static str, day: &'static str, change: i64, (before, after): (i64, i64)) -> Zone {
    Zone { name, day, change, before, after }
}

/// Clocks go back and forward; the last one changes nothing.
const ZONES: [Zone; 6] = [
    zone("Europe/Berlin", "2026-10-25", 1_792_890_000, (120, 60)),
    zone("Europe/Berlin", "2027-03-28", 1_806_195_600, (60, 120)),
    zone("America/New_York", "2026-11-01", 1_793_512_800, (-240, -300)),
    zone("America/New_York", "2027-03-14", 1_805_007_600, (-300, -240)),
    zone("Australia/Lord_Howe", "2026-10-04", 1_791_041_400, (630, 660)),
    zone("Asia/Kolkata", "2026-10-25", 1_792_890_000, (330, 330)),
];

impl Zone {
    /// A second as an owner writes it. A time that the clocks have twice is written in UTC.
    fn written(self, second: i64) -> String {
        let ahead = if second < self.change { self.before } else { self.after };
        let local = second + ahead * 60;
        let is_twice = (self.change + self.after * 60..self.change + self.before * 60).contains(&local);
        let (second, zone) = if is_twice { (second, " UTC") } else { (local, "") };
        let (hour, minute, second) = (second.rem_euclid(86_400) / 3_600, second / 60 % 60, second % 60);
        format!("{}T{hour:02}:{minute:02}:{second:02}{zone}", self.day)
    }
}

/// What takes something off a price: hundredths of a percent, or cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    Percentage(i64),
    Amount(i64),
}

impl Off {
    fn written(self) -> String {
        match self {
            Self::Percentage(hundredths) => format!("percentage: {}", decimal(hundredths)),
            Self::Amount(cents) => format!("amount: {}", decimal(cents)),
        }
    }
}

/// From a second, and until another one.
pub type Times = (Option<i64>, Option<i64>);

pub fn is_within((from, until): Times, now: i64) -> bool {
    from.is_none_or(|from| from <= now) && until.is_none_or(|until| now < until)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A step of the ladder.
    Step,
    Plain,
    /// Its buyer names the price.
    Named,
    Monthly,
}

/// An item.
#[derive(Debug, Clone)]
pub struct Thing {
    pub id: u64,
    pub kind: Kind,
    pub price: i64,
    pub off: Option<Off>,
    pub times: Times,
    pub promoted: Option<i64>,
    /// From these counts on, the price of a unit.
    pub packs: Vec<(i64, i64)>,
    /// What the choice of gold costs more.
    pub gold: Option<i64>,
}

impl Thing {
    pub const fn plain(id: u64, kind: Kind, price: i64) -> Self {
        Self { id, kind, price, off: None, times: (None, None), promoted: None, packs: Vec::new(), gold: None }
    }
}

#[derive(Debug, Clone)]
pub struct Sale {
    pub id: u64,
    pub off: Off,
    /// Everything, or a category, or items.
    pub scope: Scope,
    pub except: Vec<u64>,
    pub times: Times,
    pub owners_of: Vec<u64>,
    pub with_codes: bool,
}

#[derive(Debug, Clone)]
pub enum Scope {
    Everything,
    Category(u64),
    Items(Vec<u64>),
}

impl Scope {
    pub fn covers(&self, id: u64) -> bool {
        match self {
            Self::Everything => true,
            Self::Category(category) => category_of(id) == *category,
            Self::Items(items) => items.contains(&id),
        }
    }
}

/// The category of an item.
pub const fn category_of(id: u64) -> u64 {
    id / 100
}

/// What a buyer puts into the cart.
#[derive(Debug, Clone)]
pub struct Wish {
    pub id: u64,
    pub count: i64,
    pub is_gift: bool,
    pub is_gold: bool,
    pub is_promoted: bool,
    /// The price of the buyer's own, in cents.
    pub named: Option<i64>,
}

impl Wish {
    pub const fn plain(id: u64, count: i64) -> Self {
        Self { id, count, is_gift: false, is_gold: false, is_promoted: false, named: None }
    }
}

#[derive(Debug, Clone)]
pub struct World {
    pub zone: Zone,
    pub things: Vec<Thing>,
    pub sales: Vec<Sale>,
    pub coupon: Option<(Off, Scope)>,
    /// The items that the buyer owns, and what was paid for them.
    pub owned: Vec<(u64, i64)>,
    pub wishes: Vec<Wish>,
    /// The least amount that can be paid.
    pub least: i64,
    /// Which of the edges is looked at.
    pub edge: usize,
}

pub fn decimal(hundredths: i64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Hundredths: often a whole or half per cent, at which halves of a cent are found.
fn some_off() -> impl Strategy<Value = Off> {
    let percentage = prop_oneof![(1_i64..=160).prop_map(|halves| halves * 50), 1_i64..=8_000];
    prop_oneof![3 => percentage.prop_map(Off::Percentage), 1 => (1_i64..=240).prop_map(Off::Amount)]
}

fn some_scope() -> impl Strategy<Value = Scope> {
    let items = || vec(prop_oneof![101_u64..=104, 201_u64..=206], 1..4).prop_map(Scope::Items);
    prop_oneof![Just(Scope::Everything), (1_u64..=2).prop_map(Scope::Category), items()]
}

/// Times near a second, of which none, one or both are there.
fn some_times(around: i64) -> impl Strategy<Value = Times> {
    let offset = prop_oneof![-2_i64..=2, -7_200_i64..=7_200];
    (offset, prop_oneof![1_i64..=3, 1_i64..=7_200], 0_u8..4).prop_map(move |(from, lasts, which)| {
        let from = around + from;
        ((which & 1 == 0).then_some(from), (which & 2 == 0).then_some(from + lasts))
    })
}

fn some_thing(id: u64, kind: Kind, base: i64, around: i64) -> impl Strategy<Value = Thing> {
    let times = prop_oneof![3 => Just((None, None)), 1 => some_times(around)];
    let packs = (any::<bool>(), 2_i64..6, 1_i64..6, 1_i64..50, 1_i64..50);
    let more = (option::weighted(0.3, 1_i64..=300), option::weighted(0.3, 1_i64..=250), packs);
    (0_i64..900, option::of(some_off()), times, more).prop_map(move |(price, off, times, (promoted, gold, packs))| {
        let price = base + price;
        let (has_packs, first, then, less, even_less) = packs;
        let is_plain = kind == Kind::Plain;
        let off = off.filter(|_| kind != Kind::Monthly);
        Thing {
            id,
            kind,
            price,
            off,
            times,
            promoted: promoted.filter(|_| is_plain && off.is_none()).map(|less| price - less),
            packs: if has_packs && is_plain {
                vec![(first, price - less), (first + then, price - less - even_less)]
            } else {
                Vec::new()
            },
            gold: gold.filter(|_| is_plain),
        }
    })
}

fn some_sale(id: u64, around: i64) -> impl Strategy<Value = Sale> {
    let owners_of = prop_oneof![2 => Just(Vec::new()), 1 => vec(prop_oneof![101_u64..=104, 201_u64..=206], 1..3)];
    let except = prop_oneof![2 => Just(Vec::new()), 1 => vec(prop_oneof![101_u64..=104, 201_u64..=206], 1..3)];
    (some_off(), some_scope(), except, some_times(around), owners_of, any::<bool>()).prop_map(
        move |(off, scope, mut except, times, mut owners_of, with_codes)| {
            for ids in [&mut except, &mut owners_of] {
                ids.sort_unstable();
                ids.dedup();
            }
            Sale { id, off, scope, except, times, owners_of, with_codes }
        },
    )
}

fn some_wish() -> impl Strategy<Value = Wish> {
    let id = prop_oneof![101_u64..=104, 201_u64..=205];
    let flags = (prop::bool::weighted(0.25), any::<bool>(), prop::bool::weighted(0.3));
    (id, prop_oneof![Just(1_i64), 1_i64..12], flags, 100_i64..2_000).prop_map(
        |(id, count, (is_gift, is_gold, is_promoted), named)| Wish {
            id,
            count: if id < 200 { 1 } else { count },
            is_gift: is_gift && id != 205,
            is_gold,
            is_promoted: is_promoted && !is_gift,
            named: (id == 205).then_some(named),
        },
    )
}

pub fn some_world() -> impl Strategy<Value = World> {
    prop::sample::select(&ZONES[..]).prop_flat_map(|zone| {
        let around = zone.change;
        let steps = (101_u64..=104).zip([400, 1_300, 2_200, 3_100]).map(|(id, base)| (id, Kind::Step, base));
        let plain = (201_u64..=204).map(|id| (id, Kind::Plain, 400));
        let others = [(205, Kind::Named, 400), (206, Kind::Monthly, 400)];
        let things: Vec<_> = steps
            .chain(plain)
            .chain(others)
            .map(|(id, kind, base)| some_thing(id, kind, base, around).boxed())
            .collect();
        let sales: Vec<_> = (1_u64..=3).map(|id| some_sale(id, around).boxed()).collect();
        let owned = vec((prop_oneof![101_u64..=104, 201_u64..=204], 0_i64..2_500), 0..4);
        let buyer = (option::of((some_off(), some_scope())), owned, vec(some_wish(), 1..5));
        let rest = (prop_oneof![Just(1_i64), Just(50_i64)], 0_usize..1_000, 0_usize..=3);
        (things, sales, buyer, rest).prop_map(
            move |(things, mut sales, (coupon, mut owned, mut wishes), (least, edge, most))| {
                sales.truncate(most);
                owned.sort_unstable();
                owned.dedup_by_key(|(id, _)| *id);
                // One line for each item, and one step at most for the buyer.
                let mut seen = std::collections::BTreeSet::new();
                wishes.retain(|wish| seen.insert(if wish.id < 200 { 100 } else { wish.id }));
                World { zone, things, sales, coupon, owned, wishes, least, edge }
            },
        )
    })
}

impl World {
    pub const fn empty() -> Self {
        Self {
            zone: ZONES[0],
            things: Vec::new(),
            sales: Vec::new(),
            coupon: None,
            owned: Vec::new(),
            wishes: Vec::new(),
            least: 50,
            edge: 0,
        }
    }

    pub fn thing(&self, id: u64) -> &Thing {
        self.things.iter().find(|thing| thing.id == id).unwrap()
    }

    /// Every second at which something changes, and that of the clocks.
    pub fn edges(&self) -> Vec<i64> {
        let times = self.sales.iter().map(|sale| sale.times).chain(self.things.iter().map(|thing| thing.times));
        let edges = times.flat_map(|(from, until)| from.into_iter().chain(until));
        edges.chain([self.zone.change]).collect()
    }

    fn written_times(&self, (from, until): Times) -> String {
        let write = |name: &str, at: Option<i64>| {
            at.map(|at| format!(", {name}: \"{}\"", self.zone.written(at))).unwrap_or_default()
        };
        write("from", from) + &write("until", until)
    }

    /// The files by their paths.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let mut store = format!(
            "format: 1\nname: Any\ncurrency: {{code: EUR}}\ntime_zone: {}\nstorefront: {{url: \"https://shop.example\"}}\n",
            self.zone.name
        );
        writeln!(store, "payments: {{methods: [Stripe], least: {}}}\nguest_mode: true", decimal(self.least)).unwrap();
        let items = |category| {
            let things = self.things.iter().filter(move |thing| category_of(thing.id) == category);
            things.fold(String::new(), |all, thing| all + "  {" + &self.written_thing(thing) + "},\n")
        };
        let ladder = format!("id: 1\nslug: ladder\nname: Ladder\ncumulative: true\nitems: [\n{}]\n", items(1));
        let on_shelf = format!("id: 2\nslug: shelf\nname: Shelf\nitems: [\n{}]\n", items(2));
        let mut sales = String::new();
        for sale in &self.sales {
            writeln!(sales, "- {{{}}}", self.written_sale(sale)).unwrap();
        }
        let mut files =
            vec![("store.yaml", store), ("categories/ladder.yaml", ladder), ("categories/shelf.yaml", on_shelf)];
        if !sales.is_empty() {
            files.push(("sales.yaml", sales));
        }
        files
    }

    fn written_thing(&self, thing: &Thing) -> String {
        let mut text =
            format!("id: {0}, name: \"Item {0}\", price: {1}, featured: true", thing.id, decimal(thing.price));
        match thing.off {
            Some(Off::Percentage(hundredths)) => write!(text, ", discount: {} %", decimal(hundredths)).unwrap(),
            Some(Off::Amount(cents)) => write!(text, ", discount: {}", decimal(cents)).unwrap(),
            None => {}
        }
        match thing.kind {
            Kind::Step | Kind::Plain => text += ", gifting: true",
            Kind::Named => text += ", any_price: true, min_price: 1.00",
            Kind::Monthly => text += ", subscription: true",
        }
        if let Some(promoted) = thing.promoted {
            write!(text, ", promotion: {{price: {}}}", decimal(promoted)).unwrap();
        }
        if let [(first, one), (then, other)] = thing.packs[..] {
            write!(text, ", price_from: {{{first}: {}, {then}: {}}}", decimal(one), decimal(other)).unwrap();
        }
        if let Some(gold) = thing.gold {
            let options = format!("[{{value: gold, add: {}}}, silver]", decimal(gold));
            write!(text, ", variables: [{{id: 1, name: Metal, options: {options}}}]").unwrap();
        }
        text + &self.written_times(thing.times)
    }

    fn written_sale(&self, sale: &Sale) -> String {
        let ids = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let scope = match &sale.scope {
            Scope::Everything => "everything".to_owned(),
            Scope::Category(category) => format!("{{categories: [{category}]}}"),
            Scope::Items(items) => format!("{{items: [{}]}}", ids(items)),
        };
        let mut text = format!("id: {0}, name: Sale {0}, {1}, for: {scope}", sale.id, sale.off.written());
        if !sale.except.is_empty() {
            write!(text, ", except: {{items: [{}]}}", ids(&sale.except)).unwrap();
        }
        if !sale.owners_of.is_empty() {
            write!(text, ", who: {{owners_of: [{}]}}", ids(&sale.owners_of)).unwrap();
        }
        if !sale.with_codes {
            text += ", with_codes: false";
        }
        text + &self.written_times(sale.times)
    }
}
