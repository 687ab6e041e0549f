//! One operation: a method and a path of an endpoint.

use super::responses::Components;
use crate::samples::Sample;
use crate::{Documented, json};
use serde_json::{Map, Value, json};
use shared::endpoint::{Access, Cache, InputKind};
use shared::fault::capital;
use std::fmt::Write;

/// The endpoint that begins a chat login, and sets its cookie.
const LOGIN: &str = "auth/chat";
/// The endpoint that completes it, and reads the cookie.
const CALLBACK: &str = "auth/chat/callback";
/// The endpoint that keeps a referral code in a cookie.
const CAPTURE: &str = "capture-referral";
/// The endpoints of the cart function that write no cart: all others clear that cookie.
const READS: [&str; 4] = ["cart/get", "cart/getPromoted", "cart/getSelectServers", "cart/getGift"];

/// A route of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    pub endpoint: &'a Documented,
    /// The method, in capitals.
    pub method: &'a str,
    /// The route key, as the gateway writes it.
    pub route: &'a str,
    /// Whether it is the endpoint's first route.
    pub is_first: bool,
}

/// The id of an endpoint's first operation: `cartAcceptCoupon`, `categoriesGetByUrl`.
pub fn id(endpoint: &Documented) -> String {
    let mut id = String::new();
    for part in endpoint.declaration.name.split(['/', '_', '-']) {
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(parameter) => _ = write!(id, "By{}", capital(parameter)),
            None if id.is_empty() => id.push_str(part),
            None => id.push_str(&capital(part)),
        }
    }
    id
}

impl Operation<'_> {
    /// The operation as the document writes it.
    pub fn document(self, components: &Components, samples: &[Sample]) -> Value {
        let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.route == self.route).collect();
        let id = id(self.endpoint);
        let mut operation = Map::new();
        let mut set = |name: &str, value: Value| _ = operation.insert(name.to_owned(), value);
        set("operationId", json!(if self.is_first { id } else { format!("{id}{}", capital(&lower(self.method))) }));
        set("tags", json!([self.endpoint.function]));
        set("summary", json!(capital(&self.endpoint.summary())));
        set("description", json!(self.description()));
        if self.endpoint.is_added(self.is_first) {
            set("x-beyond-contract", json!(true));
        }
        set("security", self.security());
        let parameters = self.parameters(components, &samples);
        if !parameters.is_empty() {
            set("parameters", json!(parameters));
        }
        if let Some(body) = self.body(components, &samples) {
            set("requestBody", body);
        }
        Value::Object(operation)
    }

    /// Whether its method is GET, or HEAD, which has the response of GET without its body.
    pub fn only_reads(self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    /// Whether a response to this operation can be cached.
    pub fn is_cached(self) -> bool {
        self.endpoint.declaration.cache == Cache::Public && self.only_reads()
    }

    /// The component that describes `Set-Cookie`, if a response has it.
    pub fn sets_cookie(self) -> Option<&'static str> {
        match self.endpoint.declaration.name {
            LOGIN => Some("Set-Cookie"),
            CAPTURE => Some("Set-Cookie-Referral"),
            _ if self.reads_referral_cookie() => Some("Set-Cookie-Spent"),
            _ => None,
        }
    }

    /// Whether the endpoint reads the cookie with a referral code.
    fn reads_referral_cookie(self) -> bool {
        self.endpoint.function == "cart" && !READS.contains(&self.endpoint.declaration.name)
    }

    fn description(self) -> String {
        let declaration = self.endpoint.declaration;
        let mut text = match (declaration.access, declaration.input) {
            (Access::Ignored, InputKind::TokenCookie) => {
                "The token is optional: in the cookie `token`, else in the header."
            }
            (Access::Ignored, _) => "A token is ignored.",
            (Access::Optional, _) => "The token is optional; one that is not valid counts as none.",
            (Access::Required, _) => "A token is needed.",
            (Access::RequiredOrGuest, _) => "A token is needed unless guest mode is on.",
        }
        .to_owned();
        if !declaration.checks_account {
            text.push_str(" Only the token's signature, issuer and expiry are checked, not the account.");
        }
        if let Some(limit) = declaration.rate_limit {
            _ = write!(text, " Rate limit: {} requests in {} seconds per address.", limit.requests, limit.seconds);
        }
        if !self.only_reads() {
            _ = write!(text, " The body has at most {} bytes.", declaration.body_limit);
        }
        if declaration.number.is_none() {
            text.push_str(" This call is beyond the documented interface.");
        } else if !self.is_first {
            text.push_str(" This method is beyond the documented interface.");
        }
        text
    }

    fn security(self) -> Value {
        let declaration = self.endpoint.declaration;
        match (declaration.access, declaration.input) {
            (Access::Ignored, InputKind::TokenCookie) => json!([{}, {"tokenCookie": []}, {"bearerAuth": []}]),
            (Access::Ignored, _) => json!([]),
            (Access::Optional, _) => json!([{}, {"bearerAuth": []}]),
            (Access::Required, _) => json!([{"bearerAuth": []}]),
            (Access::RequiredOrGuest, _) => json!([{"bearerAuth": []}, {}]),
        }
    }

    fn parameters(self, components: &Components, samples: &[&Sample]) -> Vec<Value> {
        let request = &self.endpoint.description.request;
        let mut parameters = Vec::new();
        for (name, schema) in self.endpoint.description.path_parameters.iter().zip(&request.path_parameters) {
            let mut schema = components.request(json(schema));
            let own = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let description = own.unwrap_or_else(|| components.resolve(&schema)["description"].clone());
            let example = samples.iter().find_map(|sample| sample.path_parameter.clone());
            let example = example.map(|text| match (schema["type"].as_str(), text.as_str().map(str::parse::<u64>)) {
                (Some("integer"), Some(Ok(number))) => json!(number),
                _ => text,
            });
            let mut parameter = json!({"name": name, "in": "path", "required": true, "description": description});
            parameter["schema"] = schema;
            if let Some(example) = example {
                parameter["example"] = example;
            }
            parameters.push(parameter);
        }
        if let Some(schema) = &request.query {
            let schema = components.request(json(schema));
            parameters.extend(query(components.alternatives(&schema).into_iter().next().unwrap_or(&schema)));
        }
        if self.endpoint.declaration.name == CALLBACK {
            parameters.push(json!({"$ref": "#/components/parameters/LoginCookie"}));
        }
        if self.reads_referral_cookie() {
            parameters.push(json!({"$ref": "#/components/parameters/ReferralCookie"}));
        }
        if self.is_cached() {
            parameters.push(json!({"$ref": "#/components/parameters/IfNoneMatch"}));
        }
        if self.endpoint.declaration.input == InputKind::Signed {
            parameters.push(json!({"$ref": "#/components/parameters/StripeSignature"}));
        }
        parameters
    }

    fn body(self, components: &Components, samples: &[&Sample]) -> Option<Value> {
        if self.endpoint.declaration.input == InputKind::Signed {
            let schema =
                json!({"type": "object", "description": "The event as Stripe writes it. Its bytes are signed."});
            return Some(json!({"required": true, "content": {"application/json": {"schema": schema}}}));
        }
        let schema = components.request(json(self.endpoint.description.request.body.as_ref()?));
        let mut content = json!({"schema": schema});
        // A body that is refused with 400 is not an example of the schema.
        let good = samples.iter().filter(|sample| sample.status != 400);
        let examples: Map<String, Value> = good
            .filter_map(|sample| Some((sample.outcome.clone(), json!({"value": sample.request.as_ref()?}))))
            .collect();
        if !examples.is_empty() {
            content["examples"] = Value::Object(examples);
        }
        let required = self.endpoint.description.needs_body;
        Some(json!({"required": required, "content": {"application/json": content}}))
    }
}

/// The fields of a schema as parameters of the query.
fn query(schema: &Value) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        // A parameter of a query is a text or absent, never null.
        if schema["type"].is_array() {
            schema["type"] = json!("string");
        }
        json!({
            "name": name, "in": "query", "required": required.contains(&json!(name)),
            "description": description, "schema": schema,
        })
    };
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(parameter).collect()
}

fn lower(method: &str) -> String {
    method.to_ascii_lowercase()
}
