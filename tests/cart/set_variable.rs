//! POST /cart/setVariable/{cid}: sets a variable of a line (api.md, "POST /cart/setVariable/{cid}").

use super::lines::{refused, set};
use super::support::{NEW, RICH, cart_of, line, line_of, post_text, put_cart, refuses_values, republish, stored, view};
use serde_json::json;
use shared::model::{Cart, LineVariable, Variable, VariableKind};
use tests::TestStore;

/// The call that these tests make.
const CALL: &str = "setVariable";

#[tokio::test]
async fn the_value_is_set_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, CALL, RICH, 3, &json!({ "var_id": 2, "var_value": "Midnight" })).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, RICH).await.unwrap();
    let mut lines = before.lines.clone();
    lines[2].variables[1] = LineVariable { id: 2, value: "Midnight".to_owned() };
    assert_eq!(after, Cart { lines, version: before.version + 1, ..before });
    store.calls.clear();
    assert_eq!(set(&store, CALL, RICH, 3, &json!({ "var_id": 2, "var_value": "Midnight" })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same value writes nothing");
}

#[tokio::test]
async fn the_choices_of_a_line_can_be_made_one_after_the_other() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(301, 1), (514, 1)])).await;
    for (line, id, value) in [(1, 2, json!("Ash")), (1, 1, json!("Rusty")), (2, 1, json!(12))] {
        assert_eq!(set(&store, CALL, NEW, line, &json!({ "var_id": id, "var_value": value })).await.status, 200);
    }
    // A number is the text of the digits that were sent.
    let reply = post_text(&store, "/cart/setVariable/2", NEW, "{\"var_id\":1,\"var_value\":12.50}").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let values = |line: shared::model::Line| line.variables.into_iter().map(|chosen| chosen.value).collect::<Vec<_>>();
    assert_eq!(values(line(&store, NEW, 1).await), ["Rusty", "Ash"]);
    assert_eq!(values(line(&store, NEW, 2).await), ["12.50"]);
    assert_eq!(line_of(&view(&store, NEW).await, 514)["vars"][0]["value"], "12.50");
}

#[tokio::test]
async fn a_value_that_is_not_right_for_its_variable_is_a_422() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(301, 1), (512, 1), (514, 1)])).await;
    let long = "x".repeat(51);
    let wrong: [(u64, u64, &[&str]); 4] = [
        (1, 1, &["", " ", "a b", "a;b", "R\u{443}sty", "Rusty\0", "Rusty\n", "$(x)", &long]),
        (1, 2, &["Gold", "ash", " Ash", ""]),
        (2, 1, &["", "  ", "tab\there", "\u{a7}c", "/op", "\u{202e}door"]),
        (3, 1, &["", "x", "1e3", "\u{661}", "1,5", "--1"]),
    ];
    for (line, id, values) in wrong {
        for value in values {
            let message = refused(&store, CALL, NEW, line, &json!({ "var_id": id, "var_value": value })).await;
            assert!(message.contains("must be"), "{value:?}: {message}");
        }
    }
    assert!(
        refused(&store, CALL, NEW, 3, &json!({ "var_id": 1, "var_value": 1e300 })).await.contains("must be a number")
    );
    assert!(refused(&store, CALL, NEW, 1, &json!({ "var_id": 9, "var_value": "x" })).await.contains("no variable 9"));
}

#[tokio::test]
async fn an_id_of_a_player_is_stored_in_one_form_and_what_nobody_has_is_a_422_that_names_the_field() {
    let store = TestStore::open().await;
    republish(&store, |compiled| {
        let entry = compiled.items.iter_mut().find(|entry| entry.item.id.get() == 514).unwrap();
        let variable =
            |id, name: &str, kind| Variable { id, name: name.to_owned(), kind, ..entry.item.variables[0].clone() };
        let hours = Variable { min: Some(1), max: Some(64), ..variable(3, "Hours", VariableKind::Integer) };
        entry.item.variables = vec![
            variable(1, "Your SteamID", VariableKind::SteamId),
            variable(2, "Your UUID", VariableKind::Uuid),
            hours,
        ];
    })
    .await;
    put_cart(&store, &cart_of(NEW, &[(514, 1)])).await;
    let steam = "76561198135242017";
    for (id, value, kept) in [
        (1, json!("STEAM_0:1:87488144"), steam),
        (1, json!("STEAM_1:1:87488144"), steam),
        (1, json!("[U:1:174976289]"), steam),
        (1, json!(76_561_198_135_242_017_u64), steam),
        (2, json!("069A79F444E94726A5BEFCA90E38AAF5"), "069a79f4-44e9-4726-a5be-fca90e38aaf5"),
        (3, json!("007"), "7"),
        (3, json!(64), "64"),
    ] {
        let reply = set(&store, CALL, NEW, 1, &json!({ "var_id": id, "var_value": value })).await;
        assert_eq!(reply.status, 200, "{value}: {}", reply.text);
        let line = line(&store, NEW, 1).await;
        assert_eq!(line.variables.iter().find(|chosen| chosen.id == id).unwrap().value, kept, "{value}");
    }
    for (id, name, value) in [
        (1, "Your SteamID", "0"),
        (1, "Your SteamID", "-5"),
        (1, "Your SteamID", "12.5"),
        (1, "Your SteamID", "7656119813524201"),
        (1, "Your SteamID", "765611981352420170"),
        (1, "Your SteamID", "103582791429521412"),
        (1, "Your SteamID", "[g:1:4]"),
        (2, "Your UUID", "069a79f4"),
        (3, "Hours", "0"),
        (3, "Hours", "65"),
        (3, "Hours", "1.5"),
    ] {
        let message = refused(&store, CALL, NEW, 1, &json!({ "var_id": id, "var_value": value })).await;
        assert!(message.starts_with(&format!("\"{name}\" must be")), "{value}: {message}");
    }
    let shown = view(&store, NEW).await;
    let vars = &line_of(&shown, 514)["vars"];
    let said = |place: usize| (vars[place]["type"].as_u64().unwrap(), vars[place]["description"].as_str().unwrap());
    assert!(said(0).1.contains("STEAM_0:1:87488144") && said(1).1.contains("UUID"), "{vars}");
    assert_eq!((said(0).0, said(1).0, said(2)), (1, 1, (2, "A whole number from 1 to 64.")));
}

#[tokio::test]
async fn a_body_with_a_wrong_field_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    for (field, other, values) in [
        ("var_id", "\"var_value\":\"Ash\"", ["null", "\"2\"", "-2", "2.5", "1e400"].as_slice()),
        ("var_value", "\"var_id\":2", &["null", "true", "[\"Ash\"]", "{}"]),
    ] {
        let values: Vec<String> = values.iter().map(|value| format!("{value},{other}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        refuses_values(&store, "/cart/setVariable/3", RICH, &[(field, &values)]).await;
    }
}

#[tokio::test]
async fn choices_that_the_item_no_longer_has_do_not_keep_the_buyer_from_choosing_again() {
    let store = TestStore::open().await;
    let mut cart = cart_of(NEW, &[(301, 1)]);
    cart.lines[0].variables =
        [(2, "Gold"), (9, "x")].map(|(id, value)| LineVariable { id, value: value.to_owned() }).into();
    put_cart(&store, &cart).await;
    assert_eq!(set(&store, CALL, NEW, 1, &json!({ "var_id": 2, "var_value": "Ash" })).await.status, 200);
    assert_eq!(line(&store, NEW, 1).await.variables, [LineVariable { id: 2, value: "Ash".to_owned() }]);
}
