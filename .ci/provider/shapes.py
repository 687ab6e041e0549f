"""What the package's types say about parameters and objects."""

import builtins
import functools
import json
import sys
import types
import typing

import stripe
from typing_extensions import get_args, get_origin, get_type_hints, is_typeddict


class Wrong(Exception):
    """Something that Stripe does not speak."""


def expect(condition, message):
    if not condition:
        raise Wrong(message)


def equal(what, found, wanted):
    expect(found == wanted, f"{what} is {found!r} and not {wanted!r}")


class Others(dict):
    """Any name that is not known: models that a module imports for type checkers only, under another name."""

    def __init__(self, known):
        self.known = known

    def __missing__(self, name):
        if name in self.known or hasattr(builtins, name):
            raise KeyError(name)
        return stripe.StripeObject


@functools.cache
def names():
    """Every model of the package: a module names in quotes also those that it imports for type checkers only."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("stripe.")]
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, type)}


@functools.cache
def hints(kind):
    """The types of a class's fields."""
    known = {**names(), **vars(typing), **vars(stripe), **vars(sys.modules[kind.__module__])}
    return get_type_hints(kind, globalns=known, localns=Others(known))


def members(kind):
    """The alternatives of a type."""
    if get_origin(kind) in (typing.Union, types.UnionType):
        return [member for part in get_args(kind) for member in members(part)]
    return [kind]


def check_parameter(path, keys, value, kind):
    """Holds that a parameter in the form in which it is sent, such as line_items, [0, quantity] and "1", is one that the package knows."""
    faults = []
    for member in members(kind):
        fault = fault_of(path, keys, value, member)
        if fault is None:
            return
        faults.append(fault)
    raise Wrong("; ".join(faults))


def fault_of(path, keys, value, kind):
    origin = get_origin(kind)
    try:
        if is_typeddict(kind):
            expect(keys, f"{path} is an object")
            fields = hints(kind)
            expect(keys[0] in fields, f"{path}[{keys[0]}] is not a parameter")
            check_parameter(f"{path}[{keys[0]}]", keys[1:], value, fields[keys[0]])
        elif origin is list:
            expect(keys and (keys[0] == "" or keys[0].isdigit()), f"{path} is a list")
            check_parameter(f"{path}[]", keys[1:], value, get_args(kind)[0])
        elif origin is dict:
            expect(len(keys) == 1, f"{path} is an object of texts")
        else:
            expect(not keys, f"{path} is not an object")
            check_scalar(path, value, kind, origin)
    except Wrong as error:
        return str(error)
    return None


def check_scalar(path, value, kind, origin):
    if origin is typing.Literal:
        expect(value in get_args(kind), f"{path} cannot be {value!r}")
    elif kind is int:
        expect(value.lstrip("-").isdigit(), f"{path} is not a number: {value!r}")
    elif kind is bool:
        expect(value in ("true", "false"), f"{path} is not a boolean: {value!r}")
    else:
        expect(kind is str, f"{path} has the type {kind}")


def check_object(value, kind, path=""):
    """Holds that an object has the fields and the words that the package's class has."""
    fields = {name: hint for name, hint in hints(kind).items() if not name.startswith("_") and name != "OBJECT_NAME"}
    for name in value:
        expect(name in fields, f"{path}{kind.__name__} has no field {name!r}")
    for name, hint in fields.items():
        if name not in value:
            # The package has one type for a field that is null and one that is left out.
            expect(type(None) in members(hint), f"{path}{kind.__name__} lacks {name!r}")
        else:
            check_value(f"{path}{kind.__name__}.{name}", value[name], hint)


def check_value(path, value, hint):
    alternatives = members(hint)
    if value is None:
        expect(type(None) in alternatives, f"{path} is null")
        return
    words = [word for kind in alternatives if get_origin(kind) is typing.Literal for word in get_args(kind)]
    if words and isinstance(value, str) and str not in alternatives:
        expect(value in words, f"{path} cannot be {value!r}")
    lists = [kind for kind in alternatives if get_origin(kind) is list]
    if isinstance(value, list):
        expect(lists, f"{path} is not a list")
        for item in value:
            check_value(f"{path}[]", item, get_args(lists[0])[0])
    if isinstance(value, bool):
        expect(bool in alternatives, f"{path} is not a boolean")
    elif isinstance(value, int):
        expect(int in alternatives, f"{path} is not a number")
    elif isinstance(value, str):
        expect(str in alternatives or words, f"{path} is not a text")
    elif isinstance(value, dict):
        models = [kind for kind in alternatives if isinstance(kind, type) and issubclass(kind, stripe.StripeObject)]
        if len(models) == 1:
            check_object(value, models[0], f"{path}: ")


def checked(value, kind):
    """An object, once its fields are found to be those of the package's class."""
    check_object(json.loads(json.dumps(value)), kind)
    return value
