//! The OpenAPI 3.1 document of the interface, `infra/openapi.json`.

mod operation;
mod responses;

use crate::Reference;
use crate::samples::Sample;
use delivery::INTERFACE_VERSION;
use operation::Operation;
use responses::Components;
use serde_json::{Map, Value, json};
use shared::token::STATE_SECONDS;
use std::path::PathBuf;

/// The description of the interface as a whole.
const DESCRIPTION: &str = "The storefront back end of a game-server webstore.

Sixteen operations are the documented interface. Operations and fields with `x-beyond-contract: true` are additions to it; \
no documented field is renamed, retyped or left out. Fields may be added, so clients ignore fields that they do not know.

An ordinary refusal is HTTP 200 with `success: false` or a label in `status`: look at the body, not only at the status code. \
The `status` of payments/checkStatus says whether the lookup worked, never whether the order is paid: read \
`order_data.status`.

Money is a JSON number in major units of the store's currency. A limit that is not set is null. Times are UTC.

API Gateway makes some responses itself: 404 for a path or method that does not exist, 400 for a request that it cannot \
read, 413 above 10 MB, 429 of the stage and 503. Their body is `{\"message\": \"...\"}`, and they have none of the headers \
described here.";

/// The file of the document.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../openapi.json")
}

/// The document as the file has it.
pub fn rendered(reference: &Reference, samples: &[Sample]) -> String {
    let document = document(reference, samples);
    // A document consists of texts, numbers and each other; serialising it cannot fail.
    format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default())
}

pub fn document(reference: &Reference, samples: &[Sample]) -> Value {
    let components = Components::of(reference, operation::id);
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in &reference.endpoints {
        let routes = endpoint.routes().zip(endpoint.declaration.routes);
        for (place, ((method, path), route)) in routes.enumerate() {
            let operation = Operation { endpoint, method, route, is_first: place == 0 };
            let operations = paths.entry(path).or_insert_with(|| json!({}));
            let mut document = operation.document(&components, samples);
            document["responses"] = responses::of(operation, &components, samples);
            operations[method.to_ascii_lowercase()] = document;
        }
    }
    let schemas = components.used_by(&json!(paths));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Webstore storefront API",
            "version": INTERFACE_VERSION,
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [
            {"url": "http://127.0.0.1:4010", "description": "The local server, `cargo run`."},
            {
                "url": "{base_url}",
                "description": "A deployment: the output `ApiUrl` of its stack.",
                "variables": {"base_url": {
                    "default": "https://api-id.execute-api.eu-central-1.amazonaws.com",
                    "description": "The root of the API.",
                }},
            },
        ],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": security_schemes(),
            "parameters": parameters(),
            "headers": headers(),
            "schemas": schemas,
        },
    })
}

fn tags() -> Value {
    json!([
        {"name": "catalog", "description": "Categories, items and featured deals."},
        {"name": "cart", "description": "The cart of the caller: one for each account."},
        {"name": "payments", "description": "Payment methods, checkouts and the state of orders."},
        {"name": "content", "description": "Pages, staff, patrons and settings."},
        {"name": "auth", "description": "Login and the account of the caller."},
        {"name": "delivery", "description": "The calls of game servers: what the vendor's public plugin sends."},
    ])
}

fn security_schemes() -> Value {
    json!({
        "bearerAuth": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A token of this service. `Bearer undefined` and `Bearer null` count as no token.",
        },
        "tokenCookie": {
            "type": "apiKey", "in": "cookie", "name": "token",
            "description": "The same token in a cookie, for requests that a page makes on the server.",
        },
    })
}

fn parameters() -> Value {
    json!({
        "IfNoneMatch": {
            "name": "If-None-Match", "in": "header", "required": false, "schema": {"type": "string"},
            "description": "The `ETag` of the response that the caller has, or several, separated by commas.",
        },
        "LoginCookie": {
            "name": "chat_login", "in": "cookie", "required": false, "schema": {"type": "string"},
            "description": "The cookie of GET /auth/chat. A login can be completed only in the browser that has it.",
        },
        "ReferralCookie": {
            "name": "captured_referral", "in": "cookie", "required": false, "schema": {"type": "string"},
            "description": "The cookie of POST /capture-referral. The first write to a cart applies its code, if the rules of \
                            POST /cart/setReferral allow it and the cart has none, and clears the cookie.",
        },
        "StripeSignature": {
            "name": "Stripe-Signature", "in": "header", "required": true, "schema": {"type": "string"},
            "description": "The time and the signatures of the webhook event, as Stripe sends them.",
        },
    })
}

fn headers() -> Value {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "Cache-Control": text("`no-store`, except for the responses that can be cached for 30 seconds."),
        "ETag": text("The version of the body, for `If-None-Match`."),
        "Set-Cookie": text(&format!(
            "`chat_login` with the nonce of the login: HttpOnly, Secure, SameSite=Lax, valid for {} minutes, for the path of the \
             callback. Absent if chat login is disabled.",
            STATE_SECONDS / 60
        )),
        "Set-Cookie-Referral": text(
            "`captured_referral` with the code: HttpOnly, Secure, SameSite=Lax, valid for 30 days. Absent with a token, and if \
             the code is not valid.",
        ),
        "Set-Cookie-Spent": text(
            "Clears `captured_referral`. Absent if the browser did not send it, and if no cart was written.",
        ),
        "Retry-After": number("Seconds until the same request may succeed. Absent if waiting does not help."),
        "Vary": text("Always `Origin`."),
        "WWW-Authenticate": text("Always `Bearer`."),
        "RateLimit-Limit": number("Requests that the address may make in a window. On every request that was counted."),
        "RateLimit-Remaining": number("Requests that are left in this window."),
        "RateLimit-Reset": number("Seconds until the window ends."),
    })
}
