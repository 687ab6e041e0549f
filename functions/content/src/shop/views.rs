//! The templates in `infra/shop/pages`, and what each shows. Every value is escaped, except for the two texts that are
//! HTML of the store's owner: a page's and the announcement's.

use super::frame::{Frame, Head};
use super::offer::Offer;
use super::{Content, Loaded, ShopPath};
use askama::Template;
use serde_json::json;
use shared::http::reply::render_in_html;
use shared::model::{
    CategoryHead, CategoryId, CategoryWithItems, Comparison, Money, Page, Patron, Patronage, PublishedItem, Section,
    Shop, Staff, TopPatrons, Tree, TreeNode,
};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: Frame<'a>,
    offers: Vec<Offer<'a>>,
}

#[derive(Template)]
#[template(path = "category.html")]
struct CategoryPage<'a> {
    frame: Frame<'a>,
    head: &'a CategoryHead,
    parent: Option<&'a CategoryHead>,
    /// The top category that has subcategories, of which this is one or which this is.
    siblings: Option<&'a TreeNode>,
    categories: Vec<PricedCategory<'a>>,
}

/// A category with what it sells.
struct PricedCategory<'a> {
    head: &'a CategoryHead,
    comparison: &'a [Comparison],
    offers: Vec<Offer<'a>>,
}

impl CategoryPage<'_> {
    fn is_empty(&self) -> bool {
        self.categories.iter().all(|category| category.offers.is_empty())
    }
}

#[derive(Template)]
#[template(path = "item.html")]
struct ItemPage<'a> {
    frame: Frame<'a>,
    offer: Offer<'a>,
    category: Option<&'a CategoryHead>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct OwnersPage<'a> {
    frame: Frame<'a>,
    page: &'a Page,
}

#[derive(Template)]
#[template(path = "staff.html")]
struct StaffPage<'a> {
    frame: Frame<'a>,
    staff: &'a Staff,
}

#[derive(Template)]
#[template(path = "patrons.html")]
struct PatronsPage<'a> {
    frame: Frame<'a>,
    patronage: &'a Patronage,
    patrons: &'a TopPatrons,
}

impl PatronsPage<'_> {
    fn top(&self) -> impl Iterator<Item = &Patron> {
        self.patrons.patrons.iter().take(crate::people::TOP)
    }

    /// The names of those who reached a threshold.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    fn reached(&self, threshold: &Money) -> String {
        let reached = self.patrons.patrons.iter().take_while(|patron| patron.amount >= *threshold);
        reached.map(|patron| patron.username.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// A page with a heading and at most one text; scripts fill it if it has none.
#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    frame: Frame<'a>,
    text: &'a str,
    is_missing: bool,
}

/// The page as HTML, and whether there is one at the path.
pub fn render(loaded: &Loaded, shop: &Shop, path: &ShopPath) -> (String, bool) {
    let frame = |head| Frame::new(loaded, shop, head);
    let head = head(loaded, path);
    // An order that is being paid is still shown.
    let is_order = matches!(path, ShopPath::Script("payment" | "orders"));
    if let Some(text) = loaded.active.closed().filter(|_| !is_order) {
        let is_found = !matches!(loaded.content, Content::Missing);
        // For search engines each page is still a page of its own, and not one of many copies.
        let head = Head { kind: "closed", path: head.path, is_private: head.is_private, ..Head::default() };
        return (message(frame(head), "closed", text, false), is_found);
    }
    let html = match &loaded.content {
        Content::Deals(deals) => {
            let deals = deals.0.iter().filter(|deal| deal.item.is_listed(loaded.now));
            let offers = deals.map(|deal| offer(loaded, deal)).collect();
            HomePage { frame: frame(head), offers }.render()
        }
        Content::Category(page) => match page.at(loaded.now) {
            Some((own, subcategories)) => category(loaded, own, subcategories, frame(head)).render(),
            None => return missing(frame(head)),
        },
        Content::Item(published) => {
            let offer = offer(loaded, published);
            let category = find(&loaded.tree, published.category);
            let mut frame = frame(head);
            frame.head.json_ld = product(&frame, &offer);
            ItemPage { frame, offer, category }.render()
        }
        Content::Page(page) => OwnersPage { frame: frame(head), page }.render(),
        Content::Staff(staff) => StaffPage { frame: frame(head), staff }.render(),
        Content::Patrons(patronage, patrons) => PatronsPage { frame: frame(head), patronage, patrons }.render(),
        Content::Empty => {
            let name = head.kind;
            Ok(message(frame(head), name, "", false))
        }
        Content::Missing => return missing(frame(head)),
    };
    // Rendering into a string fails only if a value's `Display` does, and none of these do.
    (html.unwrap_or_default(), true)
}

fn head(loaded: &Loaded, path: &ShopPath) -> Head {
    let private = |kind| Head { kind, is_private: true, ..Head::default() };
    match &loaded.content {
        Content::Deals(_) => {
            let title = loaded.settings.website_name.clone();
            Head { kind: "home", title, path: "/".to_owned(), ..Head::default() }
        }
        Content::Category(page) => {
            page.at(loaded.now).map_or_else(|| private("missing"), |(own, _)| category_head(&own.head))
        }
        Content::Item(published) => item_head(published, loaded.now),
        Content::Page(page) => {
            let path = format!("/pages/{}", page.url.trim_start_matches('/'));
            Head { kind: "page", title: page.title.clone(), path, ..Head::default() }
        }
        Content::Staff(_) => own_head(loaded, "staff"),
        Content::Patrons(..) => own_head(loaded, "patrons"),
        Content::Empty => private(if let ShopPath::Script(name) = path { name } else { "login" }),
        Content::Missing => private("missing"),
    }
}

fn missing(frame: Frame<'_>) -> (String, bool) {
    let text = frame.texts.of("missing.text");
    (message(frame, "missing", text, true), false)
}

fn message(mut frame: Frame<'_>, name: &str, text: &str, is_missing: bool) -> String {
    frame.texts.title(name).clone_into(&mut frame.head.title);
    MessagePage { frame, text, is_missing }.render().unwrap_or_default()
}

fn own_head(loaded: &Loaded, name: &'static str) -> Head {
    let (_, texts) = super::theme::Texts::of_language(&loaded.settings.system_language.code);
    Head { kind: name, title: texts.of(name).to_owned(), path: format!("/{name}"), ..Head::default() }
}

fn offer<'a>(loaded: &'a Loaded, published: &'a PublishedItem) -> Offer<'a> {
    Offer::new(&published.item, &published.price_tiers, loaded)
}

fn category<'a>(
    loaded: &'a Loaded,
    own: &'a CategoryWithItems,
    subcategories: Vec<&'a CategoryWithItems>,
    frame: Frame<'a>,
) -> CategoryPage<'a> {
    let is_parent = |node: &&TreeNode| node.subcategories.iter().any(|sub| sub.id == own.head.id);
    let parent = loaded.tree.0.iter().find(is_parent);
    let top = parent.or_else(|| loaded.tree.0.iter().find(|node| node.head.id == own.head.id));
    let category = |category: &'a CategoryWithItems| {
        let tiers = category.price_tiers();
        let listed = category.items.iter().filter(|item| item.is_listed(loaded.now));
        let offers = listed.map(|item| Offer::new(item, &tiers, loaded)).collect();
        PricedCategory { head: &category.head, comparison: &category.comparison, offers }
    };
    CategoryPage {
        frame,
        head: &own.head,
        parent: parent.map(|node| &node.head),
        siblings: top.filter(|node| !node.subcategories.is_empty()),
        categories: std::iter::once(own).chain(subcategories).map(category).collect(),
    }
}

fn category_head(head: &CategoryHead) -> Head {
    Head {
        kind: "category",
        title: head.name.clone(),
        description: head.description.clone().unwrap_or_default(),
        path: format!("/category{}", head.slug),
        image: head.image.clone().unwrap_or_default(),
        ..Head::default()
    }
}

fn find(tree: &Tree, id: CategoryId) -> Option<&CategoryHead> {
    let heads = tree.0.iter().flat_map(|node| std::iter::once(&node.head).chain(&node.subcategories));
    heads.into_iter().find(|head| head.id == id)
}

fn item_head(published: &PublishedItem, now: i64) -> Head {
    let item = &published.item;
    Head {
        kind: "item",
        title: item.name.clone(),
        description: item.description.clone().unwrap_or_default(),
        path: format!("/item/{}", item.id),
        image: item.image.clone(),
        is_private: item.hidden || item.is_off_sale(now),
        ..Head::default()
    }
}

/// An item for search engines; empty if it is not sold for money.
fn product(frame: &Frame<'_>, offer: &Offer<'_>) -> String {
    let item = offer.item;
    if item.virtual_only || frame.head.is_private {
        return String::new();
    }
    let state = if offer.unavailable() { "SoldOut" } else { "InStock" };
    let image = frame.absolute(&frame.config.picture(&item.image));
    render_in_html(&json!({
        "@context": "https://schema.org",
        "@type": "Product",
        "name": item.name,
        "description": offer.description(),
        "image": image,
        "sku": item.id,
        "offers": {
            "@type": "Offer",
            "url": frame.absolute(&frame.head.path),
            "price": frame.plain(offer.price()),
            "priceCurrency": frame.settings.system_currency.name,
            "availability": format!("https://schema.org/{state}"),
        },
    }))
}
