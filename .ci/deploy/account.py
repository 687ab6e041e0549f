"""The emulated AWS account, as a process of its own: ministack, with things added that it does not do. Those of CloudFront are in
edge.py.

IAM's condition key `dynamodb:LeadingKeys` has the partition keys that a request names, and `dynamodb:Attributes` the attributes. The
template's policies use both, so that without the first every role would be refused everything, and ministack knows the second of
reads only. They are computed here as AWS documents them, and ministack's own evaluator does the rest.

SAM expands a template with the values of a deploy's parameters. ministack hands it none, so that SAM would write defaults
into the places where it does not leave a reference.

An alarm may look at several metrics. ministack's CloudFormation makes none of those; here it makes them on their first.
What they look at is checked without an account, by tests/dashboard.rs.

A resource of a stack below another loses its attributes in an update that does not change it. Here it keeps them.
"""

import contextvars
import json
import re

import edge
from ministack import app
from ministack.core import iam_actions
from ministack.services.cloudformation import changesets, engine, handlers, provisioners
from samtranslator.translator import transform

PARTITION_KEY = "pk"


def leading_keys(request):
    """The partition keys that a DynamoDB request names, each once; an empty list if it names none, as Scan."""
    keys = []

    def note(attributes):
        value = (attributes or {}).get(PARTITION_KEY, {}).get("S")
        if value is not None and value not in keys:
            keys.append(value)

    note(request.get("Key"))
    note(request.get("Item"))
    for table in (request.get("RequestItems") or {}).values():
        for key in table.get("Keys", []) if isinstance(table, dict) else []:
            note(key)
        for write in table if isinstance(table, list) else []:
            note(write.get("PutRequest", {}).get("Item"))
            note(write.get("DeleteRequest", {}).get("Key"))
    for action in request.get("TransactItems") or []:
        for operation in action.values():
            note(operation.get("Key"))
            note(operation.get("Item"))
    names = request.get("ExpressionAttributeNames") or {}
    values = request.get("ExpressionAttributeValues") or {}
    for name, value in re.findall(r"([#\w]+)\s*=\s*(:\w+)", request.get("KeyConditionExpression") or ""):
        if names.get(name, name) == PARTITION_KEY:
            note({PARTITION_KEY: values.get(value, {})})
    return keys


def written_attributes(request):
    """The attributes that the writes of a DynamoDB request name, at the top level of rows; an empty list if it writes nothing."""
    writes = [write for action in request.get("TransactItems") or [] for write in action.values()]
    found = []
    for write in writes or [request]:
        found += [*(write.get("Item") or {}), *(write.get("Key") or {})]
        names = write.get("ExpressionAttributeNames") or {}
        for expression in (write.get("UpdateExpression"), write.get("ConditionExpression")):
            # The first name of each path: neither a value, a part of a path, a function nor a word of the language.
            paths = re.findall(r"(?<![:.\w#])(#\w+|[a-z]\w*)(?![\w(])", expression or "")
            found += [names.get(path, path) for path in paths]
    return sorted(set(found))


def with_keys_and_attributes(context_of):
    def context(body):
        found = context_of(body)
        try:
            request = json.loads(body or b"{}")
            keys, attributes = leading_keys(request), written_attributes(request)
        except (ValueError, AttributeError, TypeError):
            keys = attributes = []
        if keys:
            found["dynamodb:LeadingKeys"] = keys
        if attributes:
            found["dynamodb:Attributes"] = sorted({*found.get("dynamodb:Attributes", []), *attributes})
        return found

    return context


parameters = contextvars.ContextVar("parameters", default={})


def remembering_parameters(apply):
    def applied(template, provided=None, previous=None):
        parameters.set(engine._transform_parameters(template, provided, previous))
        return apply(template, provided, previous)

    return applied


def with_parameters(expand):
    def expanded(template, _, policies):
        return expand(template, parameters.get(), policies)

    return expanded


def with_several_metrics(record_of):
    def record(name, properties):
        several = [query["MetricStat"] for query in properties.get("Metrics") or [] if "MetricStat" in query]
        if several:
            one = {**several[0]["Metric"], "Statistic": several[0]["Stat"], "Period": several[0]["Period"]}
            properties = {**properties, **one, "Metrics": None}
        return record_of(name, properties)

    return record


attributes = {}


def keeping_attributes(act):
    def acted(*arguments):
        name, found = act(*arguments)
        attributes[name] = found or attributes.get(name, {})
        return name, attributes[name]

    return acted


provisioners._provision_resource = keeping_attributes(provisioners._provision_resource)
provisioners._update_resource = keeping_attributes(provisioners._update_resource)
provisioners._cw_metric_alarm_record = with_several_metrics(provisioners._cw_metric_alarm_record)
iam_actions.dynamodb_service_context = with_keys_and_attributes(iam_actions.dynamodb_service_context)
for module in (changesets, handlers):
    module._apply_transforms = remembering_parameters(module._apply_transforms)
transform.transform = with_parameters(transform.transform)
edge.add()

if __name__ == "__main__":
    app.main()
