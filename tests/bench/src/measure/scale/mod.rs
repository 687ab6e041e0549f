//! Stores of ten to a hundred thousand items, carts of one to fifty lines, buyers with no and with ten thousand orders.

mod shop;

use super::warm::mean_cpu;
use super::{COUNTS, Visits, ask, cost, progress};
use crate::cases::Step;
use crate::error::BenchError;
use crate::figures::{ScalePoint, Spread};
use crate::programs::Program;
use crate::stage::{Cast, Stage};
use serde_json::{Value, json};
use shared::clock::{Clock, SystemClock};
use shop::{Buyer, COUPONS, ORDER};

/// Items in the stores.
const ITEMS: [u64; 3] = [10, 1_000, 100_000];
/// How long the tokens are valid, in seconds.
const TOKEN_SECONDS: i64 = 3_600;
/// Requests that are not counted.
const WARM_UP: u32 = 20;

/// A request that is measured in every store.
struct Question {
    program: &'static str,
    endpoint: &'static str,
    buyer: Buyer,
    /// Requests in turn, each undone by the next.
    steps: Vec<Step>,
}

/// Fills a table for each size of store, and measures the same requests in each `rounds` times.
pub async fn measure(
    stage: &Stage,
    programs: &[Program],
    rounds: u32,
    visits: &mut Visits,
) -> Result<Vec<ScalePoint>, BenchError> {
    let mut points = Vec::new();
    for items in ITEMS {
        let table = format!("scale-{items}");
        let db = stage.table(&table).await?;
        shop::fill(&db, items, SystemClock.seconds()).await?;
        let questions = questions(stage)?;
        let bar = progress("scale", questions.len() as u64);
        for question in questions {
            let Some(program) = programs.iter().find(|program| program.name == question.program) else { continue };
            let cast = Cast { table: &table, ..Cast::new(program) };
            points.push(point(stage, &cast, &question, items, rounds, visits).await?);
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    Ok(points)
}

async fn point(
    stage: &Stage,
    cast: &Cast<'_>,
    question: &Question,
    items: u64,
    rounds: u32,
    visits: &mut Visits,
) -> Result<ScalePoint, BenchError> {
    let mut sandbox = stage.start(cast).await?;
    for _ in 0..WARM_UP {
        for step in &question.steps {
            ask(&mut sandbox, step, visits).await?;
        }
    }
    visits.new_address();
    let mut steps = question.steps.iter().cycle();
    let mut next = || steps.next().ok_or_else(|| BenchError::setup("a question")(&question.endpoint));
    // The first request from an address costs the limiter one write more.
    let seen = ask(&mut sandbox, next()?, visits).await?;
    let mut price = cost(&stage.front, &mut sandbox, next()?, visits).await?;
    for _ in 1..COUNTS {
        price = price.least(cost(&stage.front, &mut sandbox, next()?, visits).await?);
    }
    let mut times = Vec::new();
    for _ in 0..rounds {
        times.push(ask(&mut sandbox, next()?, visits).await?.times);
    }
    let answer: Value = serde_json::from_slice(&seen.answer).unwrap_or_default();
    Ok(ScalePoint {
        endpoint: question.endpoint.to_owned(),
        items,
        lines: question.buyer.lines,
        orders: question.buyer.orders,
        wall: Spread::of(times.iter().map(|times| times.wall)),
        cpu: mean_cpu(&times),
        cost: price,
        answer_bytes: answer["body"].as_str().map_or(0, |body| body.len() as u64),
    })
}

fn questions(stage: &Stage) -> Result<Vec<Question>, BenchError> {
    let keys = stage.keys()?;
    let now = SystemClock.seconds();
    let mut questions = Vec::new();
    for buyer in Buyer::ALL {
        let failed = BenchError::setup("a token");
        let token = keys.sign(buyer.id(), now, TOKEN_SECONDS).map_err(|error| failed(&error))?;
        let step = |name, file: &str| Step::file(name, file).token(&token);
        let mut ask = |program, endpoint, steps| questions.push(Question { program, endpoint, buyer, steps });
        ask("cart", "cart/get", vec![step("cart/get", "cart/get")]);
        let coupon = |code: &&str| step("cart/acceptCoupon", "cart/accept_coupon").body(&json!({ "coupon": code }));
        ask("cart", "cart/acceptCoupon", COUPONS.iter().map(coupon).collect());
        // These do not read the cart's lines: one cart is enough.
        if buyer.lines == 10 {
            let category = step("categories/get/{url}", "catalog/get_category").url("c1");
            ask("catalog", "categories/get/{url}", vec![category]);
            let status = step("payments/checkStatus", "payments/check_status").body(&json!({ "order_id": ORDER }));
            ask("payments", "payments/checkStatus", vec![status.counted()]);
        }
    }
    Ok(questions)
}
