//! POST /cart/get.

use super::support::{
    NEW, RICH, WORN, cart_of, cents, coupon, gift, line_of, percent, put_cart, put_code, put_referral, republish,
    sample_code, sample_referral, stored, tell, view, with_code,
};
use crate::support::{item, republish as publish_files, subscribe, with_subscriptions};
use publish::files::IntervalFile;
use serde_json::{Value, json};
use shared::model::SubscriptionStatus::{Active, Cancelled};
use shared::model::{
    CategoryId, Code, CodeId, Coupon, GiftCard, Images, ItemId, LineVariable, Money, PaymentType, PlayerName,
    UserSubscription,
};
use tests::{NOW, SHOP, TestStore};

/// The sums that hold for every cart.
fn assert_adds_up(view: &Value) {
    let (cart, lines) = (&view["cart"], view["items"].as_array().unwrap());
    let counted = || lines.iter().filter(|line| line["is_unavailable"] == false);
    let times = |line: &Value, field: &str| cents(&line[field]) * line["count"].as_i64().unwrap();
    let money = counted().filter(|line| line["is_virtual_currency_only"] == false);
    let money: i64 = money.map(|line| times(line, "price")).sum();
    let embers = counted().filter(|line| line["is_virtual_currency_only"] == true);
    let embers: i64 = embers.map(|line| times(line, "virtual_price")).sum();
    assert_eq!(cents(&cart["clear_price"]), money, "{cart}");
    assert_eq!(cents(&cart["virtual_price"]), embers, "{cart}");
    let taken_off = cents(&cart["coupon_sum"]) + cents(&cart["gift_sum"]);
    assert_eq!(cents(&cart["price"]), money - taken_off, "{cart}");
    assert!(cents(&cart["price"]) >= 0, "{cart}");
}

fn assert_without_code(cart: &Value) {
    let code = ["coupon_id", "gift_id", "coupon_code", "gift_code", "coupon_type", "coupon_sum", "gift_sum"];
    let shown: Vec<&Value> = code.iter().map(|field| &cart[*field]).collect();
    assert_eq!(json!(shown), json!([null, null, "", "", "", 0, 0]), "{cart}");
    assert_eq!(cart["coupon_value"], 0);
    assert_eq!(cart["price"], cart["clear_price"]);
}

#[tokio::test]
async fn a_full_cart_is_shown_with_what_it_costs() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(view(&store, RICH).await);
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_cart_with_lines_that_cannot_be_bought_is_shown_with_a_gift_card() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(view(&store, WORN).await);
}

#[tokio::test]
async fn lines_that_lack_choices_are_shown_with_what_the_client_needs_to_ask_for_them() {
    let store = TestStore::open().await;
    // A text, a number, a word and an option, a server, the buyer's price, and the recipient of an old gift.
    let mut cart = cart_of(NEW, &[(512, 1), (514, 1), (301, 2), (401, 1), (601, 1), (311, 1)]);
    cart.lines[5].payment_type = PaymentType::Gift;
    put_cart(&store, &cart).await;
    let view = view(&store, NEW).await;
    assert_adds_up(&view);
    insta::assert_json_snapshot!(view);
}

#[tokio::test]
async fn choices_that_the_item_no_longer_has_are_shown_as_unset() {
    let store = TestStore::open().await;
    let mut cart = cart_of(NEW, &[(301, 1)]);
    let chosen = |id, value: &str| LineVariable { id, value: value.to_owned() };
    cart.lines[0].variables = vec![chosen(1, "two words"), chosen(2, "Midnight"), chosen(3, "gone")];
    put_cart(&store, &cart).await;
    let view = view(&store, NEW).await;
    let values: Vec<&Value> = view["items"][0]["vars"].as_array().unwrap().iter().map(|v| &v["value"]).collect();
    assert_eq!(json!(values), json!(["", "Midnight"]));
}

#[tokio::test]
async fn a_chat_account_is_asked_for_only_if_an_item_of_the_cart_needs_one() {
    let store = TestStore::open().await;
    for (item, needed) in [(403, 1), (302, 0)] {
        put_cart(&store, &cart_of(NEW, &[(item, 1)])).await;
        assert_eq!(view(&store, NEW).await["cart"]["chat_sync"], needed, "{item}");
    }
}

#[tokio::test]
async fn a_subscription_is_shown_as_one() {
    let store = TestStore::open().await;
    let mut cart = cart_of(NEW, &[(106, 1)]);
    cart.lines[0].payment_type = PaymentType::Subscription;
    put_cart(&store, &cart).await;
    let line = view(&store, NEW).await["items"][0].clone();
    assert_eq!([&line["is_subs"], &line["payment_type"], &line["price"]], [&json!(true), &json!(1), &json!(3.99)]);
    assert!(line.get("gift").is_none(), "{line}");
}

#[tokio::test]
async fn a_subscription_that_the_buyer_has_is_unavailable_in_the_cart() {
    let store = TestStore::open().await;
    let mut cart = cart_of(NEW, &[(106, 1)]);
    cart.lines[0].payment_type = PaymentType::Subscription;
    put_cart(&store, &cart).await;
    let shown = async || {
        let view = view(&store, NEW).await;
        (view["items"][0]["is_unavailable"].clone(), view["cart"]["price"].clone())
    };
    for (status, expected) in [(Active, (json!(true), json!(0))), (Cancelled, (json!(false), json!(3.99)))] {
        subscribe(&store, NEW, &[(106, status, NOW)]).await;
        assert_eq!(shown().await, expected);
    }
    put_cart(&store, &cart_of(NEW, &[(106, 1)])).await;
    assert_eq!(shown().await, (json!(true), json!(0)), "it was added before it became a subscription");
}

#[tokio::test]
async fn the_recipient_of_a_gift_is_shown_as_written_with_a_picture_if_the_store_has_them() {
    let store = TestStore::open().await;
    let mut cart = cart_of(NEW, &[(311, 1)]);
    cart.lines[0].payment_type = PaymentType::Gift;
    cart.lines[0].gift_to = PlayerName::parse("*tHornwick-2").ok();
    put_cart(&store, &cart).await;
    let gift = view(&store, NEW).await["items"][0]["gift"].clone();
    assert_eq!(
        gift,
        json!({ "gifted_to": "*tHornwick-2", "avatar": "https://shop.emberfall.example/img/avatars/*tHornwick-2.svg" })
    );
    republish(&store, |compiled| compiled.config.player_avatar.clear()).await;
    let gift = view(&store, NEW).await["items"][0]["gift"].clone();
    assert_eq!(gift, json!({ "gifted_to": "*tHornwick-2", "avatar": "" }));
}

#[tokio::test]
async fn a_user_without_a_cart_sees_an_empty_one_and_none_is_created() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(view(&store, NEW).await);
    assert_eq!(store.calls.writes(), 0);
    assert_eq!(stored(&store, NEW).await, None);
}

#[tokio::test]
async fn every_cart_adds_up_with_any_code_on_it() {
    let store = TestStore::open().await;
    for name in [RICH, WORN, NEW] {
        for code in ["EIGHTH", "THREEBACK", "FIVEOFF", "RANKUP", "FOXDEN", "GLOW-7QXM-2K4D", "ASH-3NTV-8WRC"] {
            tell(&store, "/cart/acceptCoupon", name, "coupon", code).await;
            assert_adds_up(&view(&store, name).await);
        }
    }
}

#[tokio::test]
async fn a_line_whose_item_is_no_longer_published_is_left_out_of_lines_and_count() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(RICH, &[(801, 7), (999, 7), (302, 1)])).await;
    let view = view(&store, RICH).await;
    assert_eq!(view["items"].as_array().unwrap().len(), 1);
    assert_eq!(view["cart"]["items"], 1);
    assert_eq!(stored(&store, RICH).await.unwrap().lines.len(), 3, "reading writes nothing");
}

#[tokio::test]
async fn a_code_that_can_no_longer_be_used_counts_as_not_applied() {
    let store = TestStore::open().await;
    let plain = || coupon("late", percent(1_000));
    let good = Code::Coupon(plain());
    let changed = [
        Coupon { ends_at: Some(NOW), ..plain() },
        Coupon { starts_at: Some(NOW + 1), ..plain() },
        Coupon { active: false, ..plain() },
        Coupon { max_uses: Some(3), uses: 3, ..plain() },
        Coupon { minimum: Money::from_minor(301), ..plain() },
        Coupon { scope: shared::model::Scope { items: vec![ItemId::new(301)], categories: Vec::new() }, ..plain() },
        // Issued again under the same text: another code.
        Coupon { id: CodeId::new(77), ..plain() },
    ];
    put_cart(&store, &with_code(cart_of(RICH, &[(302, 1)]), &good)).await;
    put_code(&store, &good).await;
    assert_eq!(view(&store, RICH).await["cart"]["coupon_sum"], json!(0.3));
    for coupon in changed {
        put_code(&store, &Code::Coupon(coupon)).await;
        assert_without_code(&view(&store, RICH).await["cart"]);
    }
    let card = || gift("late", 500);
    for gift in [GiftCard { balance: Money::ZERO, ..card() }, GiftCard { active: false, ..card() }] {
        put_cart(&store, &with_code(cart_of(RICH, &[(302, 1)]), &Code::Gift(card()))).await;
        put_code(&store, &Code::Gift(gift)).await;
        assert_without_code(&view(&store, RICH).await["cart"]);
    }
}

#[tokio::test]
async fn a_code_that_this_user_has_used_up_since_counts_as_not_applied() {
    let store = TestStore::open().await;
    let code = sample_code("ONCEONLY");
    for name in [RICH, NEW] {
        put_cart(&store, &with_code(cart_of(name, &[(302, 1)]), &code)).await;
    }
    assert_without_code(&view(&store, RICH).await["cart"]);
    assert_eq!(view(&store, NEW).await["cart"]["coupon_sum"], json!(0.75));
}

#[tokio::test]
async fn a_line_says_what_the_coupon_takes_off_it_or_why_nothing() {
    let store = TestStore::open().await;
    let scope = shared::model::Scope { items: vec![ItemId::new(302)], categories: Vec::new() };
    let code = Code::Coupon(Coupon { scope, ..coupon("part", percent(1_000)) });
    put_code(&store, &code).await;
    put_cart(&store, &cart_of(NEW, &[(302, 2), (201, 1)])).await;
    let of_line =
        |view: &Value, line: usize| ["code_sum", "code_note"].map(|field| view["items"][line].get(field).cloned());
    assert_eq!(of_line(&view(&store, NEW).await, 0), [None, None], "without a code");
    put_cart(&store, &with_code(cart_of(NEW, &[(302, 2), (201, 1)]), &code)).await;
    let shown = view(&store, NEW).await;
    assert_eq!(of_line(&shown, 0), [Some(json!(0.6)), None]);
    assert_eq!(of_line(&shown, 1), [Some(json!(0)), Some(json!("The coupon is not for this item."))]);
}

#[tokio::test]
async fn a_referral_that_is_no_longer_in_force_counts_as_not_applied() {
    let store = TestStore::open().await;
    let shown = |view: Value| [view["cart"]["referral"].clone(), view["cart"]["referral_code"].clone()];
    assert_eq!(shown(view(&store, RICH).await), [json!(WORN), json!("lantern")]);
    put_referral(&store, &shared::model::Referral { active: false, ..sample_referral("lantern") }).await;
    assert_eq!(shown(view(&store, RICH).await), [json!(null), json!("")]);
    put_referral(&store, &sample_referral("lantern")).await;
    republish(&store, |compiled| compiled.config.is_ref = false).await;
    assert_eq!(shown(view(&store, RICH).await), [json!(null), json!("")]);
}

#[tokio::test]
async fn a_server_that_the_item_no_longer_has_is_not_selected() {
    let store = TestStore::open().await;
    let mut cart = cart_of(RICH, &[(401, 1), (405, 1)]);
    for line in &mut cart.lines {
        line.server = Some(shared::model::ServerId::new(4));
    }
    put_cart(&store, &cart).await;
    let view = view(&store, RICH).await;
    assert_eq!(line_of(&view, 401)["selected_server"], json!(null));
    assert_eq!(line_of(&view, 405)["selected_server"], json!(null), "nothing can be selected for it");
}

#[tokio::test]
async fn the_picture_of_a_line_is_a_path_at_an_api_that_serves_it_and_else_a_whole_url() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(103, 1)])).await;
    let path = "/img/ranks/warden.svg";
    for (assets, shop, images, host) in [
        ("", SHOP, Images::Paths, ""),
        ("", SHOP, Images::Urls, SHOP),
        ("https://cdn.example", SHOP, Images::Paths, "https://cdn.example"),
        ("", "", Images::Paths, "https://store.emberfall.example"),
    ] {
        republish(&store, |compiled| {
            let config = &mut compiled.config;
            (config.assets_url, config.shop_url, config.images) = (assets.to_owned(), shop.to_owned(), images);
        })
        .await;
        assert_eq!(view(&store, NEW).await["items"][0]["image"], format!("{host}{path}"));
    }
}

#[tokio::test]
async fn a_rank_says_whose_place_it_takes_and_that_nothing_is_taken_off() {
    let store = TestStore::open().await;
    publish_files(&store, |files| item(files, 105).subscription = Some(IntervalFile::default())).await;
    let rank = |item: u64, category| UserSubscription {
        id: format!("sub_{item}"),
        item: ItemId::new(item),
        name: format!("Rank {item}"),
        price: Money::from_minor(999),
        status: Active,
        detail: None,
        until: NOW + 9,
        access_until: Some(NOW + 99),
        ends_at: None,
        rank_of: Some(CategoryId::new(category)),
    };
    let mut cart = cart_of(NEW, &[(105, 1)]);
    cart.lines[0].payment_type = PaymentType::Subscription;
    put_cart(&store, &cart).await;
    for (own, replaced) in [(rank(102, 13), json!("Rank 102")), (rank(111, 11), Value::Null)] {
        with_subscriptions(&store, NEW, vec![own]).await;
        let shown = view(&store, NEW).await;
        let line = &shown["items"][0];
        assert_eq!(json!([line["is_unavailable"], line["price"], line["replaces"]]), json!([false, 69.99, replaced]));
    }
}
