"""What visitors do, one request after another: a generator for each kind of visitor, which yields after every
request, with the seconds to wait if it is to be repeated.

A response that is not the promised one raises `Fault`, which ends the visit and counts as an error.
"""

# The item that a flash sale sells; it is added to the sample store.
ON_SALE = 399
# The most lookups of a paid order until it has to be paid.
LOOKUPS = 15
SOLD_OUT = ("sold out", "not available", "cannot be bought now", "No more can be bought", "Only 0")


class Fault(Exception):
    """A response that breaks a promise."""


def expect(holds, body):
    if not holds:
        raise Fault(f"{body}")


def arrive(visitor):
    for name in ("settings/get", "categories/get"):
        visitor.get(name)
        yield


def login(visitor):
    visitor.token = visitor.post("auth/username", {"username": f"load_{visitor.number}"})
    expect(isinstance(visitor.token, str), visitor.token)
    yield


def look(visitor):
    yield from arrive(visitor)
    for name in ("checkAccessibility", "auth/chat", "staff", "patrons/get"):
        visitor.get(name)
        yield
    visitor.post("items/getFeaturedDeals")
    yield
    yield from login(visitor)
    for name, body in (("pages/get", {"url": "/about"}), ("categories/get/ranks", None),
                       ("categories/get/companions", None), ("items/get/101", None), ("user", None)):
        visitor.post(name, body)
        yield


def change(visitor):
    yield from arrive(visitor)
    yield from login(visitor)
    visitor.post("categories/get/boosts")
    yield
    fox = visitor.add(301, {"count": 1, "variables": {"1": "Rusty", "2": "Ash"}})
    yield
    visitor.post(f"cart/setVariable/{fox}", {"var_id": 2, "var_value": "Midnight"})
    yield
    boost = visitor.add(401)
    yield
    visitor.post("cart/getSelectServers")
    yield
    visitor.post(f"cart/setSelectedServer/{boost}", {"server_id": 2})
    yield
    gift = visitor.add(601, {"price": "5.00"})
    yield
    for name, body in ((f"cart/changePrice/{gift}", {"price": "4.50"}), (f"cart/reload/{fox}", {"count": 2}),
                       ("cart/acceptCoupon", {"coupon": "glow-7qxm-2k4d"}), ("cart/removeGiftcard", None),
                       ("cart/setReferral", {"ref_code": "thornwick"}), ("cart/removeReferral", None),
                       (f"cart/remove/{gift}", None), ("cart/getPromoted", None), ("cart/get", None)):
        visitor.post(name, body)
        yield


def create(visitor):
    """Begins a checkout. Returns its order and its session at the provider."""
    body = visitor.post("payments/create", {
        "paymentMethod": "Stripe", "currency": "EUR", "termsAndConditions": True, "privacyPolicy": True,
        "details": {"email": "player@example.com"}})
    return body["order_id"], body["data"]["url"].rsplit("/", 1)[1]


def is_paid(visitor, order, session):
    """Whether the payment is known; the provider's webhook event may be on its way."""
    body = visitor.post("payments/checkStatus", {"order_id": order, "checkout_id": session})
    expect(body.get("status") in ("success", "pending"), body)
    return body["status"] == "success"


def buy(visitor):
    yield from arrive(visitor)
    visitor.post("items/getFeaturedDeals")
    yield
    yield from login(visitor)
    for name in ("user", "categories/get/companions"):
        visitor.post(name)
        yield
    for item, count in ((302, 2), (201, 1)):
        visitor.add(item, {"count": count})
        yield
    # Two of three buy without the coupon: transactions with the same coupon wait for each other.
    last = "cart/get" if visitor.number % 3 == 0 else "cart/removeCoupon"
    for name, body in (("cart/acceptCoupon", {"coupon": "HEARTH10"}), ("cart/get", None), (last, None),
                       ("payments/get", None)):
        visitor.post(name, body)
        yield
    order, session = create(visitor)
    yield
    visitor.pay(session)
    for _ in range(LOOKUPS):
        done = is_paid(visitor, order, session)
        yield
        if done:
            break
    expect(done, "the payment is not known")
    # What was bought leaves the cart, which follows from the payment.
    for _ in range(LOOKUPS):
        items = visitor.post("cart/get")["cart"]["items"]
        yield
        if items == 0:
            return
    raise Fault(f"what was bought is still in the cart: {items}")


def sale(visitor):
    """A buyer of the flash sale. Sets `outcome` to "bought" or "sold out"."""
    yield from login(visitor)
    try:
        visitor.add(ON_SALE, {"count": 1})
        yield
        order, session = create(visitor)
        yield
    except Fault as fault:
        if not any(words in str(fault) for words in SOLD_OUT):
            raise
        visitor.outcome = "sold out"
        return
    visitor.pay(session)
    for _ in range(LOOKUPS):
        if is_paid(visitor, order, session):
            visitor.outcome = "bought"
            return
        yield 1
    raise Fault("the payment is not known")


# Of ten visitors five buy, three change their cart and two look around.
MIXED = (look, buy, change, buy, change, look, buy, buy, change, buy)
