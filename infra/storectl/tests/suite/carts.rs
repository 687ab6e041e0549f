//! `cart`: the same rules as the API, and the same sums.

use crate::bench::Bench;
use http::Method;
use serde_json::{Value, json};
use storectl::error::Exit;

async fn seen(bench: &Bench) -> Value {
    let token = bench.token("1").await;
    bench.api(Method::POST, "/cart/get", Some(&token), "").await.1
}

async fn with_buyer() -> Bench {
    let bench = Bench::empty().await;
    bench.write(
        "s/store.yaml",
        "format: 1\nname: X\ncurrency: {code: EUR}\nservers: [{id: 1, name: A}, {id: 2, name: B}]\n",
    );
    bench.write(
        "s/categories/a.yaml",
        "id: 1\nslug: a\nname: A\nitems:\n  - {id: 1, name: Plain, price: 2.50}\n  \
         - {id: 2, name: Limited, price: 1, user_limit: 3, global_limit: 4, gifting: true}\n  \
         - {id: 3, name: Any, any_price: true, min_price: 5, gifting: true}\n  - {id: 4, name: Off, price: 1, active: false}\n  \
         - id: 5\n    name: Chosen\n    price: 3\n    type: CMD_SERVER\n    select_server: true\n    servers: [1]\n    \
         variables: [{id: 1, name: When, options: [Morning, Evening]}]\n  \
         - {id: 6, name: Monthly, price: 4, subscription: true}\n",
    );
    bench.write(
        "s/categories/b.yaml",
        "id: 2\nslug: b\nname: B\ncumulative: true\nitems:\n  - {id: 11, name: Low, price: 5, gifting: true}\n  - {id: 12, name: High, price: 9}\n",
    );
    bench.ok(&["publish", &bench.path("s").display().to_string(), "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench
}

#[tokio::test]
async fn the_tool_and_the_api_show_the_same_cart() {
    let bench = with_buyer().await;
    bench.ok(&["cart", "add", "1", "1", "--count", "2"]).await;
    bench.ok(&["cart", "add", "Newt", "5", "--server", "1", "--var", "1=Evening"]).await;
    bench.ok(&["cart", "add", "1", "3", "--price", "7.25", "--type", "gift", "--gift-to", "Bob_1"]).await;
    let mine = bench.ok(&["cart", "add", "1", "1"]).await;
    assert_eq!(mine["lines"].as_array().unwrap().len(), 3, "the same again is the same line");
    let theirs = seen(&bench).await;
    assert_eq!(mine["price"].to_string(), theirs["cart"]["price"].to_string());
    assert_eq!(theirs["cart"]["price"].to_string(), "17.75");
    assert_eq!(theirs["items"][1]["selected_server"], 1);
    assert_eq!(theirs["items"][1]["vars"][0]["value"], "Evening");
    assert_eq!(theirs["items"][2]["payment_type"], 2);
    assert_eq!(theirs["items"][2]["gift"]["gifted_to"], "Bob_1");
    assert_eq!((mine["lines"][2]["gift_to"].as_str(), &mine["lines"][2]["missing"]), (Some("Bob_1"), &json!([])));
    bench.ok(&["cart", "clear", "1"]).await;
    assert_eq!(seen(&bench).await["items"], json!([]));
    assert_eq!(bench.ok(&["cart", "clear", "1"]).await["removed"], 0);
    let again = bench.ok(&["cart", "add", "1", "1"]).await;
    assert_eq!(again["lines"][0]["line"], 4, "ids of lines go on counting");
}

#[tokio::test]
async fn a_code_is_put_on_a_cart_by_the_rules_of_the_api() {
    let bench = with_buyer().await;
    bench.ok(&["coupon", "add", "SPRING", "--percentage", "10", "--minimum", "5"]).await;
    let card = bench.ok(&["gift", "add", "--balance", "1"]).await["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    for (code, word) in [("SPRING", "empty"), ("NOPE", "unknown")] {
        let failure = bench.fails(&["cart", "code", "Newt", code]).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains(word), "{failure}");
    }
    bench.ok(&["cart", "add", "1", "1"]).await;
    assert!(bench.fails(&["cart", "code", "1", "SPRING"]).await.what.contains("minimum"));
    bench.ok(&["cart", "add", "1", "1"]).await;
    let mine = bench.ok(&["cart", "code", "Newt", "Spring"]).await;
    assert_eq!((mine["coupon"].as_str(), mine["price"].to_string()), (Some("spring"), "4.5".to_owned()));
    assert_eq!(seen(&bench).await["cart"]["coupon_code"], "spring");
    let before = bench.rows().await;
    bench.ok(&["cart", "code", "1", "spring"]).await;
    assert_eq!(bench.rows().await, before, "it is on the cart already");
    let mine = bench.ok(&["cart", "code", "1", &card]).await;
    assert_eq!(["coupon_sum", "gift_sum", "price"].map(|field| mine[field].to_string()), ["0.5", "1", "3.5"]);
    assert_eq!(
        (mine["coupon"].as_str(), mine["gift_card"].as_str()),
        (Some("spring"), Some(card.to_lowercase().as_str()))
    );
    let theirs = seen(&bench).await;
    assert_eq!(
        (theirs["cart"]["coupon_code"].as_str(), theirs["cart"]["gift_sum"].to_string()),
        (Some("spring"), "1".to_owned())
    );
}

#[tokio::test]
async fn what_the_rules_forbid_does_not_come_into_a_cart() {
    let bench = with_buyer().await;
    bench.ok(&["cart", "add", "1", "2", "--count", "2"]).await;
    bench.ok(&["cart", "add", "1", "11"]).await;
    bench.ok(&["ban", "Mallory"]).await;
    let before = bench.rows().await;
    for (arguments, word) in [
        (&["cart", "add", "1", "99"][..], "not available"),
        (&["cart", "add", "1", "4"], "not on sale"),
        (&["cart", "add", "1", "2", "--count", "2"], "Only 1 more"),
        (&["cart", "add", "1", "3", "--price", "4.99"], "below"),
        (&["cart", "add", "1", "1", "--price", "1"], "cannot be chosen"),
        (&["cart", "add", "1", "5", "--var", "1=Evening"], "server must be selected"),
        (&["cart", "add", "1", "5", "--server", "2", "--var", "1=Evening"], "selected server"),
        (&["cart", "add", "1", "5", "--server", "1"], "\"When\" is missing"),
        (&["cart", "add", "1", "5", "--server", "1", "--var", "1=Noon"], "one of: Morning, Evening"),
        (&["cart", "add", "1", "5", "--server", "1", "--var", "1=Morning", "--var", "2=x"], "no variable 2"),
        (&["cart", "add", "1", "5", "--server", "1", "--var", "1=Morning", "--var", "1=Evening"], "twice"),
        (&["cart", "add", "1", "1", "--type", "subscription"], "not a subscription"),
        (&["cart", "add", "1", "6"], "only be bought as a subscription"),
        (&["cart", "add", "1", "6", "--type", "subscription"], "bought separately"),
        (&["cart", "add", "1", "1", "--count", "1001"], "at most 1000"),
        (&["cart", "add", "1", "2", "--type", "gift"], "receives the gift is missing"),
        (&["cart", "add", "1", "2", "--gift-to", "Bob"], "Only a gift"),
        (&["cart", "add", "1", "1", "--type", "gift", "--gift-to", "Bob"], "cannot be bought as a gift"),
        (&["cart", "add", "1", "2", "--type", "gift", "--gift-to", "nEWT"], "another player"),
        (&["cart", "add", "1", "2", "--type", "gift", "--gift-to", "MALLORY"], "cannot receive gifts"),
        (&["cart", "add", "1", "11"], "Only one"),
        (&["cart", "add", "9", "1"], "no user"),
    ] {
        let failure = bench.fails(arguments).await;
        assert_eq!(failure.exit, Exit::Refused, "{arguments:?}");
        assert!(failure.what.contains(word), "{arguments:?}: {failure}");
    }
    for (arguments, option) in [
        (&["cart", "add", "1", "3", "--price", "4.99"][..], "--price 5.00 or more"),
        (&["cart", "add", "1", "5", "--var", "1=Evening"], "--server ID"),
        (&["cart", "add", "1", "5", "--server", "1"], "--var 1=VALUE"),
        (&["cart", "add", "1", "2", "--type", "gift"], "--gift-to NAME"),
        (&["cart", "add", "1", "2", "--gift-to", "Bob"], "--type gift"),
        (&["cart", "add", "1", "6"], "--type subscription"),
    ] {
        let failure = bench.fails(arguments).await;
        assert!(failure.next.contains(option) && !failure.what.contains("--"), "{arguments:?}: {failure}");
    }
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn a_cart_is_shown_with_its_recipients_and_with_what_its_lines_lack() {
    let bench = with_buyer().await;
    bench.ok(&["cart", "add", "1", "2", "--type", "gift", "--gift-to", "Bob"]).await;
    bench.ok(&["cart", "add", "1", "5", "--server", "1", "--var", "1=Evening"]).await;
    // The choices are withdrawn by a publish.
    let category =
        std::fs::read_to_string(bench.path("s/categories/a.yaml")).unwrap().replace("[Morning, Evening]", "[Noon]");
    bench.write("s/categories/a.yaml", &category.replace("servers: [1]", "servers: [2]"));
    bench.ok(&["publish", &bench.path("s").display().to_string(), "--yes"]).await;
    let answer = bench.run(&["cart", "show", "1"]).await.unwrap();
    for text in ["gift to Bob", "\"When\" is missing.", "A server must be selected"] {
        assert!(answer.text().contains(text), "{}", answer.text());
    }
    let lines = &answer.json()["lines"];
    assert_eq!((&lines[0]["gift_to"], &lines[0]["missing"]), (&json!("Bob"), &json!([])));
    let missing = ["\"When\" is missing.", "A server must be selected for this item."];
    assert_eq!((&lines[1]["gift_to"], &lines[1]["missing"]), (&json!(null), &json!(missing)));
    let theirs = seen(&bench).await;
    assert_eq!(
        (&theirs["items"][1]["vars"][0]["value"], &theirs["items"][1]["selected_server"]),
        (&json!(""), &json!(null))
    );
}

#[tokio::test]
async fn what_was_bought_counts_against_the_limits() {
    let bench = with_buyer().await;
    let order = ["order", "record", "--gateway", "g", "--line", "2:3", "--line", "11"];
    let owned: Vec<&str> = order.into_iter().chain(["--owner", "1"]).collect();
    bench.ok(&owned).await;
    let failure = bench.fails(&["cart", "add", "1", "2"]).await;
    assert!(failure.what.contains("No more can be bought. The limit is per buyer."), "{failure}");
    assert!(bench.fails(&["cart", "add", "1", "11"]).await.what.contains("owned already"));
    let high = bench.ok(&["cart", "add", "1", "12"]).await;
    assert_eq!(high["price"], 4, "the buyer pays the difference");
}

#[tokio::test]
async fn a_cart_is_full_at_fifty_lines() {
    let bench = with_buyer().await;
    for cents in 0..50 {
        bench.ok(&["cart", "add", "1", "3", "--price", &format!("5.{cents:02}")]).await;
    }
    assert!(bench.fails(&["cart", "add", "1", "1"]).await.what.contains("at most 50 lines"));
}

#[tokio::test]
async fn another_step_of_a_cumulative_category_replaces_the_line_and_says_so() {
    let bench = with_buyer().await;
    bench.ok(&["cart", "add", "1", "1"]).await;
    bench.ok(&["cart", "add", "1", "11"]).await;
    let answer = bench.run(&["cart", "add", "1", "12"]).await.unwrap();
    assert!(answer.text().contains("It replaces item 11"), "{}", answer.text());
    assert_eq!(answer.json()["replaced"], json!([11]));
    assert_eq!(answer.json()["price"].to_string(), "11.5");
    let theirs = seen(&bench).await;
    let items: Vec<u64> = theirs["items"].as_array().unwrap().iter().map(|line| line["id"].as_u64().unwrap()).collect();
    assert_eq!((items, theirs["cart"]["price"].to_string()), (vec![1, 12], "11.5".into()));
    let gift = bench.ok(&["cart", "add", "1", "11", "--type", "gift", "--gift-to", "Bob"]).await;
    assert_eq!(gift["replaced"], json!([]));
    assert_eq!(gift["price"].to_string(), "16.5", "a gift is not a step of the buyer's");
}

#[tokio::test]
async fn what_a_buyer_owns_does_not_keep_them_from_giving_it() {
    let bench = with_buyer().await;
    let owned = ["order", "record", "--gateway", "g", "--owner", "1", "--line", "2:3", "--line", "12"];
    bench.ok(&owned).await;
    assert_eq!(bench.ok(&["cart", "add", "1", "11", "--type", "gift", "--gift-to", "Bob"]).await["price"], 5);
    assert_eq!(bench.ok(&["cart", "add", "1", "2", "--type", "gift", "--gift-to", "Bob"]).await["price"], 6);
    let last = bench.fails(&["cart", "add", "1", "2", "--type", "gift", "--gift-to", "Bob"]).await;
    assert!(last.what.contains("No more can be bought."), "{last}");
}
