//! What a template's alarms and dashboards look at: every metric that they name, whichever way they name it.

use serde_json::Value as Json;

use crate::Template;
use crate::document::Node;
use crate::error::{Fault, TemplateError};

/// A metric that an alarm or a widget names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricUse {
    /// The alarm's logical id, or the widget's title.
    pub place: String,
    /// The namespace, such as `AWS/Lambda`.
    pub namespace: String,
    /// The metric's name.
    pub name: String,
    /// The names of its dimensions, in the order in which they stand.
    pub dimensions: Vec<String>,
}

impl Template {
    /// Every metric that an alarm or a dashboard of the template names, in the order of the file.
    ///
    /// # Errors
    /// When one of them is not written in a form that is understood here, so that nothing is passed over.
    pub fn metrics(&self) -> Result<Vec<MetricUse>, TemplateError> {
        let mut uses = Vec::new();
        for (id, alarm) in self.resources("AWS::CloudWatch::Alarm")? {
            let found = alarm.required("Properties").and_then(|properties| self.of_alarm(id, properties));
            uses.extend(found.map_err(|fault| fault.at(id))?);
        }
        for (id, dashboard) in self.resources("AWS::CloudWatch::Dashboard")? {
            let found = dashboard.required("Properties").and_then(|properties| self.of_dashboard(properties));
            uses.extend(found.map_err(|fault| fault.at(id))?);
        }
        Ok(uses)
    }

    fn of_alarm(&self, id: &str, properties: &Node) -> Result<Vec<MetricUse>, Fault> {
        let Some(queries) = properties.get("Metrics") else {
            return Ok(vec![self.metric(id, properties)?]);
        };
        let mut uses = Vec::new();
        for query in queries.items()? {
            match query.find(&["MetricStat", "Metric"]) {
                Some(metric) => uses.push(self.metric(id, metric)?),
                None => drop(query.required("Expression")?),
            }
        }
        Ok(uses)
    }

    fn metric(&self, place: &str, node: &Node) -> Result<MetricUse, Fault> {
        let mut dimensions = Vec::new();
        for dimension in node.get("Dimensions").map_or(Ok(&[][..]), Node::items)? {
            dimensions.push(self.scope.text(dimension.required("Name")?)?);
        }
        Ok(MetricUse {
            place: place.to_owned(),
            namespace: self.scope.text(node.required("Namespace")?)?,
            name: self.scope.text(node.required("MetricName")?)?,
            dimensions,
        })
    }

    fn of_dashboard(&self, properties: &Node) -> Result<Vec<MetricUse>, Fault> {
        let body = properties.required("DashboardBody")?;
        let wrong = |problem: String| Fault::new(body.line, problem);
        let json: Json =
            serde_json::from_str(&self.scope.text(body)?).map_err(|error| wrong(format!("is no JSON: {error}")))?;
        let mut uses = Vec::new();
        for widget in json["widgets"].as_array().ok_or_else(|| wrong("has no widgets".to_owned()))? {
            let place = widget["properties"]["title"].as_str().unwrap_or("a widget without a title");
            let metrics = widget["properties"]["metrics"].as_array();
            for row in metrics.ok_or_else(|| wrong(format!("has no metrics in {place:?}")))? {
                let found = of_row(place, row);
                uses.push(
                    found.ok_or_else(|| wrong(format!("has a metric in {place:?} that is not understood: {row}")))?,
                );
            }
        }
        Ok(uses)
    }
}

/// One row of a widget's metrics: `[namespace, name, dimension, value, …, {options}]`, or a search.
fn of_row(place: &str, row: &Json) -> Option<MetricUse> {
    let mut cells: Vec<&Json> = row.as_array()?.iter().collect();
    let options = cells.pop_if(|last| last.is_object());
    if let Some(expression) = options.and_then(|options| options["expression"].as_str()) {
        return cells.is_empty().then(|| of_search(place, expression))?;
    }
    let texts: Vec<&str> = cells.into_iter().map(Json::as_str).collect::<Option<_>>()?;
    let (&namespace, rest) = texts.split_first()?;
    let (&name, dimensions) = rest.split_first()?;
    // `.` repeats the cell above; nobody should have to look it up.
    let plain =
        dimensions.len().is_multiple_of(2) && texts.iter().all(|text| !text.is_empty() && !text.starts_with('.'));
    let dimensions = dimensions.iter().step_by(2).map(|&name| name.to_owned()).collect();
    plain.then(|| MetricUse {
        place: place.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        dimensions,
    })
}

/// `SEARCH('{namespace,dimension,…} MetricName="name" dimension="value" …', …)`.
fn of_search(place: &str, expression: &str) -> Option<MetricUse> {
    let (schema, terms) = expression.strip_prefix("SEARCH('{")?.split_once("} ")?;
    let (terms, _) = terms.split_once('\'')?;
    let (namespace, dimensions) = schema.split_once(',')?;
    let dimensions: Vec<String> = dimensions.split(',').map(str::to_owned).collect();
    let mut name = None;
    for term in terms.split_whitespace() {
        let (property, value) = term.split_once('=')?;
        let value = value.strip_prefix('"')?.strip_suffix('"')?;
        match property {
            "MetricName" => name = Some(value.to_owned()),
            _ if dimensions.iter().any(|dimension| dimension == property) => {}
            _ => return None,
        }
    }
    Some(MetricUse { place: place.to_owned(), namespace: namespace.to_owned(), name: name?, dimensions })
}
