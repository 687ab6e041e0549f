//! Which route a request takes, by the rules of API Gateway's HTTP APIs. It must not clean up a path: `..`, empty
//! segments and a slash at the end mean there what they say.

use std::collections::BTreeMap;

use crate::Route;

/// How closely a segment of a route was met. The order is that of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    Variable,
    Greedy,
}

/// The route of a request and the values of the variables in its path.
///
/// The method has to be the same. Segment by segment, an exact one is preferred to a variable, and a variable to a
/// greedy one. Variables never take an empty text. `decoded_path` is the path as API Gateway hands it over:
/// percent-encoding undone, nothing else.
pub fn match_route<'r>(
    routes: &'r [Route],
    method: &str,
    decoded_path: &str,
) -> Option<(&'r Route, BTreeMap<String, String>)> {
    routes
        .iter()
        .filter(|route| route.method == method)
        .filter_map(|route| {
            let (fits, variables) = meet(&route.path, decoded_path)?;
            Some((fits, route, variables))
        })
        .min_by(|(left, ..), (right, ..)| left.cmp(right))
        .map(|(_, route, variables)| (route, variables))
}

fn meet(pattern: &str, path: &str) -> Option<(Vec<Fit>, BTreeMap<String, String>)> {
    let mut rest = Some(path.strip_prefix('/')?);
    let mut fits = Vec::new();
    let mut variables = BTreeMap::new();
    for wanted in pattern.strip_prefix('/')?.split('/') {
        let left = rest?;
        let name = wanted.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
        if let Some(name) = name.and_then(|name| name.strip_suffix('+')) {
            fits.push(Fit::Greedy);
            variables.insert(name.to_owned(), left.to_owned());
            return (!left.is_empty()).then_some((fits, variables));
        }
        let (segment, further) = match left.split_once('/') {
            Some((segment, further)) => (segment, Some(further)),
            None => (left, None),
        };
        rest = further;
        match name {
            Some(name) if !segment.is_empty() => {
                fits.push(Fit::Variable);
                variables.insert(name.to_owned(), segment.to_owned());
            }
            None if segment == wanted => fits.push(Fit::Exact),
            _ => return None,
        }
    }
    rest.is_none().then_some((fits, variables))
}
