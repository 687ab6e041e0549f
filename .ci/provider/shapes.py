"""What the package's types say about parameters and objects."""

import ast
import decimal
import functools
import importlib
import inspect
import sys
import types
import typing

import stripe
from stripe._request_options import RequestOptions
from stripe._stripe_object import UntypedStripeObject
from typing_extensions import get_args, get_origin, get_type_hints, is_typeddict


class Wrong(Exception):
    """Something that Stripe does not speak."""


def expect(condition, message):
    if not condition:
        raise Wrong(message)


def equal(what, found, wanted):
    expect(found == wanted, f"{what} is {found!r} and not {wanted!r}")


@functools.cache
def names(module):
    """The names in a module, with those that it imports for type checkers only."""
    known = dict(vars(sys.modules[module]))
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), known)
    return known


@functools.cache
def hints(kind):
    """The types of a class's fields."""
    found = get_type_hints(kind, localns={**names(RequestOptions.__module__), **names(kind.__module__)})
    return {name: hint for name, hint in found.items() if not name.startswith("_") and name != "OBJECT_NAME"}


def parameters(kind, verb):
    """The types of the parameters of a class's call, without what the package takes for itself."""
    module = kind.__module__.rpartition(".")[0].replace("stripe", "stripe.params", 1)
    found = hints(getattr(importlib.import_module(module), f"{kind.__name__}{verb}Params"))
    return {name: hint for name, hint in found.items() if name not in hints(RequestOptions)}


def members(kind):
    """The alternatives of a type. The package adds any text to a list of words, for words to come: here that is left out."""
    if get_origin(kind) not in (typing.Union, types.UnionType):
        return [kind]
    found = [member for part in get_args(kind) for member in members(part)]
    has_words = any(word for member in found for word in words(member))
    return [member for member in found if not (has_words and member is str)]


def words(kind):
    return [word for member in members(kind) if get_origin(member) is typing.Literal for word in get_args(member)]


def is_model(kind):
    return isinstance(kind, type) and issubclass(kind, stripe.StripeObject)


def check_expand(path, kind):
    """Holds that a path to expand names fields that there are, and in the end an object or a list."""
    for name in path.split("."):
        fields = {}
        for member in members(kind):
            if get_origin(member) is stripe.ListObject:
                fields["data"], = get_args(member)
            elif is_model(member):
                fields.update(hints(member))
        expect(name in fields, f"{path}: there is no field {name!r} to expand")
        kind = fields[name]
    expect(any(is_model(get_origin(member) or member) for member in members(kind)), f"{path} is not an object")


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
    fields = hints(kind)
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
    elif isinstance(value, list):
        lists = [kind for kind in alternatives if get_origin(kind) is list]
        expect(lists, f"{path} is not a list")
        for item in value:
            check_value(f"{path}[]", item, get_args(lists[0])[0])
    elif isinstance(value, dict):
        check_fields(path, value, alternatives)
    elif isinstance(value, str):
        expect({str, decimal.Decimal} & {*alternatives} or value in words(hint), f"{path} cannot be {value!r}")
    else:
        expect(type(value) in alternatives, f"{path} cannot be {value!r}")


def check_fields(path, value, alternatives):
    """An object, a list of objects, or texts by name."""
    for kind in alternatives:
        origin, inner = get_origin(kind) or kind, get_args(kind)
        if origin is stripe.ListObject:
            equal(f"the fields of {path}", {*value}, {"object", "data", "has_more", "url"})
            return check_value(f"{path}.data", value["data"], typing.List[inner])
        if origin is UntypedStripeObject:
            return [check_value(f"{path}.{name}", text, kind) for name, text in value.items() for kind in inner if kind is not typing.Any]
    fit = [kind for kind in alternatives if is_model(kind) and getattr(kind, "OBJECT_NAME", None) in (None, value.get("object"))]
    expect(len(fit) == 1, f"{path} is not an object of one class")
    check_object(value, fit[0], f"{path}: ")


def checked(value, kind):
    """An object, once its fields as they were sent are found to be those of the package's class."""
    check_object(value.to_dict(for_json=True), kind)
    return value
