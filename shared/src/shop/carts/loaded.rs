//! A cart with everything that its price depends on.

use super::context::{CartContext, CartItems, CartSources};
use crate::model::{Code, CouponUses, ItemId, Money, Referral};
use crate::rules::cart::PricedLine;
use crate::rules::code::{Applied, AppliedCodes, CodeBuyer, CodeInputs, CodeRefusal, judge};
use crate::rules::referral::in_force;
use crate::shop::codes;
use crate::table::StoreError;
use crate::table::keys::{self, Key};

/// A cart with its items and the codes on it.
#[derive(Debug)]
pub struct LoadedCart {
    pub context: CartContext,
    pub items: CartItems,
    /// The coupon on the cart, if it is still the one that was applied.
    coupon: Option<Code>,
    uses: CouponUses,
    /// The gift card on the cart, if it is still the one that was applied.
    gift_card: Option<Code>,
    /// The referral code on the cart, in force or not.
    referral: Option<Referral>,
}

/// The codes on a cart, each as it applies or why it counts as not applied; `None` if there is none.
#[derive(Debug)]
pub struct CodesOnCart<'a> {
    pub coupon: Option<Result<Applied<'a>, CodeRefusal>>,
    pub gift_card: Option<Result<Applied<'a>, CodeRefusal>>,
}

impl<'a> CodesOnCart<'a> {
    pub fn applied(self) -> AppliedCodes<'a> {
        let applied = |code: Option<Result<Applied<'a>, CodeRefusal>>| code.and_then(Result::ok);
        AppliedCodes { coupon: applied(self.coupon), gift_card: applied(self.gift_card) }
    }
}

impl LoadedCart {
    /// Reads the items of a cart and `also`, and the codes on the cart, all at once.
    pub async fn load(
        sources: &CartSources<'_>,
        context: CartContext,
        also: Option<ItemId>,
    ) -> Result<Self, StoreError> {
        Self::load_with(sources, context, also, []).await
    }

    /// [`Self::load`], and the rows under `more` with it.
    pub async fn load_with(
        sources: &CartSources<'_>,
        context: CartContext,
        also: Option<ItemId>,
        more: impl IntoIterator<Item = Key>,
    ) -> Result<Self, StoreError> {
        let (cart, owner) = (&context.cart, context.user);
        let coupon_keys = cart.coupon.iter().flat_map(|on| [keys::code(&on.code), keys::code_use(&on.code, owner)]);
        let card_keys = cart.gift_card.iter().map(|on| keys::code(&on.code));
        let referral_keys = cart.referral.iter().map(keys::referral);
        let wanted = coupon_keys.chain(card_keys).chain(referral_keys).chain(more);
        let mut items = context.load_items(sources, also, wanted).await?;
        let rows = &mut items.rows;
        let (coupon, uses) = match &cart.coupon {
            Some(on) => {
                let coupon = codes::take(rows, &on.code)?.filter(|code| code.id() == on.id);
                context.usable(coupon, codes::take_uses(rows, &on.code, owner)?)
            }
            None => (None, CouponUses::default()),
        };
        let gift_card = match &cart.gift_card {
            Some(on) => {
                let found = codes::take(rows, &on.code)?.filter(|code| code.id() == on.id);
                context.usable(found, CouponUses::default()).0
            }
            None => None,
        };
        let referral = match &cart.referral {
            Some(text) => codes::take_referral(rows, text)?,
            None => None,
        };
        Ok(Self { context, items, coupon, uses, gift_card, referral })
    }

    /// Reads the items of a cart and none of the codes on it: none counts as applied.
    pub async fn load_without_codes(sources: &CartSources<'_>, context: CartContext) -> Result<Self, StoreError> {
        let items = context.load_items(sources, None, []).await?;
        Ok(Self { context, items, coupon: None, uses: CouponUses::default(), gift_card: None, referral: None })
    }

    /// The priced lines, in the order of the cart.
    pub fn lines(&self) -> Vec<PricedLine<'_>> {
        self.items.price(&self.context)
    }

    /// The coupon on the cart, if it is known and still the one that was applied.
    pub const fn coupon(&self) -> Option<&Code> {
        self.coupon.as_ref()
    }

    /// The gift card on the cart, if it is known and still the one that was applied.
    pub const fn gift_card(&self) -> Option<&Code> {
        self.gift_card.as_ref()
    }

    /// The inputs of a code's effect on the cart for a login that is proven or not, if its coupon takes off `coupon_sum`.
    pub fn code_inputs<'a>(&self, lines: &'a [PricedLine<'a>], is_proven: bool, coupon_sum: Money) -> CodeInputs<'a> {
        let buyer = CodeBuyer { is_proven, has_bought: self.context.ledger.has_bought() };
        CodeInputs { lines, buyer, coupon_sum, least: self.context.active.config.payments.least }
    }

    /// The amounts that the codes on the cart take off at `now`, for a login that is proven or not.
    pub fn codes(&self, lines: &[PricedLine<'_>], is_proven: bool, now: i64) -> CodesOnCart<'_> {
        let cart = &self.context.cart;
        let inputs = |coupon_sum: Money| self.code_inputs(lines, is_proven, coupon_sum);
        let coupon = || judge(self.coupon.as_ref(), self.uses, inputs(Money::ZERO), now);
        let coupon = cart.coupon.as_ref().map(|_| coupon());
        let coupon_sum = coupon.as_ref().and_then(|coupon| coupon.as_ref().ok()).map_or(Money::ZERO, |on| on.sum);
        let gift_card = || judge(self.gift_card.as_ref(), CouponUses::default(), inputs(coupon_sum), now);
        CodesOnCart { gift_card: cart.gift_card.as_ref().map(|_| gift_card()), coupon }
    }

    /// The referral code on the cart, if it is in force.
    pub fn referral(&self) -> Option<&Referral> {
        in_force(self.referral.as_ref(), self.context.active.config.is_ref)
    }
}
