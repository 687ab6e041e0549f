//! A cart with everything that its price depends on.

use super::context::{CartContext, CartItems, CartSources};
use crate::model::{Code, ItemId, Referral};
use crate::rules::cart::PricedLine;
use crate::rules::code::{Applied, CodeRefusal, judge};
use crate::rules::referral::in_force;
use crate::store::keys::{self, Key};
use crate::store::{StoreError, codes};

/// A cart with its items and the codes on it.
#[derive(Debug)]
pub struct LoadedCart {
    /// The cart and the ledger.
    pub context: CartContext,
    /// The items of its lines.
    pub items: CartItems,
    /// The code on the cart, if it is still the one that was applied.
    code: Option<Code>,
    /// How often the user used it.
    uses: u32,
    /// The referral code on the cart, in force or not.
    referral: Option<Referral>,
}

impl LoadedCart {
    /// Reads the items of a cart and `also`, and the codes on the cart, all at once.
    ///
    /// # Errors
    /// [`StoreError`] if they can be neither read nor decoded.
    pub async fn load(
        sources: &CartSources<'_>,
        context: CartContext,
        also: Option<ItemId>,
    ) -> Result<Self, StoreError> {
        Self::load_with(sources, context, also, []).await
    }

    /// [`Self::load`], and the rows under `more` with it.
    ///
    /// # Errors
    /// [`StoreError`] if they can be neither read nor decoded.
    pub async fn load_with(
        sources: &CartSources<'_>,
        context: CartContext,
        also: Option<ItemId>,
        more: impl IntoIterator<Item = Key>,
    ) -> Result<Self, StoreError> {
        let (on_cart, owner) = (context.cart.code.iter(), context.user);
        let code_keys = on_cart.flat_map(|on_cart| [keys::code(&on_cart.code), keys::code_use(&on_cart.code, owner)]);
        let referral_keys = context.cart.referral.iter().map(keys::referral);
        let mut items = context.load_items(sources, also, code_keys.chain(referral_keys).chain(more)).await?;
        let (code, uses) = match &context.cart.code {
            Some(on_cart) => {
                let code = codes::take(&mut items.rows, &on_cart.code)?.filter(|code| code.id() == on_cart.id);
                let uses = codes::take_uses(&mut items.rows, &on_cart.code, owner)?;
                context.usable(code, uses)
            }
            None => (None, 0),
        };
        let referral = match &context.cart.referral {
            Some(text) => codes::take_referral(&mut items.rows, text)?,
            None => None,
        };
        Ok(Self { context, items, code, uses, referral })
    }

    /// The priced lines, in the order of the cart.
    #[must_use]
    pub fn lines(&self) -> Vec<PricedLine<'_>> {
        self.items.price(&self.context.cart, &self.context.ledger)
    }

    /// The code on the cart, if it is known and still the one that was applied.
    #[must_use]
    pub const fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }

    /// What the code on the cart takes off at `now`.
    ///
    /// # Errors
    /// [`CodeRefusal`] if it counts as not applied.
    pub fn applied(&self, lines: &[PricedLine<'_>], now: i64) -> Result<Applied<'_>, CodeRefusal> {
        judge(self.code.as_ref(), self.uses, lines, now)
    }

    /// The referral code on the cart, if it is in force.
    #[must_use]
    pub fn referral(&self) -> Option<&Referral> {
        in_force(self.referral.as_ref(), self.context.active.config.is_ref)
    }
}
