//! Any sequence of recording orders and changing their status results in what the orders add up to.

use crate::notices::{assert_notices, tell};
use crate::shop::{BOTH, DAY, FIVE, GONE, PLAIN, Shop, TWO_EACH, code, id, paid};
use proptest::prelude::*;
use shared::model::{GiftCardPayment, Money, OrderStatus, UserId};
use shared::shop::orders::{NewOrder, RecordError, SetStatusError, record, set_status};
use shared::shop::upkeep::finish_statistics;
use tests::{Fault, NOW, count};

#[derive(Debug, Clone)]
enum Step {
    Record(Box<NewOrder>),
    Set(u64, OrderStatus),
}

prop_compose! {
    fn some_order()(
        number in 0_u64..16,
        status in prop::sample::select(OrderStatus::ALL.to_vec()),
        is_paid in any::<bool>(),
        owner in prop::option::of(1_u64..15),
        age in 0_i64..70,
        lines in prop::collection::vec(
            (prop::sample::select(vec![PLAIN, FIVE, TWO_EACH, BOTH, GONE]), 1_u32..3, 0_i64..500), 0..4),
        coupon in prop::option::of(prop::sample::select(vec!["once", "each", "free", "few"])),
        gift in prop::option::of(1_i64..400),
        recipients in prop::collection::vec(prop::option::of(1_u64..15), 4),
    ) -> NewOrder {
        let mut order = paid(&format!("o{number}"), owner, &lines);
        for (line, recipient) in order.lines.iter_mut().zip(recipients) {
            if let Some(recipient) = recipient {
                *line = line.clone().gift_for(UserId::new(recipient));
            }
        }
        order.status = if is_paid { OrderStatus::Paid } else { status };
        order.created_at = Some(NOW - age * DAY / 2);
        order.coupon = coupon.map(code);
        let part = gift.map(|amount| Money::from_minor(amount).min(order.lines.iter().map(|line| line.total).sum()));
        let part = part.filter(|amount| *amount > Money::ZERO);
        order.gift_card = part.map(|amount| GiftCardPayment { code: code("card"), amount });
        order
    }
}

fn some_step() -> impl Strategy<Value = Step> {
    let status = prop::sample::select(vec![OrderStatus::Paid, OrderStatus::Refunded, OrderStatus::Failed]);
    prop_oneof![
        3 => some_order().prop_map(|order| Step::Record(Box::new(order))),
        2 => (0_u64..16, status).prop_map(|(number, status)| Step::Set(number, status)),
    ]
}

/// Takes every step; `broken` are places among all calls at which one fails.
async fn play(steps: Vec<Step>, broken: Vec<usize>) {
    let shop = Shop::open().await;
    tell(&shop.db).await;
    let failing = shop.with_faults(move |place, _| {
        let after = place % 2 == 1;
        broken.contains(&place).then_some(if after { Fault::ResponseLost } else { Fault::Internal })
    });
    for step in steps {
        match step {
            Step::Record(order) => match record(&failing, &shop.clock, *order).await {
                Ok(_) | Err(RecordError::Refused(_) | RecordError::Differs { .. } | RecordError::Store(_)) => {}
                Err(error) => panic!("{error:?}"),
            },
            Step::Set(number, to) => match set_status(&failing, &shop.clock, &id(&format!("o{number}")), to).await {
                Ok(_)
                | Err(
                    SetStatusError::Refused(_)
                    | SetStatusError::Unknown(_)
                    | SetStatusError::Forbidden { .. }
                    | SetStatusError::Store(_),
                ) => {}
            },
        }
    }
    let finished = finish_statistics(&shop.db).await.unwrap();
    assert!(finished.left.is_empty());
    shop.assert_sums().await;
    assert_notices(&shop.db, "any sequence").await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 32)))]

    #[test]
    fn any_sequence_with_calls_that_fail_ends_with_what_the_orders_add_up_to(
        steps in prop::collection::vec(some_step(), 1..40),
        // Half of the sequences have no call that fails.
        broken in prop_oneof![Just(Vec::new()), prop::collection::vec(0_usize..300, 1..30)],
    ) {
        crate::block_on(play(steps, broken));
    }
}
