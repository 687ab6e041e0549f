//! `cart`: the same sums as the API.

use crate::bench::Bench;
use http::Method;
use serde_json::{Value, json};

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
    bench.cart_add(&["1", "1", "--count", "2"]).await;
    bench.cart_add(&["Newt", "5", "--server", "1", "--var", "1=Evening"]).await;
    bench.cart_add(&["1", "3", "--price", "7.25", "--type", "gift", "--gift-to", "Bob_1"]).await;
    let mine = bench.cart_add(&["1", "1"]).await;
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
    let again = bench.cart_add(&["1", "1"]).await;
    assert_eq!(again["lines"][0]["line"], 4, "ids of lines go on counting");
}

#[tokio::test]
async fn a_cart_is_shown_with_its_recipients_and_with_what_its_lines_lack() {
    let bench = with_buyer().await;
    bench.cart_add(&["1", "2", "--type", "gift", "--gift-to", "Bob"]).await;
    bench.cart_add(&["1", "5", "--server", "1", "--var", "1=Evening"]).await;
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
