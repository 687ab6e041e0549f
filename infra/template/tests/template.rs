//! Templates that are read and those that are refused, which request takes which route, and the project's own template,
//! as the local server reads it with given parameters. Its routes are checked by tests/coverage.rs, and what SAM makes
//! of it by `.ci/template/check.py`.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use template::{Cors, Route, Template, TemplateError, match_route};

const SOUND: &str = "Parameters:
  Word: {Type: String, Default: blue, AllowedPattern: '[a-z]*', ConstraintDescription: lower case}
  Count: {Type: Number, Default: 3, MinValue: 1, MaxValue: 9}
  Colour: {Type: String, Default: red, AllowedValues: [red, 1]}
Conditions:
  IsBlue: !Equals [!Ref Word, blue]
  IsOther: !Not [!Equals [!Ref Word, blue]]
Globals:
  Function:
    Environment: {Variables: {A: common, B: common}}
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: {AllowOrigins: ['*'], AllowMethods: [GET], MaxAge: 60}
  One:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: one}}
    Properties:
      Environment: {Variables: {B: own, X: text}}
      Policies: [{Statement: [{Action: ['dynamodb:GetItem']}]}]
      Events:
        List:
          Type: HttpApi
          Properties: {ApiId: !Ref Api, Method: get, Path: '/list/{name+}'}
        Nightly:
          Type: Schedule
  Two:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: two}}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: N}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      TimeToLiveSpecification: {AttributeName: ttl, Enabled: true}
";

fn given(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The error for the sound template after one replacement, or with these values.
#[track_caller]
fn after(right: &str, wrong: &str, values: &[(&str, &str)]) -> String {
    assert!(SOUND.contains(right), "{right:?} is not in the sound template");
    let read = Template::parse(&SOUND.replacen(right, wrong, 1), &given(values));
    read.err().map_or_else(|| "nothing".to_owned(), |error| error.to_string())
}

/// The variable X after its value is replaced by an expression.
fn evaluate(expression: &str, values: &[(&str, &str)]) -> Result<Option<String>, TemplateError> {
    let text = SOUND.replace("X: text", &format!("\"X\": {expression}"));
    Ok(Template::parse(&text, &given(values))?.environment("one")?.remove("X"))
}

#[test]
fn a_sound_template_is_read_as_it_is() {
    let template = Template::parse(SOUND, &given(&[])).unwrap();
    assert_eq!(template.functions().unwrap(), ["one", "two"]);
    assert_eq!(template.environment("one").unwrap(), given(&[("A", "common"), ("B", "own"), ("X", "text")]));
    assert_eq!(template.environment("two").unwrap(), given(&[("A", "common"), ("B", "common")]));
    let routes: Vec<_> = template.routes().unwrap().iter().map(|route| (route.key(), route.function.clone())).collect();
    assert_eq!(routes, [("GET /list/{name+}".to_owned(), "one".to_owned())]);
    let table = template.table().unwrap();
    assert_eq!((table.logical_id.as_str(), table.ttl_attribute.as_deref()), ("Table", Some("ttl")));
    assert_eq!(table.attributes, [("pk".to_owned(), "S".to_owned()), ("sk".to_owned(), "N".to_owned())]);
    assert_eq!(table.key_schema, [("pk".to_owned(), "HASH".to_owned()), ("sk".to_owned(), "RANGE".to_owned())]);
    let cors = template.cors().unwrap().unwrap();
    assert_eq!((cors.allow_origins, cors.allow_credentials, cors.max_age), (vec!["*".to_owned()], false, Some(60)));
    assert!(template.actions("one").unwrap().iter().eq(["dynamodb:GetItem"]));
    assert_eq!(
        template.environment("three").unwrap_err().to_string(),
        "the template has no function with the binary three"
    );
}

#[test]
fn functions_of_cloudformation_evaluate_as_on_aws() {
    for (expression, wanted) in [
        ("!Ref Word", "blue"),
        ("!Ref Count", "3"),
        ("!Ref Table", "Table"),
        ("!Ref AWS::Region", "us-east-1"),
        ("!GetAtt Table.Arn", "Table.Arn"),
        ("!Select [0, !Split ['/', 'a/b']]", "a"),
        ("!If [IsBlue, yes, no]", "yes"),
        ("!If [IsOther, '1', !If [IsBlue, '2', '3']]", "2"),
        ("!Sub '${Word}-${Count}'", "blue-3"),
        ("!Sub '{{resolve:x:${Table.Arn}:y}} ${!Word} $Word'", "{{resolve:x:Table.Arn:y}} ${Word} $Word"),
    ] {
        assert_eq!(evaluate(expression, &[]).unwrap().as_deref(), Some(wanted), "{expression}");
    }
    assert_eq!(evaluate("!If [IsBlue, yes, no]", &[("Word", "red")]).unwrap().as_deref(), Some("no"));
    assert_eq!(evaluate("!If [IsOther, x, !Ref AWS::NoValue]", &[]).unwrap(), None);
}

#[test]
fn what_is_not_supported_or_wrong_is_named_with_its_place() {
    let place = "Resources.One.Properties.Environment.Variables.X: ";
    for (expression, problem) in [
        ("", "is empty"),
        ("!Ref Wrod", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!GetAtt Tabel.Arn", "Tabel.Arn is not an attribute of a resource of the template"),
        ("!Sub '${Wrod}'", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!If [IsPink, a, b]", "there is no condition IsPink"),
        ("!If [IsBlue, a]", "!If needs a list of 3"),
        ("!If [IsBlue, a, !Ref Wrod]", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!Select [3, !Split [',', 'a,b']]", "there is no item 3 to select"),
        ("!Join [',', [a, b]]", "!Join is not supported here"),
        ("{'Fn::Sub': b}", "write Fn::Sub in its short form"),
    ] {
        assert_eq!(evaluate(expression, &[]).unwrap_err().to_string(), format!("{place}{problem}"), "{expression}");
    }
    let or = after("!Equals [!Ref Word, blue]", "!Or [!Equals [1, 1], !Equals [1, 2]]", &[]);
    assert_eq!(or, "Conditions.IsBlue: has to be !Equals or !Not; other conditions are not supported here");
    assert!(after("  Function:\n", "  HttpApi:\n", &[]).starts_with("Globals.HttpApi: is not supported here"));
    let table = |condition: &str| format!("    Condition: {condition}\n    Type: AWS::Dyn");
    assert!(after("    Type: AWS::Dyn", &table("IsPink"), &[]).ends_with("no condition IsPink"));
    let without = Template::parse(&SOUND.replace("    Type: AWS::Dyn", &table("IsOther")), &given(&[])).unwrap();
    assert_eq!(without.table().unwrap_err().to_string(), "the template has no AWS::DynamoDB::Table");
    let indexed = Template::parse(&SOUND.replace("TimeToLiveSpecification", "GlobalSecondaryIndexes"), &given(&[]));
    assert!(indexed.unwrap().table().unwrap_err().to_string().contains("unknown field `GlobalSecondaryIndexes`"));
    assert!(after(SOUND, "a: [1, 2", &[]).starts_with("the template is not valid YAML: "));
}

#[test]
fn parameters_are_held_to_their_rules() {
    for (name, value, problem) in [
        ("Word", "Blue", "is \"Blue\", which is not allowed: it must be lower case"),
        ("Word", "blue\n", "is \"blue\\n\", which is not allowed: it must be lower case"),
        ("Count", "0", "is \"0\", which is not allowed"),
        ("Count", "10", "is \"10\", which is not allowed"),
        ("Count", "some", "is \"some\", which is not allowed"),
        ("Colour", "pink", "is \"pink\", which is not allowed"),
        ("Other", "1", "is not a parameter of the template"),
    ] {
        assert_eq!(after("", "", &[(name, value)]), format!("parameter {name} {problem}"));
    }
    assert_eq!(after("", "", &[("Word", "red"), ("Count", "9"), ("Colour", "1")]), "nothing");
    assert_eq!(after("Default: blue, ", "", &[]), "parameter Word has no default and was given no value");
    assert!(after("MinValue: 1", "MinLength: 1", &[]).contains("unknown field `MinLength`"));
}

fn own_routes() -> Vec<Route> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    let template = Template::read(&path, &BTreeMap::new()).unwrap();
    template.routes().unwrap()
}

fn routes(keys: &[&str]) -> Vec<Route> {
    keys.iter()
        .map(|key| {
            let (method, path) = key.split_once(' ').unwrap();
            Route { method: method.to_owned(), path: path.to_owned(), function: "any".to_owned() }
        })
        .collect()
}

/// Route key and variables, written `key` or `key name=value`.
fn taken(routes: &[Route], method: &str, path: &str) -> Option<String> {
    let (route, variables) = match_route(routes, method, path)?;
    let mut text = route.key();
    for (name, value) in variables {
        write!(text, " {name}={value}").unwrap();
    }
    Some(text)
}

#[test]
fn every_route_of_the_template_is_found_by_its_own_path() {
    let routes = own_routes();
    for route in &routes {
        let path = route.path.replace("{url+}", "ranks/vip");
        let (found, _) = match_route(&routes, &route.method, &path).unwrap();
        assert_eq!(found, route);
    }
}

#[test]
fn the_method_has_to_be_the_same() {
    let routes = own_routes();
    assert_eq!(taken(&routes, "GET", "/categories/get").unwrap(), "GET /categories/get");
    assert_eq!(taken(&routes, "POST", "/categories/get").unwrap(), "POST /categories/get");
    for (method, path) in [
        ("GET", "/user"),
        ("POST", "/staff"),
        ("GET", "/categories/get/ranks"),
        ("HEAD", "/staff"),
        ("get", "/staff"),
        ("OPTIONS", "/staff"),
        ("", "/staff"),
    ] {
        assert_eq!(taken(&routes, method, path), None, "{method} {path}");
    }
}

#[test]
fn a_greedy_variable_takes_all_that_is_left_as_it_is() {
    let routes = own_routes();
    for (path, url) in [
        ("/categories/get/ranks", "ranks"),
        ("/categories/get/ranks/vip", "ranks/vip"),
        ("/categories/get/ranks/", "ranks/"),
        ("/categories/get//ranks", "/ranks"),
        ("/categories/get//", "/"),
        ("/categories/get/../../pages/get", "../../pages/get"),
        ("/categories/get/.", "."),
        ("/categories/get/a?b#c", "a?b#c"),
        ("/categories/get/a b\t\u{0}é", "a b\t\u{0}é"),
        ("/categories/get/%2e%2e", "%2e%2e"),
        ("/categories/get/{url+}", "{url+}"),
    ] {
        let wanted = format!("POST /categories/get/{{url+}} url={url}");
        assert_eq!(taken(&routes, "POST", path).unwrap(), wanted);
    }
}

#[test]
fn a_path_is_taken_as_it_is_and_never_cleaned_up() {
    let routes = own_routes();
    for path in [
        "/categories/get/",
        "//categories/get/x",
        "//categories/get",
        "/categories//get/x",
        "/./categories/get/x",
        "/x/../categories/get/x",
        "/Categories/get/x",
        "/categories",
        "/categories/getx",
        "categories/get/x",
        "/",
        "",
        "//",
    ] {
        assert_eq!(taken(&routes, "POST", path), None, "{path:?}");
    }
    assert_eq!(taken(&routes, "GET", "/staff/"), None);
    assert_eq!(taken(&routes, "GET", "/staff?x=1"), None);
}

#[test]
fn an_exact_segment_beats_a_variable_and_a_variable_beats_a_greedy_one() {
    let routes = routes(&[
        "GET /{all+}",
        "GET /pets/{rest+}",
        "GET /pets/{id}",
        "GET /pets/dog",
        "GET /pets/{id}/toys",
        "GET /pets/dog/{thing}",
    ]);
    for (path, wanted) in [
        ("/pets/dog", "GET /pets/dog"),
        ("/pets/cat", "GET /pets/{id} id=cat"),
        ("/pets/cat/", "GET /pets/{rest+} rest=cat/"),
        ("/pets/cat/toys", "GET /pets/{id}/toys id=cat"),
        ("/pets/dog/toys", "GET /pets/dog/{thing} thing=toys"),
        ("/pets/cat/toys/1", "GET /pets/{rest+} rest=cat/toys/1"),
        ("/pets/", "GET /{all+} all=pets/"),
        ("/pets", "GET /{all+} all=pets"),
        ("/pets//toys", "GET /pets/{rest+} rest=/toys"),
    ] {
        assert_eq!(taken(&routes, "GET", path).as_deref(), Some(wanted), "{path}");
    }
    assert_eq!(taken(&routes, "GET", "/"), None);
}

#[test]
fn the_order_of_routes_does_not_matter() {
    let mut routes = routes(&["GET /a/{x+}", "GET /a/{x}", "GET /a/b"]);
    for _ in 0..routes.len() {
        routes.rotate_left(1);
        assert_eq!(taken(&routes, "GET", "/a/b").unwrap(), "GET /a/b");
        assert_eq!(taken(&routes, "GET", "/a/c").unwrap(), "GET /a/{x} x=c");
        assert_eq!(taken(&routes, "GET", "/a/b/c").unwrap(), "GET /a/{x+} x=b/c");
    }
}

#[test]
fn a_variable_takes_no_empty_segment() {
    let routes = routes(&["GET /a/{x}/b", "GET /"]);
    assert_eq!(taken(&routes, "GET", "/a//b"), None);
    assert_eq!(taken(&routes, "GET", "/").unwrap(), "GET /");
    assert_eq!(taken(&[], "GET", "/"), None);
}

fn with(name: &str, value: &str) -> Template {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    Template::read(&path, &[(name.to_owned(), value.to_owned())].into()).unwrap()
}

#[test]
fn named_origins_may_call_with_credentials_and_all_else_stays() {
    let any = with("AllowedOrigins", "*").cors().unwrap().unwrap();
    assert_eq!((any.allow_origins.as_slice(), any.allow_credentials), (["*".to_owned()].as_slice(), false));
    let named = with("AllowedOrigins", "https://store.example.com,http://localhost:3000").cors().unwrap().unwrap();
    let allow_origins = vec!["https://store.example.com".to_owned(), "http://localhost:3000".to_owned()];
    assert_eq!(named, Cors { allow_origins, allow_credentials: true, ..any });
}

#[test]
fn the_environment_has_the_given_parameters_and_the_tables_name() {
    let own = with("TrustedProxies", "192.0.2.0/24");
    assert_eq!(own.environment("payments").unwrap()["TRUSTED_PROXIES"], "192.0.2.0/24");
    assert_eq!(own.environment("cart").unwrap()["TRUSTED_PROXIES"], "192.0.2.0/24");
    assert_eq!(own.environment("content").unwrap().get("TRUSTED_PROXIES"), None);
    assert_eq!(own.environment("cart").unwrap()["TABLE_NAME"], own.table().unwrap().logical_id);
    let existing = with("ExistingTable", "arn:aws:dynamodb:eu-central-1:123456789012:table/restored.2");
    assert_eq!(existing.environment("cart").unwrap()["TABLE_NAME"], "restored.2");
    assert!(existing.table().is_err());
}
