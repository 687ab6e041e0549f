//! GET /shop/{path+}: the shop's pages.

use crate::support::{STALE, category, item, open_to_guests, put, republish};
use http::Method;
use publish::files::Decimal;
use serde_json::{Value, json};
use shared::model::{Donations, InternalId, Money, RecentDonation, ShownTimes, TaxMode, TaxPrices};
use shared::table::{codec, keys};
use std::time::Duration;
use tests::{Call, Reply, TestStore};

async fn page(store: &TestStore, path: &str) -> Reply {
    store.send(Call::get(&format!("/shop/{path}"))).await
}

/// The value of an attribute behind a place in the page.
fn attribute<'a>(html: &'a str, place: &str, name: &str) -> Option<&'a str> {
    let tag = html.split_once(place)?.1.split('>').next()?;
    tag.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

#[tokio::test]
async fn every_page_is_there_and_every_other_path_is_a_404_with_a_page() {
    let store = TestStore::open().await;
    for (path, heading) in [
        ("index", "<h1>Emberfall</h1>"),
        ("category/ranks", "<h1>Ranks</h1>"),
        ("category/ranks/player", "<h1>Player ranks</h1>"),
        ("item/201", "<h1>Ember Key</h1>"),
        ("pages/rules", "<h1>"),
        ("pages/help/linking", "<h1>"),
        ("staff", "<h1>Staff</h1>"),
        ("patrons", "<h1>Patrons</h1>"),
        ("cart", "<h1>Your cart</h1>"),
        ("login", "<h1>Welcome</h1>"),
        ("account", "<h1>Your account</h1>"),
        ("orders/qv6qv4vqbqtgggak", "<h1>Your orders</h1>"),
        ("subscriptions", "<h1>Your subscriptions</h1>"),
        ("payment/flow", "<h1>Your order</h1>"),
    ] {
        let reply = page(&store, path).await;
        assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        assert!(reply.text.contains(heading), "{path}: {}", reply.text);
        assert!(reply.text.ends_with("</html>") && !reply.text.contains("{0}"), "{path}");
    }
    for path in [
        "nowhere",
        "category/nowhere",
        "category/NO..",
        "item/0",
        "item/x",
        "pages/none",
        "staff/x",
        "theme/0.css",
        "index/x",
        "cart/x",
        "orders/x/y",
        "payment/x/y",
    ] {
        let reply = page(&store, path).await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (404, "no-store"), "{path}");
        assert!(reply.text.contains("<h1>Not found</h1>"), "{path}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_closed_store_says_so_on_every_page_and_each_is_a_page_of_its_own() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        files.store.content.patrons.enabled = false;
        files.store.content.maintenance.enabled = true;
    })
    .await;
    let closed = page(&store, "category/ranks").await;
    assert!(closed.text.contains("<h1>The store is closed</h1>") && !closed.text.contains("class=\"card\""));
    assert_eq!(closed.status, 200);
    for missing in ["nowhere", "item/999999", "category/nowhere"] {
        assert_eq!(page(&store, missing).await.status, 404, "{missing}");
    }
    assert!(!closed.text.contains("noindex"), "search engines keep what they know of the page");
    let address = attribute(&closed.text, "<link rel=\"canonical\"", "href");
    assert_eq!(address, Some("https://store.emberfall.example/category/ranks"), "it is a page of its own");
    for private in ["cart", "nowhere"] {
        let html = page(&store, private).await.text;
        assert!(html.contains("noindex") && !html.contains("canonical"), "{private}: {html}");
    }
    assert!(
        page(&store, "payment/flow").await.text.contains("<h1>Your order</h1>"),
        "who is paying comes back to the order"
    );
}

/// Pages are public, so that a store has them only if its owner says so.
#[tokio::test]
async fn a_store_without_a_shop_has_no_pages() {
    let store = TestStore::open().await;
    republish(&store, |files| files.store.content.shop = None).await;
    for path in ["index", "category/ranks", "item/201", "pages/rules", "staff", "cart"] {
        let reply = page(&store, path).await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (404, "no-store"), "{path}");
        assert!(reply.text.contains("<h1>No shop</h1>"), "{path}: {}", reply.text);
    }
}

#[tokio::test]
async fn an_item_costs_on_its_page_what_the_api_says_to_a_guest() {
    let store = open_to_guests().await;
    let mut seen = 0;
    for published in &TestStore::sample().compiled.items {
        let id = published.item.id;
        let told = store.send(Call::post(&format!("/items/get/{id}"))).await.json();
        let html = page(&store, &format!("item/{id}")).await.text;
        let of = |name: &str| attribute(&html, "<article class=\"detail\"", name).unwrap_or_default().to_owned();
        assert_eq!(of("data-price"), format!("{:.2}", told["price"].as_f64().unwrap()), "{id}");
        assert_eq!(of("data-regular"), format!("{:.2}", told["original_price"].as_f64().unwrap()), "{id}");
        assert_eq!(html.contains(" data-off"), told["is_unavailable"] == true, "{id}");
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

/// As other shops were reported: a reduction from a price that was raised for it, or that was never asked.
#[tokio::test]
async fn a_reduction_is_shown_from_the_lowest_price_of_the_30_days_before() {
    let store = open_to_guests().await;
    let sell = async |day: u64, id: u64, price: &str, discount: &str, is_compared: bool| {
        store.clock.advance(Duration::from_hours(24 * day));
        republish(&store, |files| {
            let decimal = |text: &str| Some(Decimal(text.to_owned().into()));
            files.store.content.guest_mode = true;
            files.store.content.price_history = is_compared;
            let item = item(files, id);
            (item.active, item.price, item.discount) = (true, decimal(price), decimal(discount));
        })
        .await;
        let html = page(&store, &format!("item/{id}")).await.text;
        let shown = html.split_once("data-badges").unwrap().1.split_once("class=\"lead").unwrap().0;
        let badge = shown.split_once("sale\">").map(|(_, rest)| rest.split('<').next().unwrap().to_owned());
        let struck = html.split_once("<s data-money=\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
        let told = store.send(Call::post(&format!("/items/get/{id}"))).await.json();
        assert_eq!(told["original_price"].as_f64(), price.parse().ok());
        let since = html.split_once("lowest price since ").map(|(_, rest)| rest[..10].to_owned());
        (badge, struck, told["lowest_price"].as_f64(), since)
    };
    let shown = |badge: &str, struck: &str, lowest| (Some(badge.to_owned()), Some(struck.to_owned()), lowest, None);
    assert_eq!(sell(0, 203, "4.49", "0", true).await, (None, None, None, None));
    assert_eq!(sell(1, 203, "5.99", "0", true).await, (None, None, None, None));
    assert_eq!(sell(1, 203, "5.99", "1.00", true).await, (None, None, Some(4.49), None), "it was cheaper before");
    assert_eq!(sell(1, 203, "5.99", "3.00", true).await, shown("−33 %", "4.49", Some(4.49)));
    assert_eq!(sell(1, 203, "5.99", "3.00", false).await, shown("−50 %", "5.99", None));
    // One that is sold for two days, and one that is reduced from its first day on.
    assert_eq!(sell(1, 205, "0.99", "0", true).await, (None, None, None, None));
    let (badge, _, lowest, since) = sell(2, 205, "0.99", "0.49", true).await;
    assert_eq!((badge.as_deref(), lowest), (Some("−49 %"), Some(0.99)));
    assert_eq!(since.unwrap().len(), 10);
    republish(&store, |files| item(files, 205).active = false).await;
    assert_eq!(sell(31, 205, "0.99", "0.49", true).await, (None, None, None, None));
}

#[tokio::test]
async fn pages_show_how_long_deliveries_took_and_how_far_each_goal_is() {
    let store = TestStore::open().await;
    let sum = |goal: &str, minor| (goal.to_owned(), Money::from_minor(minor));
    let donations = Donations {
        goals: [sum("1", 75_100), sum("2", 31_000)].into(),
        delivery: Some(ShownTimes { half: 2_500, most: 14_000 }),
        ..Donations::default()
    };
    put(&store, codec::encode_live(&keys::donations(), &donations).unwrap()).await;
    let wanted = "within 2.5 s of the payment, and 95 of 100 within 14 s.";
    assert!(!page(&store, "item/201").await.text.contains(wanted), "the store does not want it");
    republish(&store, |files| {
        files.store.content.shop.as_mut().unwrap().delivery_times = true;
        files.store.content.goals[1].repeat = true;
    })
    .await;
    let html = page(&store, "item/201").await.text;
    assert!(html.contains(wanted), "{html}");
    let html = page(&store, "index").await.text;
    assert!(html.contains(">€751.00 of €750.00</p>") && html.contains("<span class=\"soft\">100 %</span>"), "{html}");
    assert!(html.contains(">€70.00 of €120.00. Reached 2 times before this.</p>"), "{html}");
    assert!(html.contains("<span class=\"soft\">58 %</span>"), "{html}");
}

#[tokio::test]
async fn the_head_says_what_the_page_is() {
    let store = TestStore::open().await;
    let html = page(&store, "item/201").await.text;
    assert!(html.contains("<title>Ember Key – Emberfall</title>"), "{html}");
    assert_eq!(attribute(&html, "<link rel=\"canonical\"", "href"), Some("https://store.emberfall.example/item/201"));
    let (_, json) = html.split_once("<script type=\"application/ld+json\">").unwrap();
    let product: Value = serde_json::from_str(json.split("</script>").next().unwrap()).unwrap();
    assert_eq!((&product["@type"], &product["name"]), (&json!("Product"), &json!("Ember Key")));
    assert_eq!(product["offers"]["priceCurrency"], "EUR");
    assert_eq!(product["offers"]["availability"], "https://schema.org/InStock");
    assert_eq!(Some(product["offers"]["price"].as_str().unwrap()), attribute(&html, "<article", "data-price"));
    let cart = page(&store, "cart").await.text;
    assert!(cart.contains("<meta name=\"robots\" content=\"noindex\">") && !cart.contains("canonical"));
}

/// Names that owners and players choose are text, wherever they are shown.
#[tokio::test]
async fn no_name_is_markup() {
    const NAME: &str = "<b>\"'&</b></script><script>x()</script>";
    let store = TestStore::open().await;
    republish(&store, |files| {
        let store = &mut files.store.content;
        store.name = NAME.to_owned();
        store.description = NAME.to_owned();
        store.goals[0].name = NAME.to_owned();
        store.header[0].name = NAME.to_owned();
        let ranks = category(files, 1);
        ranks.name = NAME.to_owned();
        ranks.description = Some(NAME.to_owned());
        let key = item(files, 201);
        key.name = NAME.to_owned();
        key.description = Some(NAME.to_owned());
        files.pages[0].content.title = NAME.to_owned();
        for (place, member) in files.staff.content.0.values_mut().flatten().enumerate() {
            member.username = format!("{NAME}{place}").into();
        }
    })
    .await;
    let donation = RecentDonation {
        order: InternalId::new("qv6qv4vqbqtgggak"),
        user: shared::model::UserId::new(1),
        username: NAME.to_owned(),
        avatar: NAME.to_owned(),
        amount: Money::from_minor(500),
        currency: NAME.to_owned(),
        at: 0,
    };
    let donations = Donations { recent: vec![donation], ..Donations::default() };
    put(&store, codec::encode_live(&keys::donations(), &donations).unwrap()).await;
    store.clock.advance(STALE);
    for path in ["index", "category/ranks", "category/crates", "item/201", "staff", "pages/about", "cart", "nowhere"] {
        let html = page(&store, path).await.text;
        assert!(!html.contains("<b>") && !html.contains("x()</script>"), "{path}: {html}");
        assert!(html.contains("&lt;b&gt;") || html.contains("&#60;b&#62;"), "{path}: {html}");
    }
}

#[tokio::test]
async fn a_page_is_the_same_for_every_visitor() {
    let store = TestStore::open().await;
    for path in ["index", "category/ranks/player", "item/311", "cart", "account"] {
        let plain = page(&store, path).await;
        let known = Call::get(&format!("/shop/{path}?currency=USD&token=x")).token(&store.token("Pebble"));
        let known = store.send(known.header("cookie", "token=x").header("accept-language", "de")).await;
        assert_eq!((plain.status, &plain.text), (known.status, &known.text), "{path}");
        assert_eq!((known.header("set-cookie"), known.header("etag")), ("", plain.header("etag")), "{path}");
        assert!(!plain.text.contains("Pebble"), "{path}");
    }
}

/// Browsers have digits of their own for a currency.
#[tokio::test]
async fn scripts_know_the_digits_of_the_currency_and_whether_referrals_are_on() {
    let store = TestStore::open().await;
    for referrals in [true, false] {
        republish(&store, |files| files.store.content.referrals = referrals).await;
        store.clock.advance(STALE);
        let data = page(&store, "index").await.data();
        assert_eq!((&data["digits"], &data["is_ref"]), (&json!(2), &json!(referrals)));
    }
}

#[tokio::test]
async fn prices_without_tax_say_so_and_the_page_says_who_sells() {
    let store = TestStore::open().await;
    let has = async |path: &str, text: &str| page(&store, path).await.text.contains(text);
    assert!(!has("item/201", "plus tax").await && !has("item/201", "Sold through Link").await);
    republish(&store, |files| {
        let payments = &mut files.store.content.payments;
        payments.tax = TaxMode::Stripe.into();
        payments.tax_prices = Some(TaxPrices::Exclusive.into());
    })
    .await;
    assert!(has("item/201", "<small data-keep>plus tax</small>").await && has("category/ranks", "plus tax").await);
    assert!(has("cart", "\"tax_on_top\":true").await && !has("cart", "Sold through Link").await);
    republish(&store, |files| {
        let payments = &mut files.store.content.payments;
        payments.tax = TaxMode::Managed.into();
        payments.tax_prices = None;
        payments.except.clear();
        payments.tax_code = Some("txcd_10201000".to_owned().into());
    })
    .await;
    assert!(!has("item/201", "plus tax").await && has("item/201", "Sold through Link by Stripe").await);
}

#[tokio::test]
async fn the_login_knows_the_sign_of_bedrock_players_or_that_its_players_write_it() {
    let store = TestStore::open().await;
    for (sign, id, expected) in
        [(None, None, json!("")), (Some("."), None, json!(".")), (Some("+"), Some("none"), json!(null))]
    {
        republish(&store, |files| {
            let site = &mut files.store.content;
            site.players.bedrock = sign.map(|sign| sign.to_owned().into());
            site.servers.iter_mut().for_each(|server| server.players.id = id.map(|id| id.to_owned().into()));
            for category in &mut files.categories {
                let all = std::iter::once(&mut category.content.items);
                let inner = category.content.subcategories.iter_mut().map(|inner| &mut inner.items);
                all.chain(inner).flatten().for_each(|item| item.commands.clear());
            }
        })
        .await;
        store.clock.advance(STALE);
        assert_eq!(page(&store, "login").await.data()["bedrock"], expected, "{sign:?} {id:?}");
    }
}

/// Names in the menu, the title and the list change together, and the style sheet of each version stays.
#[tokio::test]
async fn a_page_is_all_of_one_version() {
    let store = TestStore::open().await;
    let versions = |html: &str| (html.matches("Oldtown").count(), html.matches("Newtown").count());
    for (name, css) in [("Oldtown", "p { color: red }"), ("Newtown", "p { color: blue }")] {
        let publishing = republish(&store, |files| {
            files.store.content.name = name.to_owned();
            files.store.content.description = name.to_owned();
            category(files, 1).name = name.to_owned();
            item(files, 201).name = name.to_owned();
            files.css = css.to_owned();
        });
        let reading = async {
            for _ in 0..100 {
                store.clock.advance(STALE);
                let (old, new) = versions(&page(&store, "index").await.text);
                assert!(old == 0 || new == 0, "{old} names of the old version, {new} of the new");
            }
        };
        tokio::join!(publishing, reading);
    }
    let html = page(&store, "index").await.text;
    assert!(versions(&html).0 == 0 && versions(&html).1 > 3, "{html}");
    let sheet = attribute(&html, "shop.css\">\n  <link rel=\"stylesheet\"", "href").unwrap();
    let css = page(&store, sheet.trim_start_matches('/')).await;
    assert_eq!((css.status.as_u16(), css.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(css.text.contains("color: blue"), "{}", css.text);
}

#[tokio::test]
async fn the_items_of_a_category_are_those_of_the_api() {
    let store = TestStore::open().await;
    let told = store.send(Call::post("/categories/get/crates").token(&store.token("Pebble"))).await.json();
    let html = page(&store, "category/crates").await.text;
    let items = told["items"].as_array().unwrap().iter();
    let below = told["subcategories"].as_array().unwrap().iter().flat_map(|sub| sub["items"].as_array().unwrap());
    let mut seen = 0;
    for told in items.chain(below) {
        let id = told["id"].as_u64().unwrap();
        assert!(html.contains(&format!("data-id=\"{id}\"")), "{id}");
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

#[tokio::test]
async fn head_of_a_page_has_the_response_of_get_without_its_body() {
    let store = TestStore::open().await;
    for path in ["index", "item/201", "nowhere"] {
        let get = page(&store, path).await;
        let head = store.send(Call::get(&format!("/shop/{path}")).method(Method::HEAD)).await;
        assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
        for header in ["content-type", "etag", "cache-control", "content-security-policy"] {
            assert_eq!(head.headers.get(header), get.headers.get(header), "{path}: {header}");
        }
    }
    let unchanged = page(&store, "index").await.header("etag").to_owned();
    let head = Call::get("/shop/index").method(Method::HEAD).header("if-none-match", &unchanged);
    assert_eq!(store.send(head).await.status, 304);
}

#[tokio::test]
async fn an_item_says_what_it_needs_before_it_is_in_the_cart() {
    let store = TestStore::open().await;
    for (path, said) in [
        ("item/301", "You choose in the cart: Name of the fox, Colour"),
        ("item/403", "You link your chat account in the cart"),
        ("item/511", "Can only be paid after a login from within the game"),
        ("item/602", "every month, until you cancel"),
    ] {
        let shown = page(&store, path).await.text;
        assert!(shown.contains(said), "{path}: {shown}");
        assert_eq!(shown.matches(" id=\"count\"").count(), 1, "{path}: the cart's count in the header");
        let plain = page(&store, "item/201").await.text;
        assert!(!plain.contains(said), "{path}");
    }
}

#[tokio::test]
async fn the_port_of_a_server_is_shown_and_copied_if_it_is_not_the_games_own() {
    let store = TestStore::open().await;
    for (port, address) in [(25565, "play.emberfall.example"), (25570, "play.emberfall.example:25570")] {
        republish(&store, |files| files.store.content.game_server.port = port).await;
        let home = page(&store, "index").await.text;
        assert!(home.contains(&format!("data-copy=\"{address}\"><code>{address}</code>")), "{home}");
    }
}
