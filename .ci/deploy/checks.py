"""What a check says if it does not hold."""


class Failed(Exception):
    """What did not hold, in one sentence."""


def expect(condition, sentence):
    if not condition:
        raise Failed(sentence)


def expect_equal(what, found, wanted):
    expect(found == wanted, f"{what} is {found!r}, not {wanted!r}")
