//! A made-up run for tests. No figure of it was ever measured.

use crate::figures::{
    Cold, Cost, Endpoint, Figures, Kind, Machine, Program, Raw, Rounds, ScalePoint, Spread, Throughput,
};

/// A run in which most budgets are held, three are missed and some peers are older.
pub fn figures() -> Figures {
    let versions = [("aws-sdk-dynamodb", "1.136.0"), ("node", "20.19.2"), ("python", "3.11.2"), ("rustc", "1.95.0")];
    Figures {
        date: "2030-02-03".into(),
        machine: Machine {
            processor: "Made-up Processor 3000".into(),
            cores: 2,
            memory: 25_169_203_200,
            kernel: "6.1.0".into(),
        },
        versions: versions.map(|(name, version)| (name.to_owned(), version.to_owned())).into(),
        rounds: Rounds { cold: 40, slow: 30, warm: 2_000 },
        programs: programs(),
        endpoints: endpoints(),
        raw: vec![raw("GetItem", 1, 92), raw("payments/checkStatus", 2, 171)],
        scale: scale(),
        throughput: vec![
            throughput("settings/get", 9_412, 1_600),
            throughput("categories/get", 8_950, 1_710),
            throughput("cart/get", 2_310, 6_700),
            throughput("payments/checkStatus", 1_874, 8_310),
        ],
    }
}

/// So many microseconds in the middle, a little less at best and a good deal more at worst.
fn around(microseconds: u64) -> Spread {
    let median = microseconds * 1_000;
    Spread { min: median * 83 / 100, median, p99: median * 19 / 10 }
}

fn programs() -> Vec<Program> {
    let function = |name: &str, init: u64, bytes: u64| Program {
        name: name.into(),
        kind: Kind::Function,
        date: "2030-02-03".into(),
        bytes: Some(bytes),
        zip_bytes: Some(bytes * 42 / 100),
        cold: Some(cold(init + 700, Some(init), 360)),
        slow: Some(cold(init * 13 + 9_000, Some(init * 13), 4_600)),
        peak_rss: Some(6_100_000 + bytes / 20),
    };
    let peer = |name: &str, kind, date: &str, bytes, [init, first, rss]: [u64; 3]| Program {
        name: name.into(),
        kind,
        date: date.into(),
        bytes,
        zip_bytes: bytes.map(|bytes| bytes * 4 / 10),
        cold: Some(cold(init, None, first)),
        slow: Some(cold(init * 13, None, first * 13)),
        peak_rss: Some(rss),
    };
    vec![
        function("catalog", 1_290, 4_210_000),
        function("cart", 1_310, 4_480_000),
        function("payments", 1_240, 3_950_000),
        function("content", 1_230, 3_880_000),
        function("auth", 1_450, 4_620_000),
        peer("hello", Kind::HelloWorld, "2030-02-03", Some(1_800_000), [1_090, 200, 3_700_000]),
        peer("sdk-defaults", Kind::SdkDefaults, "2030-01-15", Some(10_400_000), [2_330, 21_600, 11_950_000]),
        peer("node", Kind::Node, "2030-01-15", Some(1_210_000), [80_000, 22_000, 119_500_000]),
        peer("python", Kind::Python, "2030-01-15", None, [148_000, 38_000, 50_300_000]),
    ]
}

fn cold(init: u64, unconnected: Option<u64>, first: u64) -> Cold {
    Cold {
        init_wall: around(init + init / 3),
        init_cpu: around(init),
        init_cpu_unconnected: unconnected.map(around),
        first_wall: around(first + 150),
        first_cpu: around(first),
    }
}

fn endpoints() -> Vec<Endpoint> {
    let cost = |calls, round_trips, read_units, write_units| Cost { calls, round_trips, read_units, write_units };
    let row = |program: &str, name: &str, wall: u64, cost: Cost| Endpoint {
        program: program.into(),
        name: name.into(),
        wall: around(wall),
        wall_delayed: around(if wall > 0 { wall + u64::from(cost.round_trips) * 3_100 } else { 0 }),
        cpu: wall * 790,
        cost,
    };
    // Counted once and not timed, as an outcome is that cannot be had again and again.
    let counted = |program: &str, cost: Cost| row(program, "payments/checkStatus, first of a window", 0, cost);
    vec![
        row("catalog", "categories/get", 103, cost(0, 0, 0.0, 0.0)),
        row("catalog", "categories/get/{url}", 390, cost(1, 1, 3.0, 0.0)),
        row("catalog", "categories/get/{url}, without a token", 128, cost(0, 0, 0.0, 0.0)),
        row("catalog", "items/getFeaturedDeals", 371, cost(1, 1, 3.0, 0.0)),
        row("cart", "cart/get, with a code applied", 641, cost(2, 2, 4.0, 0.0)),
        row("cart", "cart/acceptCoupon", 702, cost(2, 2, 5.0, 1.0)),
        row("cart", "cart/setReferral", 655, cost(2, 2, 4.0, 1.0)),
        row("cart", "cart/removeReferral", 640, cost(2, 2, 3.0, 1.0)),
        row("cart", "cart/getPromoted", 366, cost(1, 1, 3.0, 0.0)),
        row("cart", "cart/getSelectServers", 352, cost(1, 1, 2.0, 0.0)),
        row("payments", "payments/checkStatus", 452, cost(2, 1, 1.0, 1.0)),
        counted("payments", cost(3, 2, 1.0, 2.0)),
        row("content", "pages/get", 108, cost(0, 0, 0.0, 0.0)),
        row("content", "staff", 101, cost(0, 0, 0.0, 0.0)),
        row("content", "settings/get", 99, cost(0, 0, 0.0, 0.0)),
        row("content", "patrons/get", 102, cost(0, 0, 0.0, 0.0)),
        row("auth", "auth/chat", 104, cost(0, 0, 0.0, 0.0)),
        row("auth", "user", 331, cost(1, 1, 1.0, 0.0)),
        row("hello", "hello", 96, cost(0, 0, 0.0, 0.0)),
        counted("hello", cost(0, 0, 0.0, 0.0)),
        row("sdk-defaults", "payments/checkStatus", 610, cost(2, 1, 1.0, 1.0)),
        counted("node", cost(3, 2, 1.0, 2.0)),
        row("node", "payments/checkStatus", 1_480, cost(2, 1, 1.0, 1.0)),
        row("python", "payments/checkStatus", 2_150, cost(2, 1, 1.0, 1.0)),
    ]
}

fn raw(name: &str, calls: u32, wall: u64) -> Raw {
    Raw { name: name.into(), calls, wall: around(wall) }
}

fn throughput(endpoint: &str, per_second: u64, wall: u64) -> Throughput {
    Throughput { endpoint: endpoint.into(), connections: 16, per_second, wall: around(wall) }
}

fn scale() -> Vec<ScalePoint> {
    let base = [
        ("categories/get/{url}", 214, 3.0, 0.0, 18_200),
        ("cart/get", 268, 3.0, 0.0, 4_100),
        ("cart/acceptCoupon", 391, 5.0, 1.0, 310),
        ("payments/checkStatus", 352, 1.0, 1.0, 260),
    ];
    let buyers = [(1, 0), (10, 0), (50, 0), (10, 10_000)];
    let sizes = [10, 1_000, 100_000].into_iter().flat_map(|items| buyers.map(|(lines, orders)| (items, lines, orders)));
    let point = |(endpoint, cpu, read_units, write_units, answer): (&str, u64, f64, f64, u64),
                 (items, lines, orders)| {
        let of_the_cart = endpoint.starts_with("cart/");
        let of_the_store = endpoint.starts_with("categories/");
        let in_cart = if of_the_cart { u64::from(lines) } else { 10 };
        // A page has fifty items, of which a store of ten has only ten.
        let in_page = if of_the_store { u64::from(u32::try_from(items).unwrap_or(50).min(50)) } else { 50 };
        // A ledger has as many distinct items as the orders can have in that store.
        let ledger = if of_the_cart || of_the_store { u64::from(orders).min(items) } else { 0 };
        let read_units = read_units + f64::from(u32::try_from(ledger / 500).unwrap_or(0)) / 2.0;
        let cpu = cpu + 4 * (in_cart + in_page) + u64::from(items == 100_000) * 9 + ledger / 20 - 240;
        ScalePoint {
            endpoint: endpoint.into(),
            items,
            lines,
            orders,
            wall: around(cpu * 5 / 4),
            cpu: cpu * 1_000,
            cost: Cost { calls: if write_units > 0.0 { 2 } else { 1 }, round_trips: 1, read_units, write_units },
            answer_bytes: if endpoint == "cart/get" { answer * u64::from(lines) / 10 } else { answer * in_page / 50 },
        }
    };
    sizes
        .flat_map(|size| base.map(|base| (base, size)))
        // What lies in the cart says nothing of the others: one cart is enough.
        .filter(|(base, (_, lines, _))| base.0.starts_with("cart/") || *lines == 10)
        .map(|(base, size)| point(base, size))
        .collect()
}
