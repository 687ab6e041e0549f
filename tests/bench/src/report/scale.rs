//! What grows with the store, the cart and the buyer, and what does not.

use super::page::Page;
use crate::figures::Figures;
use crate::lookup::SCALED;
use crate::text::{self, real};

/// Plot and tables of what an invoke costs in stores of different size.
pub fn write(page: &mut Page, figures: &Figures) {
    page.heading("Scale");
    page.picture(
        "performance/cost-against-size.svg",
        "Processor time and request units of an invoke in stores of 10 to 100,000 items",
    );
    page.say(
        "The same request in stores of different size, with carts of different length and buyers with different pasts. \
         Only what the answer itself contains may cost more. What a buyer has bought is one item of the table, a \
         ledger: it grows with the distinct items, of which 10,000 orders have at most as many as the store, and not \
         with the orders. Times are medians by the clock, processor time is the mean.",
    );
    for endpoint in SCALED {
        let mut points: Vec<_> = figures.scale.iter().filter(|point| point.endpoint == endpoint).collect();
        points.sort_by_key(|point| (point.items, point.lines, point.orders));
        let rows: Vec<Vec<String>> = points
            .into_iter()
            .map(|point| {
                let sizes = [point.items, point.lines.into(), point.orders.into()];
                let mut cells: Vec<String> = sizes.map(text::count).into();
                cells.extend([point.wall.median, point.cpu].map(|time| text::time(real(time))));
                cells.push(text::count(point.cost.calls.into()));
                cells.extend([point.cost.read_units, point.cost.write_units].map(text::amount));
                cells.push(format!("{} B", text::count(point.answer_bytes)));
                cells
            })
            .collect();
        page.subheading(endpoint);
        page.table(
            &["items", "lines in the cart", "past orders", "wall", "CPU", "calls", "reads", "writes", "answer"],
            &rows,
        );
    }
}
