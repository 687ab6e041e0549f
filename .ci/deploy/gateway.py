"""What the emulator leaves out of a deploy: it makes an HttpApi, and imports neither its routes nor its CORS settings.

Both are taken here from the processed template that the emulator itself holds, conditions and references resolved, and
put into the API through API Gateway's own operations. Nothing is taken from template.yaml.
"""

from checks import expect


class Processed:
    """A stack's expanded template with the values of its references."""

    def __init__(self, account, stack):
        formation = account.client("cloudformation")
        described = formation.describe_stacks(StackName=stack)["Stacks"][0]
        self.stack_id = described["StackId"]
        self.parameters = {p["ParameterKey"]: p["ParameterValue"] for p in described["Parameters"]}
        self.outputs = {o["OutputKey"]: o["OutputValue"] for o in described["Outputs"]}
        self.template = formation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
        summaries = formation.describe_stack_resources(StackName=stack)["StackResources"]
        self.ids = {r["LogicalResourceId"]: r["PhysicalResourceId"] for r in summaries}

    def evaluate(self, node):
        if isinstance(node, list):
            return [self.evaluate(item) for item in node]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            (function, argument), = node.items()
            if function == "Fn::If":
                return self.evaluate(argument[1 if self.holds(argument[0]) else 2])
            if function == "Ref":
                return self.parameters.get(argument, self.ids.get(argument))
            if function == "Fn::Split":
                return self.evaluate(argument[1]).split(argument[0])
            if function == "Fn::Sub":
                return self._substitute(argument)
        return {key: self.evaluate(value) for key, value in node.items()}

    def holds(self, condition):
        (function, (left, right)), = self.template["Conditions"][condition].items()
        expect(function == "Fn::Equals", f"the condition {condition} is not one that this test can evaluate")
        return self.evaluate(left) == self.evaluate(right)

    def _substitute(self, text):
        for name, value in {**self.parameters, **self.ids}.items():
            text = text.replace(f"${{{name}}}", value).replace(f"${{{name}.Arn}}", value)
        return text


def import_api(account, stack):
    """Routes and CORS of a deployed stack. Returns the keys of its routes."""
    processed = Processed(account, stack)
    (name, api), = [(name, resource) for name, resource in processed.template["Resources"].items()
                    if resource["Type"] == "AWS::ApiGatewayV2::Api"]
    body = api["Properties"]["Body"]
    api_id = processed.ids[name]
    gateway = account.client("apigatewayv2")
    for route in gateway.get_routes(ApiId=api_id)["Items"]:
        gateway.delete_route(ApiId=api_id, RouteId=route["RouteId"])
    for integration in gateway.get_integrations(ApiId=api_id)["Items"]:
        gateway.delete_integration(ApiId=api_id, IntegrationId=integration["IntegrationId"])
    cors = processed.evaluate(body["x-amazon-apigateway-cors"])
    gateway.update_api(ApiId=api_id, CorsConfiguration={key[0].upper() + key[1:]: value for key, value in cors.items()})
    keys = []
    for path, methods in body["paths"].items():
        for method, operation in methods.items():
            wanted = operation["x-amazon-apigateway-integration"]
            integration = gateway.create_integration(
                ApiId=api_id, IntegrationType="AWS_PROXY", IntegrationUri=processed.evaluate(wanted["uri"]),
                IntegrationMethod=wanted["httpMethod"], PayloadFormatVersion=wanted["payloadFormatVersion"])
            key = f"{method.upper()} {path}"
            gateway.create_route(ApiId=api_id, RouteKey=key, Target=f"integrations/{integration['IntegrationId']}")
            keys.append(key)
    return sorted(keys)
