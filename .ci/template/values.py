"""Which values of parameters CloudFormation takes: each by itself, and together."""

import re


def allows(parameter, value):
    """Whether CloudFormation would take this value for the parameter."""
    if "AllowedValues" in parameter and value not in [str(v) for v in parameter["AllowedValues"]]:
        return False
    if "AllowedPattern" in parameter and not re.fullmatch(parameter["AllowedPattern"], value):
        return False
    if parameter["Type"] == "Number":
        if not re.fullmatch("[0-9]+", value):
            return False
        return parameter.get("MinValue", 0) <= int(value) <= parameter.get("MaxValue", int(value))
    return True


def broken_rules(rules, given):
    """The names of the rules that these values break."""
    def holds(node):
        (function, arguments), = node.items()
        if function == "Fn::Not":
            return not holds(arguments[0])
        if function != "Fn::Equals":
            raise ValueError(f"a rule uses {function}")
        left, right = (given[a["Ref"]] if isinstance(a, dict) else a for a in arguments)
        return left == right

    return [name for name, rule in rules.items()
            if holds(rule["RuleCondition"]) and not all(holds(a["Assert"]) for a in rule["Assertions"])]
