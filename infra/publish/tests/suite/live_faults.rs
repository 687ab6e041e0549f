//! Every fault of what lives beside a store is found.

use crate::support::{STORE, lines, store};
use local::live::{Live, read_live};
use publish::{Fault, read};

/// 2031-03-15T12:00:00Z.
const NOW: i64 = 1_931_342_400;
const CATALOG: &str = "\
id: 1
slug: a
name: A
items:
  - {id: 7, name: I, price: 2.50, variables: [{id: 1, name: V, options: [red, blue]}]}
  - {id: 8, name: J, any_price: true, min_price: 2}
";
const USERS: &str = "- {id: 5, username: Ann, uuid: 4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90, created_at: now}\n";

fn live(files: &[(&str, &str)]) -> Result<Live, Vec<Fault>> {
    let mut all = vec![("store.yaml", STORE), ("categories/a.yaml", CATALOG), ("live/users.yaml", USERS)];
    all.retain(|(path, _)| files.iter().all(|(given, _)| given != path));
    all.extend(files);
    let dir = store(&all);
    read_live(dir.path(), &read(dir.path()).unwrap(), NOW)
}

fn faults(files: &[(&str, &str)]) -> String {
    lines(&live(files).err().unwrap_or_default())
}

#[test]
fn nothing_beside_a_store_is_no_fault() {
    assert_eq!(faults(&[]), "");
}

#[test]
fn users_are_unique_by_id_and_name() {
    let found = faults(&[("live/users.yaml", &USERS.repeat(2))]);
    assert_eq!(
        found,
        "live/users.yaml, line 2, id: user id 5 is already used in live/users.yaml, line 1\n\
         live/users.yaml, line 2, username: user name ann is already used in live/users.yaml, line 1\n"
    );
}

#[test]
fn times_are_read_and_in_order() {
    let user = "- {id: 5, username: Ann, uuid: 4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90, created_at: now, updated_at: 1 day ago}\n";
    let found = faults(&[("live/users.yaml", user)]);
    assert_eq!(found, "live/users.yaml, line 1, [5].updated_at: must not be before created_at\n");
    let found = faults(&[(
        "live/users.yaml",
        "- {id: 5, username: Ann, uuid: 4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90, created_at: lately}\n",
    )]);
    assert!(found.starts_with("live/users.yaml, line 1, [5].created_at: must be a time such as"), "{found}");
}

#[test]
fn a_code_is_unique_among_coupons_and_gift_cards_whatever_its_case() {
    let found = faults(&[
        ("live/coupons.yaml", "- {id: 1, code: Summer, percentage: 5}\n"),
        ("live/gift_cards.yaml", "- {id: 1, code: ' SUMMER', balance: 5}\n"),
    ]);
    assert_eq!(
        found,
        "live/gift_cards.yaml, line 1, id: code id 1 is already used in live/coupons.yaml, line 1\n\
         live/gift_cards.yaml, line 1, [1].code: code summer is already used in live/coupons.yaml, line 1\n"
    );
}

#[test]
fn a_code_has_1_to_40_characters() {
    let text = format!("- {{id: 1, code: {}, percentage: 5}}\n", "x".repeat(41));
    let found = faults(&[("live/coupons.yaml", &text)]);
    assert_eq!(found, "live/coupons.yaml, line 1, [1].code: must have at most 40 characters\n");
    let found = faults(&[("live/coupons.yaml", "- {id: 1, code: ' ', percentage: 5}\n")]);
    assert_eq!(found, "live/coupons.yaml, line 1, [1].code: a code must not be blank\n");
}

#[test]
fn a_coupon_takes_off_either_a_percentage_or_an_amount() {
    for fields in ["", ", percentage: 5, amount: 5"] {
        let found = faults(&[("live/coupons.yaml", &format!("- {{id: 1, code: x{fields}}}\n"))]);
        assert_eq!(found, "live/coupons.yaml, line 1, [1]: needs either a percentage or an amount\n");
    }
}

#[test]
fn a_percentage_is_more_than_0_and_at_most_100() {
    for percentage in ["0", "100.5", "-3"] {
        let found = faults(&[("live/coupons.yaml", &format!("- {{id: 1, code: x, percentage: {percentage}}}\n"))]);
        let problem = "must be more than 0 and at most 100 percent";
        assert_eq!(found, format!("live/coupons.yaml, line 1, [1].percentage: {problem}\n"));
    }
    let found = faults(&[("live/coupons.yaml", "- {id: 1, code: x, amount: 0}\n")]);
    assert_eq!(found, "live/coupons.yaml, line 1, [1].amount: must be more than 0\n");
}

#[test]
fn a_coupon_that_can_never_apply_is_named() {
    let found = faults(&[(
        "live/coupons.yaml",
        "- {id: 1, code: a, percentage: 5, starts_at: in 2 days, ends_at: in 2 days}\n\
         - {id: 2, code: b, percentage: 5, max_uses: 0, max_uses_per_user: 0}\n\
         - {id: 3, code: c, percentage: 5, scope: {}}\n\
         - {id: 4, code: d, percentage: 5, scope: {categories: [2], items: [9]}}\n",
    )]);
    let never = "must be at least 1; with 0 the coupon can never be used";
    let nothing = "names nothing, so that the coupon could never be used; leave it out for everything";
    assert_eq!(
        found,
        format!(
            "live/coupons.yaml, line 1, [1].ends_at: must be after starts_at\n\
             live/coupons.yaml, line 2, [2].max_uses: {never}\n\
             live/coupons.yaml, line 2, [2].max_uses_per_user: {never}\n\
             live/coupons.yaml, line 3, [3].scope: {nothing}\n\
             live/coupons.yaml, line 4, [4].scope.categories: there is no category 2\n\
             live/coupons.yaml, line 4, [4].scope.items: there is no item 9\n"
        )
    );
}

#[test]
fn uses_are_at_least_those_of_single_users() {
    let coupon = "- {id: 1, code: a, percentage: 5, uses: 1, used_by: {5: 2, 6: 1}}\n";
    assert_eq!(
        faults(&[("live/coupons.yaml", coupon)]),
        "live/coupons.yaml, line 1, [1].used_by: there is no user 6 in live/users.yaml\n\
         live/coupons.yaml, line 1, [1].uses: must not be below the sum of used_by\n"
    );
}

#[test]
fn referral_codes_are_unique_and_have_an_owner() {
    let found = faults(&[("live/referrals.yaml", "- {code: a, owner: 6}\n- {code: A, owner: 5}\n")]);
    assert_eq!(
        found,
        "live/referrals.yaml, line 1, owner: there is no user 6 in live/users.yaml\n\
         live/referrals.yaml, line 2, code: referral code a is already used in live/referrals.yaml, line 1\n"
    );
}

#[test]
fn a_cart_has_at_most_50_lines() {
    let text = format!("- user: 5\n  lines:\n{}", "    - {item: 7}\n".repeat(51));
    let found = faults(&[("live/carts.yaml", &text)]);
    assert_eq!(found, "live/carts.yaml, line 1, [5].lines: a cart has at most 50 lines, this one has 51\n");
}

#[test]
fn a_cart_line_names_what_there_is() {
    let found = faults(&[(
        "live/carts.yaml",
        "- user: 5\n  lines:\n    - {item: 9}\n    - {item: 7, variables: {2: x}}\n    - {item: 7, variables: {1: green}}\n\
         \x20   - {item: 7, server: 3}\n    - {item: 7, promoted: true}\n    - {item: 7, count: 0}\n\
         \x20   - {item: 7, price: 2}\n    - {item: 8}\n    - {item: 8, price: 1.99}\n",
    )]);
    assert_eq!(
        found,
        "live/carts.yaml, line 3, [5].lines[1].item: there is no item 9\n\
         live/carts.yaml, line 4, [5].lines[2].variables: item 7 has no variable 2\n\
         live/carts.yaml, line 5, [5].lines[3].variables: variable 1 must be one of red, blue\n\
         live/carts.yaml, line 6, [5].lines[4].server: item 7 has no server 3\n\
         live/carts.yaml, line 7, [5].lines[5].promoted: item 7 has no promotion\n\
         live/carts.yaml, line 8, [5].lines[6].count: must be at least 1\n\
         live/carts.yaml, line 9, [5].lines[7].price: item 7 has its own price\n\
         live/carts.yaml, line 11, [5].lines[9].price: must not be below min_price of item 8\n"
    );
}

#[test]
fn a_gift_in_a_cart_is_for_a_player_and_of_an_item_that_can_be_given() {
    let catalog = "id: 1\nslug: a\nname: A\nitems:\n  - {id: 7, name: I, price: 1}\n\
                   \x20 - {id: 8, name: J, price: 1, gifting: true, variables: [{id: 1, name: V}]}\n";
    let carts = "- user: 5\n  lines:\n    - {item: 8, payment_type: gift, gift_to: Bob_2, variables: {1: a-b}}\n\
                 \x20   - {item: 8, payment_type: gift}\n    - {item: 8, gift_to: Bob_2}\n\
                 \x20   - {item: 7, payment_type: gift, gift_to: Bob_2}\n\
                 \x20   - {item: 8, payment_type: gift, gift_to: b}\n    - {item: 8, variables: {1: a b}}\n";
    let found = faults(&[("categories/a.yaml", catalog), ("live/carts.yaml", carts)]);
    assert_eq!(
        found,
        "live/carts.yaml, line 4, [5].lines[2].gift_to: is missing: a gift is for a player\n\
         live/carts.yaml, line 5, [5].lines[3].gift_to: is for lines with payment_type: gift\n\
         live/carts.yaml, line 6, [5].lines[4].gift_to: item 7 has no gifting: true\n\
         live/carts.yaml, line 7, [5].lines[5].gift_to: is not a player's name\n\
         live/carts.yaml, line 8, [5].lines[6].variables: variable 1 must be 1 to 32 letters (a to z), digits, \
         \"_\" or \"-\"\n"
    );
}

#[test]
fn a_cart_names_its_user_and_codes_that_exist() {
    let carts = "- {user: 6, code: x, referral: y}\n- {user: 6}\n- {user: 7, coupon: x, gift_card: y, code: z}\n";
    let found = faults(&[("live/carts.yaml", carts)]);
    assert_eq!(
        found,
        "live/carts.yaml, line 1, user: there is no user 6 in live/users.yaml\n\
         live/carts.yaml, line 1, [6].code: there is no such coupon or gift card\n\
         live/carts.yaml, line 1, [6].referral: there is no such referral code\n\
         live/carts.yaml, line 2, user: there is no user 6 in live/users.yaml\n\
         live/carts.yaml, line 2, user: the cart of user 6 is already used in live/carts.yaml, line 1\n\
         live/carts.yaml, line 3, user: there is no user 7 in live/users.yaml\n\
         live/carts.yaml, line 3, [7].coupon: there is no such coupon\n\
         live/carts.yaml, line 3, [7].gift_card: there is no such gift card\n\
         live/carts.yaml, line 3, [7].code: there is no such coupon or gift card\n\
         live/carts.yaml, line 3, [7].code: is either a coupon or a gift card: write it in the field of its kind\n"
    );
}

#[test]
fn an_order_names_its_owner_and_items_that_exist() {
    let order = "- {id: 1, internal_id: x, status: PAID, gateway: g, created_at: now, owner: 6, lines: [{item: 9}]}\n";
    assert_eq!(
        faults(&[("live/orders.yaml", &order.repeat(2))]),
        "live/orders.yaml, line 1, [1].owner: there is no user 6 in live/users.yaml\n\
         live/orders.yaml, line 1, [1].lines.item: there is no item 9\n\
         live/orders.yaml, line 2, id: order id 1 is already used in live/orders.yaml, line 1\n\
         live/orders.yaml, line 2, internal_id: internal id x is already used in live/orders.yaml, line 1\n\
         live/orders.yaml, line 2, [1].owner: there is no user 6 in live/users.yaml\n\
         live/orders.yaml, line 2, [1].lines.item: there is no item 9\n"
    );
}

#[test]
fn an_order_is_in_a_currency_of_the_store_and_its_gifts_have_a_recipient() {
    let order = "- {id: 1, internal_id: x, status: PAID, gateway: g, created_at: now, currency: XXX, \
                 lines: [{item: 7, recipient: 6}]}\n";
    assert_eq!(
        faults(&[("live/orders.yaml", order)]),
        "live/orders.yaml, line 1, [1].lines.recipient: there is no user 6 in live/users.yaml\n\
         live/orders.yaml, line 1, [1].currency: must be one of the store's currencies: EUR\n"
    );
}

#[test]
fn one_broken_file_does_not_make_the_others_wrong() {
    let found = faults(&[
        ("live/users.yaml", "- id: [\n"),
        ("live/coupons.yaml", "- {id: 1, code: a, percent: 5}\n"),
        ("live/carts.yaml", "- {user: 6, code: a}\n"),
        ("live/referrals.yaml", "- {code: a, owner: 5}\n"),
    ]);
    let files: Vec<&str> = found.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(files, ["live/coupons.yaml", "live/users.yaml"], "{found}");
}

#[test]
fn what_an_order_leaves_out_follows_from_its_items() {
    let order = "- {id: 1, internal_id: x, status: PAID, gateway: g, created_at: now, lines: [{item: 7, count: 3}]}\n";
    let live = live(&[("live/orders.yaml", order)]).unwrap();
    assert_eq!(live.orders[0].price.minor(), 750);
    assert_eq!(live.orders[0].currency, "EUR");
}

#[test]
fn a_coupon_for_nothing_but_deleted_things_can_never_apply() {
    let gone = "id: 5\nslug: gone\nname: Gone\ndeleted: true\nitems: [{id: 55, name: X, price: 1}]\n";
    let found = faults(&[
        ("categories/gone.yaml", gone),
        (
            "live/coupons.yaml",
            "- {id: 1, code: a, percentage: 5, scope: {categories: [5], items: [55]}}\n\
             - {id: 2, code: b, percentage: 5, scope: {categories: [5, 1]}}\n",
        ),
    ]);
    let problem = "names nothing but what is deleted, so that the coupon could never be used";
    assert_eq!(found, format!("live/coupons.yaml, line 1, [1].scope: {problem}\n"));
}

#[test]
fn a_users_uuid_is_one() {
    let found = faults(&[("live/users.yaml", "- {id: 5, username: Ann, uuid: abc, created_at: now}\n")]);
    let problem = "must be a UUID such as 4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90";
    assert_eq!(found, format!("live/users.yaml, line 1, [5].uuid: {problem}\n"));
}

#[test]
fn orders_are_of_the_past_and_within_the_limits() {
    let order = |id: u64, at: &str, count: u32| {
        format!(
            "- {{id: {id}, internal_id: x{id}, status: PAID, gateway: g, created_at: {at}, owner: 5, \
             lines: [{{item: 7, count: {count}}}]}}\n"
        )
    };
    let found = faults(&[("live/orders.yaml", &order(1, "in 1 day", 1))]);
    assert_eq!(found, "live/orders.yaml, line 1, [1].created_at: must not be in the future\n");
    let catalog = "id: 1\nslug: a\nname: A\nitems: [{id: 7, name: I, price: 2.50, global_limit: 3, user_limit: 2}]\n";
    let orders = format!("{}{}", order(1, "1 day ago", 2), order(2, "1 day ago", 2));
    assert_eq!(
        faults(&[("categories/a.yaml", catalog), ("live/orders.yaml", &orders)]),
        "live/orders.yaml, line 2, [2].lines: makes it 4 units of item 7, whose global_limit is 3\n\
         live/orders.yaml, line 2, [2].lines: makes it 4 units of item 7, whose user_limit is 2\n"
    );
}

#[test]
fn a_gift_card_has_no_more_on_it_than_was_put_there() {
    let found = |sums: &str| faults(&[("live/gift_cards.yaml", &format!("- {{id: 1, code: a, {sums}}}\n"))]);
    assert_eq!(
        found("balance: 5") + &found("balance: 5, start_balance: 5") + &found("balance: 0, start_balance: 5"),
        ""
    );
    let place = "live/gift_cards.yaml, line 1, [1].start_balance";
    assert_eq!(found("balance: 5, start_balance: 4.99"), format!("{place}: must not be below balance\n"));
    assert!(found("balance: 5, start_balance: -1").starts_with(place), "{}", found("balance: 5, start_balance: -1"));
}
