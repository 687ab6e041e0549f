//! Which promotions a cart is offered (rules.md, "Promotions").

use super::pricing::{Availability, Buyer, availability};
use crate::model::{Cart, Promotion, Promotions, PublishedItem, Sold};

#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    pub published: &'a PublishedItem,
    pub promotion: &'a Promotion,
    /// The item's availability for the caller, at its catalog price.
    pub availability: Availability,
}

/// The promotions of active, available items that are not in the cart, in published order.
pub fn offers<'a>(promotions: &'a Promotions, cart: &Cart, sold: &Sold, buyer: Buyer<'_>) -> Vec<Offer<'a>> {
    let offers = promotions.0.iter().filter_map(|published| {
        let promotion = published.item.promotion.as_ref()?;
        let availability = availability(&published.item, &published.price_tiers, sold, Some(buyer));
        let in_cart = cart.lines.iter().any(|line| line.item == published.item.id);
        (!availability.unavailable && !in_cart).then_some(Offer { published, promotion, availability })
    });
    offers.collect()
}
