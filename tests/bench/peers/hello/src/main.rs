//! A lambda_http function that does nothing: no configuration, no database, 200 with a fixed JSON body. Whatever a real
//! function costs beyond this is its own.

use lambda_http::http::header::CONTENT_TYPE;
use lambda_http::{Error, Request, Response, run, service_fn};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    run(service_fn(hello)).await
}

async fn hello(_: Request) -> Result<Response<String>, Error> {
    let body = json!({ "message": "Hello, world!" }).to_string();
    Ok(Response::builder().header(CONTENT_TYPE, "application/json").body(body)?)
}
