//! The tax of an order's payment.

use super::{Money, Order};
use serde::{Deserialize, Serialize};

/// Who works out the tax of a payment, and who sells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaxMode {
    /// The owner, by other means.
    #[default]
    None,
    /// Stripe works it out, and the owner pays it to the tax offices.
    Stripe,
    /// Stripe sells in its own name, and pays it to the tax offices.
    Managed,
}

/// Whether tax is in the prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaxPrices {
    /// It is: what is shown is what is paid.
    #[default]
    Inclusive,
    /// It comes on top of them.
    Exclusive,
}

/// The tax of a payment, as the provider says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tax {
    /// In minor units of the payment's currency.
    pub amount: Money,
    /// Whether it came on top of what the lines cost. Then it is in the order's price, and not in its lines.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub on_top: bool,
    /// The buyer's country, in two letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// The rate in hundredths of a percent, if the whole of it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

impl Order {
    /// The tax that is in the price and not in the lines.
    pub fn tax_on_top(&self) -> Money {
        self.tax.as_ref().filter(|tax| tax.on_top).map_or(Money::ZERO, |tax| tax.amount)
    }

    /// The tax that is returned with so much of the price, half up. The parts of a refund return the whole tax.
    #[must_use]
    pub fn tax_of(&self, charged: Money) -> Money {
        let tax = self.tax.as_ref().map_or(Money::ZERO, |tax| tax.amount);
        tax.portion(charged.min(self.price), self.price)
    }

    /// So much of the price, without the tax that came on top: what it is of the lines.
    #[must_use]
    pub fn before_tax(&self, charged: Money) -> Money {
        if self.tax_on_top() > Money::ZERO { charged.less(self.tax_of(charged)) } else { charged }
    }
}
