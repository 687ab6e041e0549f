//! Categories: slugs, ids, order and visibility.

use super::check_id;
use super::item::{CategoryContext, item};
use super::site::Site;
use super::text::{check_image, check_name};
use crate::calendar;
use crate::fault::{Report, Unique};
use crate::files::{CategoryFile, Source};
use shared::model::{
    CategoryHead, CategoryId, CategoryWithItems, Comparison, Item, ItemDelivery, ItemId, OnSale, Slug,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The most subcategories: their places in the category's partition have four digits.
const MOST_SUBCATEGORIES: usize = 9_999;

/// A category with its subcategories, hidden ones included.
#[derive(Debug)]
pub struct Category {
    pub file: PathBuf,
    pub line: Option<u64>,
    /// Whether it is enabled and not deleted.
    pub visible: bool,
    /// Itself and its items in order.
    pub shelf: CategoryWithItems,
    /// The delivery of its own items.
    pub deliveries: BTreeMap<ItemId, ItemDelivery>,
    pub subcategories: Vec<Category>,
    sorting: i64,
}

impl Category {
    /// Every item of these categories, hidden ones included, by id.
    pub fn items_of(categories: &[Self]) -> BTreeMap<u64, &Item> {
        let shelves = Self::all_of(categories).into_iter().map(|category| &category.shelf);
        shelves.flat_map(|shelf| &shelf.items).map(|item| (item.id.get(), item)).collect()
    }

    /// Every item of these categories, hidden ones included, to be completed.
    pub(super) fn every_item(categories: &mut [Self]) -> impl Iterator<Item = &mut Item> {
        categories.iter_mut().flat_map(|top| {
            let inner = top.subcategories.iter_mut().flat_map(|inner| &mut inner.shelf.items);
            top.shelf.items.iter_mut().chain(inner)
        })
    }

    pub fn all_of(categories: &[Self]) -> Vec<&Self> {
        categories.iter().flat_map(|top| std::iter::once(top).chain(&top.subcategories)).collect()
    }
}

/// Names that must be unique in the whole catalog.
struct Names {
    categories: Unique<u64>,
    slugs: Unique<String>,
    items: Unique<u64>,
}

/// Reads every category, in order: by sorting, then by id (rules.md, "Category urls").
pub(super) fn categories(sources: &[Source<CategoryFile>], site: &Site, report: &mut Report) -> Vec<Category> {
    let mut names =
        Names { categories: Unique::new("category id"), slugs: Unique::new("slug"), items: Unique::new("item id") };
    let mut categories = Vec::with_capacity(sources.len());
    for source in sources {
        report.enter(&source.path);
        let top = category(&source.content, None, "", site, &mut names, report);
        let on_sale = top.as_ref().map_or_else(OnSale::default, |top: &Category| top.shelf.head.on_sale);
        let mut subcategories = Vec::with_capacity(source.content.subcategories.len());
        for inner in &source.content.subcategories {
            let prefix = format!("subcategories[{}].", *inner.id);
            if !inner.subcategories.is_empty() {
                let field = format!("{prefix}subcategories");
                report.fault(inner.id.line, field, "there are two levels: a subcategory has no subcategories");
            }
            if source.content.deleted && inner.is_visible() {
                let problem = "can never be reached, its parent is deleted: set it here too, or move the subcategory";
                report.fault(inner.id.line, format!("{prefix}deleted"), problem);
            }
            let parent = Some((source.content.slug.as_str(), on_sale));
            subcategories.extend(category(inner, parent, &prefix, site, &mut names, report));
        }
        if subcategories.len() > MOST_SUBCATEGORIES {
            let problem = format!("a category has at most {MOST_SUBCATEGORIES} subcategories");
            report.fault(source.content.id.line, "subcategories", problem);
        }
        warn_of_hidden_items(&source.content, report);
        subcategories.sort_by_key(|inner: &Category| (inner.sorting, inner.shelf.head.id));
        categories.extend(top.map(|top| Category { subcategories, ..top }));
    }
    categories.sort_by_key(|top| (top.sorting, top.shelf.head.id));
    categories
}

/// Warns of items that are directly in a category with subcategories: the menu of the usual storefront only expands
/// such a category and never opens it.
fn warn_of_hidden_items(top: &CategoryFile, report: &mut Report) {
    let expands = top.is_visible() && top.subcategories.iter().any(CategoryFile::is_visible);
    if expands && top.items.iter().any(|item| item.active && !item.hidden) {
        let problem = "a menu only expands a category with subcategories, so buyers may never see the items directly in \
                       it: move them into a subcategory";
        report.warn(top.id.line, "items", problem);
    }
}

/// Reads one category without its subcategories; `prefix` is where its fields are in the file. Nothing results from
/// one whose slug cannot be read, but its items have been looked at.
fn category(
    file: &CategoryFile,
    parent: Option<(&str, OnSale)>,
    prefix: &str,
    site: &Site,
    names: &mut Names,
    report: &mut Report,
) -> Option<Category> {
    let id_field = format!("{prefix}id");
    check_id(*file.id, file.id.line, &id_field, report);
    names.categories.take(report, *file.id, file.id.line, &id_field);
    check_name(&file.name, file.id.line, &format!("{prefix}name"), report);
    check_image(
        file.image.as_deref().unwrap_or_default(),
        &site.images,
        file.id.line,
        &format!("{prefix}image"),
        report,
    );
    let slug = slug(file, parent.map(|parent| parent.0), prefix, names, report);
    let comparison = comparison(file, prefix, report);
    let own = calendar::on_sale((file.from.as_ref(), file.until.as_ref()), &site.time_zone, prefix, report);
    let on_sale = parent.map_or(own, |parent| own.within(parent.1));
    let context = CategoryContext { prefix, rows: &comparison, cumulative: file.cumulative, on_sale, site };
    let mut items = Vec::with_capacity(file.items.len());
    let mut deliveries = BTreeMap::new();
    for entry in &file.items {
        let field = format!("{prefix}items.id");
        check_id(*entry.id, entry.id.line, &field, report);
        names.items.take(report, *entry.id, entry.id.line, &field);
        let (item, delivery) = item(entry, &context, report);
        deliveries.insert(item.id, delivery);
        items.push((entry.sorting, item));
    }
    items.sort_by_key(|(sorting, item)| (*sorting, item.id));
    let items: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
    warn_of_twins(&items, file, prefix, report);
    if file.cumulative {
        check_ladder(&items, file, prefix, report);
    }
    let head = CategoryHead {
        id: CategoryId::new(*file.id),
        slug: slug?,
        name: file.name.clone(),
        description: file.description.clone(),
        image: file.image.clone(),
        on_sale,
    };
    Some(Category {
        file: report.file().to_path_buf(),
        line: file.id.line,
        visible: file.is_visible(),
        shelf: CategoryWithItems { head, comparison, cumulative: file.cumulative, items },
        deliveries,
        subcategories: Vec::new(),
        sorting: file.sorting,
    })
}

/// Warns of items with the same name, which buyers cannot tell apart.
fn warn_of_twins(items: &[Item], file: &CategoryFile, prefix: &str, report: &mut Report) {
    let mut names: BTreeMap<String, &Item> = BTreeMap::new();
    for item in items.iter().filter(|item| item.active) {
        let Some(first) = names.insert(item.name.trim().to_lowercase(), item) else { continue };
        let line = file.items.iter().find(|entry| *entry.id == item.id.get()).and_then(|entry| entry.id.line);
        let problem = format!("is also the name of item {} in this category", first.id);
        report.warn(line, format!("{prefix}items[{}].name", item.id), problem);
    }
}

/// Warns of what makes an upgrade credit look odd: a step that costs less than the one before it, and subscriptions.
fn check_ladder(items: &[Item], file: &CategoryFile, prefix: &str, report: &mut Report) {
    let line = |item: &Item| file.items.iter().find(|entry| *entry.id == item.id.get()).and_then(|entry| entry.id.line);
    let (subscriptions, steps): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| item.is_subscription);
    for item in subscriptions {
        let field = format!("{prefix}items[{}].subscription", item.id);
        report.warn(
            line(item),
            field,
            "a subscription in a cumulative category always has its full price, and ends the one of another item of it",
        );
    }
    for (lower, item) in steps.iter().zip(steps.iter().skip(1)).filter(|(lower, item)| item.price < lower.price) {
        let problem = format!("costs less than item {}, which comes before it in a cumulative category", lower.id);
        report.warn(line(item), format!("{prefix}items[{}].price", item.id), problem);
    }
}

/// The full path of a category. A segment of digits only is refused even below a parent: everywhere else such a
/// text is an id.
fn slug(
    file: &CategoryFile,
    parent: Option<&str>,
    prefix: &str,
    names: &mut Names,
    report: &mut Report,
) -> Option<Slug> {
    let field = format!("{prefix}slug");
    let segment = file.slug.trim().trim_start_matches('/');
    let is_short = segment.chars().count() < Slug::LONGEST;
    if segment.contains('/') || (is_short && Slug::parse(segment).is_err()) {
        let problem = "must be one segment of [a-z0-9._-], not only digits, such as `ranks`";
        report.fault(file.slug.line, field, problem);
        return None;
    }
    let parent = parent.map(|parent| parent.trim().trim_start_matches('/'));
    let full = parent.map_or_else(|| format!("/{segment}"), |parent| format!("/{parent}/{segment}"));
    match Slug::parse(&full) {
        Ok(slug) => {
            names.slugs.take(report, slug.to_string(), file.slug.line, &field);
            Some(slug)
        }
        Err(_) if full.chars().count() > Slug::LONGEST => {
            report.fault(
                file.slug.line,
                field,
                format!("the whole path must have at most {} characters", Slug::LONGEST),
            );
            None
        }
        // The parent's own slug is at fault and was noted there.
        Err(_) => None,
    }
}

/// The rows of a comparison table by sorting, then by id.
fn comparison(file: &CategoryFile, prefix: &str, report: &mut Report) -> Vec<Comparison> {
    let mut ids = Unique::new("comparison row");
    let field = format!("{prefix}comparison.id");
    let mut rows = Vec::with_capacity(file.comparison.len());
    for row in &file.comparison {
        check_id(*row.id, row.id.line, &field, report);
        ids.take(report, *row.id, row.id.line, &field);
        check_name(&row.name, row.id.line, &format!("{prefix}comparison[{}].name", *row.id), report);
        rows.push(Comparison {
            id: *row.id,
            name: row.name.clone(),
            description: row.description.clone(),
            kind: row.kind.clone(),
            sorting: row.sorting,
        });
    }
    rows.sort_by_key(|row| (row.sorting, row.id));
    rows
}
