//! From files to what the endpoints read: every row of a version, and the hash that names it.

use crate::fault::{Fault, Report};
use crate::files::StoreFiles;
use crate::lower::{self, Category, Lowered};
use crate::own_files::OwnFiles;
use serde::Serialize;
use sha2::{Digest, Sha256};
use shared::model::{
    Bundle, CategoryId, CategoryPath, CategoryWithItems, Deals, Item, ItemDelivery, ItemId, LowestPrice, Page, PageUrl,
    Patronage, Promotions, PublishedItem, Settings, Staff, StoreConfig, Tree, TreeNode,
};
use shared::table::keys::{self, Key};
use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};

/// The largest published thing in bytes of JSON; an item of the table holds 400 KB (rules.md, "Publishing").
const LARGEST_ROW: usize = 350 * 1_024;
/// The largest category with its subcategories in bytes of JSON, which one request reads and returns. It is read
/// by one Query of at most 1 MB, several such pages fit into the functions' cache of published things, and the response
/// stays below half of Lambda's 6 MB however small the items are (`a_page_of_the_largest_size_is_read_once_…`).
pub const LARGEST_PAGE: usize = 1_000_000;
/// The start of the hashed text: a change in how rows are written changes every version's name.
const ROWS: &str = "rows 1";
/// Hex digits of a version's name: 80 bits.
const VERSION_DIGITS: usize = 20;

/// A compiled store: only visible categories, in the order in which they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Hash of everything below but the files and the lowest prices before reductions, in hex: the same store always has the same.
    pub version: String,
    /// The settings that every function needs; stored in the active version.
    pub config: StoreConfig,
    pub settings: Settings,
    pub staff: Staff,
    pub patronage: Patronage,
    pub pages: Vec<Page>,
    /// Visible top categories in order.
    pub categories: Vec<CompiledCategory>,
    pub tree: Tree,
    /// Every item of a visible category, inactive ones included: carts show them, unavailable.
    pub items: Vec<PublishedItem>,
    /// Featured items on sale, in catalog order.
    pub deals: Deals,
    /// Promoted items on sale, by the promotion's sorting, then by id.
    pub promotions: Promotions,
    /// The owner's own files, of which the version's name says nothing; empty of a store that was read back.
    pub files: OwnFiles,
}

/// A visible top category with its visible subcategories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledCategory {
    pub shelf: CategoryWithItems,
    pub subcategories: Vec<CategoryWithItems>,
}

impl CompiledCategory {
    /// Itself, then its subcategories in order.
    pub fn shelves(&self) -> impl Iterator<Item = &CategoryWithItems> {
        std::iter::once(&self.shelf).chain(&self.subcategories)
    }
}

/// A part of a published store, in the form in which it is written under its key.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum Part<'a> {
    Settings(&'a Settings),
    Staff(&'a Staff),
    Patronage(&'a Patronage),
    Page(&'a Page),
    Tree(&'a Tree),
    Deals(&'a Deals),
    Promotions(&'a Promotions),
    /// A category in its own partition or its parent's.
    Category(&'a CategoryWithItems),
    Item(&'a PublishedItem),
}

/// Compiles a store. Fails with every fault of the store; nothing is compiled then.
pub fn compile(files: &StoreFiles) -> Result<Compiled, Vec<Fault>> {
    let mut report = Report::default();
    let lowered = lower::lower(files, &mut report);
    let (origins, mut compiled) = assemble(lowered);
    compiled.files.clone_from(&files.own);
    check_sizes(&origins, &compiled, &mut report);
    if report.is_empty() { Ok(compiled) } else { Err(report.into_faults()) }
}

/// The files of rows that can grow too large, for the text of the fault.
struct Origins {
    store: PathBuf,
    staff: PathBuf,
    pages: Vec<PathBuf>,
    categories: Vec<(CategoryId, PathBuf, Option<u64>)>,
}

fn assemble(lowered: Lowered) -> (Origins, Compiled) {
    let Lowered { site, staff, mut pages, categories } = lowered;
    // By id, so that a file's name changes nothing.
    pages.sort_by_key(|(_, page)| page.id);
    let origin = |category: &&Category| (category.shelf.head.id, category.file.clone(), category.line);
    let origins = Origins {
        store: PathBuf::from("store.yaml"),
        staff: PathBuf::from("staff.yaml"),
        pages: pages.iter().map(|(path, _)| path.clone()).collect(),
        categories: Category::all_of(&categories).iter().map(origin).collect(),
    };
    let all = Category::all_of(&categories).into_iter().flat_map(|category| &category.deliveries);
    let deliveries: Deliveries = all.map(|(id, delivery)| (*id, delivery.clone())).collect();
    let visible = categories.into_iter().filter(|top| top.visible).map(|top| CompiledCategory {
        shelf: top.shelf,
        subcategories: top.subcategories.into_iter().filter(|inner| inner.visible).map(|inner| inner.shelf).collect(),
    });
    let categories: Vec<CompiledCategory> = visible.collect();
    let pages = pages.into_iter().map(|(_, page)| page).collect();
    let frame = Frame { config: site.config, settings: site.settings, staff, patronage: site.patronage, pages };
    let compiled = Compiled::of(frame, categories, &deliveries);
    (origins, compiled)
}

fn node(category: &CompiledCategory) -> TreeNode {
    TreeNode {
        head: category.shelf.head.clone(),
        subcategories: category.subcategories.iter().map(|inner| inner.head.clone()).collect(),
    }
}

/// The delivery of items, by id.
pub(crate) type Deliveries = BTreeMap<ItemId, ItemDelivery>;

/// A category's items in catalog order: its own, then those of its subcategories.
fn items_of(category: &CompiledCategory, deliveries: &Deliveries) -> Vec<PublishedItem> {
    let top = category.shelf.head.id;
    let mut items = Vec::new();
    for shelf in category.shelves() {
        let parent = (shelf.head.id != top).then_some(top);
        let price_tiers = shelf.price_tiers();
        items.extend(shelf.items.iter().map(|item| PublishedItem {
            item: item.clone(),
            category: shelf.head.id,
            parent,
            price_tiers: price_tiers.clone(),
            is_rank: shelf.cumulative && item.is_subscription,
            delivery: deliveries.get(&item.id).cloned().unwrap_or_default(),
            parts: Vec::new(),
        }));
    }
    items
}

/// An item as lists of the catalog have it: without its delivery, and that of its parts.
fn shown(entry: &PublishedItem) -> PublishedItem {
    PublishedItem { delivery: ItemDelivery::default(), parts: Vec::new(), ..entry.clone() }
}

/// The items, each bundle with its parts.
fn with_parts(items: Vec<PublishedItem>) -> Vec<PublishedItem> {
    let parts = |entry: &PublishedItem| -> Vec<PublishedItem> {
        let ids = entry.item.bundle.iter().flat_map(Bundle::all).map(|part| part.item);
        ids.filter_map(|id| items.iter().find(|part| part.item.id == id).cloned()).collect()
    };
    let parts: Vec<Vec<PublishedItem>> = items.iter().map(parts).collect();
    items.into_iter().zip(parts).map(|(entry, parts)| PublishedItem { parts, ..entry }).collect()
}

fn promotions(items: &[PublishedItem]) -> Promotions {
    let on_sale = items.iter().filter(|entry| entry.item.active && !entry.item.hidden);
    let promoted = on_sale.filter_map(|entry| Some((entry.item.promotion.as_ref()?.sorting, entry)));
    let mut promoted: Vec<(i64, &PublishedItem)> = promoted.collect();
    promoted.sort_by_key(|(sorting, entry)| (*sorting, entry.item.id));
    Promotions(promoted.into_iter().map(|(_, entry)| shown(entry)).collect())
}

pub(crate) struct Frame {
    pub(crate) config: StoreConfig,
    pub(crate) settings: Settings,
    pub(crate) staff: Staff,
    pub(crate) patronage: Patronage,
    pub(crate) pages: Vec<Page>,
}

impl Compiled {
    /// Everything that follows from a store's visible categories: items, deals, promotions, the category list, and
    /// the version's name.
    pub(crate) fn of(frame: Frame, categories: Vec<CompiledCategory>, deliveries: &Deliveries) -> Self {
        let items = with_parts(categories.iter().flat_map(|top| items_of(top, deliveries)).collect());
        let deals = items
            .iter()
            .filter(|entry| entry.item.active && entry.item.featured && !entry.item.hidden)
            .map(shown)
            .collect();
        let mut compiled = Self {
            version: String::new(),
            config: frame.config,
            settings: frame.settings,
            staff: frame.staff,
            patronage: frame.patronage,
            pages: frame.pages,
            tree: Tree(categories.iter().map(node).collect()),
            deals: Deals(deals),
            promotions: promotions(&items),
            items,
            categories,
            files: OwnFiles::default(),
        };
        compiled.settings.is_featured_deal = !compiled.deals.0.is_empty();
        let lowest = |entry: &PublishedItem| (entry.item.id, entry.item.lowest_prices.clone());
        let lowest: BTreeMap<ItemId, Vec<LowestPrice>> = compiled.items.iter().map(lowest).collect();
        let mut compiled = compiled.with_lowest_prices(|_| Vec::new());
        compiled.version = fingerprint(&compiled);
        compiled.with_lowest_prices(|item| lowest.get(&item.id).cloned().unwrap_or_default())
    }

    /// The same store with these lowest prices before its items' reductions. They follow from what was published before, so that its
    /// name says nothing of them.
    #[must_use]
    pub(crate) fn with_lowest_prices(mut self, of: impl Fn(&Item) -> Vec<LowestPrice>) -> Self {
        let shelves =
            self.categories.iter_mut().flat_map(|top| iter::once(&mut top.shelf).chain(&mut top.subcategories));
        let listed = self.deals.0.iter_mut().chain(&mut self.promotions.0).chain(&mut self.items);
        let listed = listed
            .flat_map(|entry| iter::once(&mut entry.item).chain(entry.parts.iter_mut().map(|part| &mut part.item)));
        for item in shelves.flat_map(|shelf| &mut shelf.items).chain(listed) {
            item.lowest_prices = of(item);
        }
        self
    }

    /// Everything that is written for this store under a version's name, each under its key. Categories are
    /// under their slug and again under their id: first the category, then its subcategories in order.
    pub fn parts(&self, version: &str) -> Vec<(Key, Part<'_>)> {
        let mut parts = vec![
            (keys::settings(version), Part::Settings(&self.settings)),
            (keys::staff(version), Part::Staff(&self.staff)),
            (keys::patronage(version), Part::Patronage(&self.patronage)),
            (keys::tree(version), Part::Tree(&self.tree)),
            (keys::deals(version), Part::Deals(&self.deals)),
            (keys::promotions(version), Part::Promotions(&self.promotions)),
        ];
        parts.extend(self.pages.iter().map(|page| (keys::page(version, &PageUrl::new(&page.url)), Part::Page(page))));
        for category in &self.categories {
            partition(version, &category.shelves().collect::<Vec<_>>(), &mut parts);
            for inner in &category.subcategories {
                partition(version, &[inner], &mut parts);
            }
        }
        parts.extend(self.items.iter().map(|entry| (keys::item(version, entry.item.id), Part::Item(entry))));
        parts
    }
}

/// The partitions of the first of these shelves, by slug and by id.
fn partition<'a>(version: &str, shelves: &[&'a CategoryWithItems], parts: &mut Vec<(Key, Part<'a>)>) {
    let Some(first) = shelves.first() else { return };
    for path in [CategoryPath::Slug(first.head.slug.clone()), CategoryPath::Id(first.head.id)] {
        let row = |(place, shelf)| (keys::category_row(version, &path, place), Part::Category(shelf));
        parts.extend(shelves.iter().copied().enumerate().map(row));
    }
}

/// JSON of a model type, which always serialises.
fn json<T: Serialize>(thing: &T) -> String {
    serde_json::to_string(thing).unwrap_or_default()
}

/// The hash of the config and of every row, keys included.
fn fingerprint(compiled: &Compiled) -> String {
    let mut hash = Sha256::new();
    let mut take = |text: &str| {
        // Lengths keep neighbours apart: "ab" + "c" is not "a" + "bc".
        hash.update(text.len().to_be_bytes());
        hash.update(text.as_bytes());
    };
    take(ROWS);
    take(&json(&compiled.config));
    for (key, part) in compiled.parts("") {
        take(&key.pk);
        take(&key.sk);
        take(&json(&part));
    }
    let mut version = hex::encode(hash.finalize());
    version.truncate(VERSION_DIGITS);
    version
}

fn check_sizes(origins: &Origins, compiled: &Compiled, report: &mut Report) {
    for top in &compiled.categories {
        let size: usize = top.shelves().map(|shelf| json(shelf).len()).sum();
        if size > LARGEST_PAGE && !top.subcategories.is_empty() {
            let (file, line) = origin(origins, top.shelf.head.id);
            let problem = format!(
                "the category {} with its subcategories is {size} bytes when published; at most {LARGEST_PAGE} are \
                 served as one page: move some of it to another category",
                top.shelf.head.slug
            );
            report.push(Fault { file, line, field: String::new(), problem });
        }
    }
    let mut pages = origins.pages.iter();
    let mut reported: Vec<CategoryId> = Vec::new();
    for (_, part) in compiled.parts("") {
        let page = if matches!(part, Part::Page(_)) { pages.next() } else { None };
        let size = json(&part).len();
        if size <= LARGEST_ROW {
            continue;
        }
        let whole = |path: &Path| (path.to_path_buf(), None);
        let ((file, line), what) = match part {
            Part::Settings(_) => (whole(&origins.store), "the settings".to_owned()),
            Part::Patronage(_) => (whole(&origins.store), "the patrons section".to_owned()),
            Part::Staff(_) => (whole(&origins.staff), "the staff".to_owned()),
            Part::Page(found) => (whole(page.unwrap_or(&origins.store)), format!("the page {}", found.url)),
            Part::Tree(_) => (whole(Path::new("categories")), "the list of all categories".to_owned()),
            Part::Deals(_) => (whole(Path::new("categories")), "the list of all featured items".to_owned()),
            Part::Promotions(_) => (whole(Path::new("categories")), "the list of all promotions".to_owned()),
            Part::Category(shelf) if reported.contains(&shelf.head.id) => continue,
            Part::Category(shelf) => {
                reported.push(shelf.head.id);
                (origin(origins, shelf.head.id), format!("the category {} with its items", shelf.head.slug))
            }
            Part::Item(entry) => (origin(origins, entry.category), format!("item {}", entry.item.id)),
        };
        let problem = format!("{what} is {size} bytes when published; at most {LARGEST_ROW} fit");
        report.push(Fault { file, line, field: String::new(), problem });
    }
}

fn origin(origins: &Origins, id: CategoryId) -> (PathBuf, Option<u64>) {
    let found = origins.categories.iter().find(|(known, _, _)| *known == id);
    found.map_or_else(|| (PathBuf::from("categories"), None), |(_, file, line)| (file.clone(), *line))
}
