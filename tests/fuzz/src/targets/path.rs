//! Paths: the functions and the gateway find the same route, and the same parameter.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use harness::{endpoints, template};
use http::Method;
use lambda_http::{Body, Request, RequestExt as _};
use shared::endpoint::Declaration;
use shared::http::route;
use shared::model::{CategoryPath, ItemId};
use template::{Route, match_route};

/// Routing by the raw path.
#[derive(Debug)]
pub struct Path {
    gateway: Vec<Route>,
    declared: Vec<&'static Declaration>,
    examples: Vec<(Method, String)>,
}

impl Target for Path {
    const NAME: &'static str = "path";
    /// The method and the decoded path.
    type Input = (Method, String);

    fn start() -> Result<Self, FuzzError> {
        let gateway = template().routes().map_err(FuzzError::setup)?;
        let (mut declared, mut examples) = (Vec::<&'static Declaration>::new(), Vec::new());
        for endpoint in endpoints() {
            let (method, path) = endpoint.route.split_once(' ').unwrap_or_default();
            let path = path.replace("{url+}", "ranks/vip").replace("{id}", "202").replace("{cid}", "1");
            examples.push((method.parse().map_err(FuzzError::setup)?, path));
            if !declared.iter().any(|known| known.name == endpoint.declaration.name) {
                declared.push(endpoint.declaration);
            }
        }
        Ok(Self { gateway, declared, examples })
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let (method, path) = random.pick(&self.examples).clone();
        let method = if random.one_in(10) { Method::from_bytes(b"BREW").unwrap_or(Method::PUT) } else { method };
        (method, mutate::text(random, &path))
    }

    fn check(&mut self, (method, path): &Self::Input) -> Result<Outcome, String> {
        let mut request = Request::new(Body::Empty).with_raw_http_path(path);
        *request.method_mut() = method.clone();
        let by_function = route::find(&request, &self.declared, |declared| declared.routes);
        let by_gateway = match_route(&self.gateway, method.as_str(), path);
        let found = (by_function.is_some(), by_gateway.as_ref().map(|(route, _)| route.key()));
        let Some(((route, parameters), declared)) = by_gateway.zip(by_function) else {
            rule(!found.0 && found.1.is_none(), || format!("only one finds a route: {found:?}"))?;
            return Ok(Outcome::Refused);
        };
        rule(declared.routes.contains(&route.key().as_str()), || format!("{} and {}", declared.name, route.key()))?;
        let parameter = route::parameter(&request, declared.routes);
        if let (Some(sent), Some(read)) = (parameters.values().next(), &parameter) {
            rule(sent.contains('%') || sent == read, || format!("{sent:?} is read as {read:?}"))?;
            _ = (CategoryPath::parse(read), read.parse::<ItemId>());
        }
        Ok(Outcome::Accepted)
    }
}
