//! A template that cannot be used gives one sentence that names the place.

use std::collections::BTreeMap;

use template::{Template, TemplateError};

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

/// Asks for everything that the local server asks for, and returns the error.
fn complaint(text: &str, values: &[(&str, &str)]) -> String {
    let ask = || -> Result<(), TemplateError> {
        let template = Template::parse(text, &given(values))?;
        template.routes()?;
        template.table()?;
        template.cors()?;
        for function in template.functions()? {
            template.environment(&function)?;
        }
        template.actions("one").map(drop)
    };
    ask().err().map_or_else(|| "nothing".to_owned(), |error| error.to_string())
}

/// The complaint about the sound template after one replacement.
#[track_caller]
fn after(right: &str, wrong: &str) -> String {
    assert!(SOUND.contains(right), "{right:?} is not in the sound template");
    complaint(&SOUND.replacen(right, wrong, 1), &[])
}

/// The variable X after its value is replaced by an expression.
fn evaluate(expression: &str, values: &[(&str, &str)]) -> Result<Option<String>, TemplateError> {
    let text = SOUND.replace("X: text", &format!("\"X\": {expression}"));
    Ok(Template::parse(&text, &given(values))?.environment("one")?.remove("X"))
}

#[test]
fn a_sound_template_is_read_as_it_is() {
    assert_eq!(complaint(SOUND, &[]), "nothing");
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
fn text_that_is_not_yaml_or_not_a_template_is_refused_with_its_line() {
    for (text, beginning) in [
        ("", "the template is not valid YAML at line 1, column 1: it is empty"),
        ("a: [1, 2", "the template is not valid YAML at line "),
        ("a: b: c", "the template is not valid YAML at line 1, column 5: "),
        ("a: 1\nb: 2\na: 3\n", "the template is not valid YAML at line 3, column 1: "),
        ("a: *b", "the template is not valid YAML at line 1, "),
        ("a: 1\n---\nb: 2", "the template is not valid YAML at line 3, column 1: a second document begins here"),
        ("null: 1", "the template is not valid YAML at line 1, column 1: a key has to be text"),
        ("Transform: x", "the template has no Resources"),
        ("Resources: [a]", "Resources (line 1): is not a mapping"),
        ("Resources:\n  A: b", "Resources.A.Type (line 2): is missing"),
        ("Resources: {}\nParameters: x", "Parameters (line 2): invalid type: string \"x\""),
    ] {
        let said = complaint(text, &[]);
        assert!(said.starts_with(beginning), "{text:?}: {said}");
    }
    let error = Template::read("/no/such/template.yaml".as_ref(), &given(&[])).unwrap_err();
    assert_eq!(error.to_string(), "/no/such/template.yaml cannot be read");
    assert!(std::error::Error::source(&error).is_some());
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
    let place = "Resources.One.Properties.Environment.Variables.X (line 20): ";
    for (expression, problem) in [
        ("", "is empty"),
        ("[a, b]", "invalid type: sequence, expected a string"),
        ("5", "invalid type: integer `5`, expected a string"),
        ("!Ref Wrod", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!GetAtt Tabel.Arn", "Tabel.Arn is not an attribute of a resource of the template"),
        ("!Sub '${Wrod}'", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!Sub '${Word'", "opens ${ without closing it"),
        ("!Sub ['${A}', {A: b}]", "needs plain text"),
        ("!If [IsPink, a, b]", "there is no condition IsPink"),
        ("!If [IsBlue, a]", "!If needs a list of 3"),
        ("!If [IsBlue, a, !Ref Wrod]", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!Select [3, !Split [',', 'a,b']]", "there is no item 3 to select"),
        ("!Join [',', [a, b]]", "!Join is not supported here"),
        ("!Reff b", "!Reff is not supported here"),
        ("{'Fn::Sub': b}", "write Fn::Sub in its short form"),
    ] {
        assert_eq!(evaluate(expression, &[]).unwrap_err().to_string(), format!("{place}{problem}"), "{expression}");
    }
    for (wrong, problem) in [
        ("!Or [!Equals [1, 1], !Equals [1, 2]]", "has to be !Equals or !Not; other conditions are not supported here"),
        ("!Equals [1]", "!Equals needs a list of 2"),
        ("true", "has to be !Equals or !Not; other conditions are not supported here"),
    ] {
        assert_eq!(after("!Equals [!Ref Word, blue]", wrong), format!("Conditions.IsBlue (line 6): {problem}"));
    }
    assert!(after("  Function:\n", "  HttpApi:\n").starts_with("Globals.HttpApi (line 9): is not supported here"));
    assert!(after("    Type: AWS::Dyn", "    Condition: IsPink\n    Type: AWS::Dyn").ends_with("no condition IsPink"));
    let forbidden = after("    Type: AWS::Dyn", "    Condition: IsOther\n    Type: AWS::Dyn");
    assert_eq!(forbidden, "the template has no AWS::DynamoDB::Table");
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
        assert_eq!(complaint(SOUND, &[(name, value)]), format!("parameter {name} {problem}"));
    }
    assert_eq!(complaint(SOUND, &[("Word", "red"), ("Count", "9"), ("Colour", "1")]), "nothing");
    assert_eq!(after("Default: blue, ", ""), "parameter Word has no default and was given no value");
    assert!(after("'[a-z]*'", "'['").starts_with("Parameters.Word (line 2): AllowedPattern is not a pattern: "));
    assert!(after("MinValue: 1", "MinLength: 1").starts_with("Parameters.Count.MinLength (line 3): unknown field"));
    assert!(after("MinValue: 1", "MinValue: one").starts_with("Parameters.Count.MinValue (line 3): invalid type"));
    assert!(after("Type: Number", "Type: List<Number>").starts_with("Parameters.Count.Type (line 3): unknown variant"));
}

#[test]
fn a_broken_route_or_function_is_named() {
    let route = "{ApiId: !Ref Api, Method: get, Path: '/list/{name+}'}";
    let place = "Resources.One.Properties.Events.List.Properties";
    for (wrong, problem) in [
        ("{Method: get, Path: /list}", " (line 25): missing field `ApiId`"),
        ("{ApiId: !Ref Api, Path: /list}", " (line 25): missing field `Method`"),
        ("{ApiId: !Ref Table, Method: get, Path: /list}", " (line 25): Table is not the template's HTTP API"),
        ("{ApiId: !Ref Api, Method: any, Path: /list}", " (line 25): the method ANY is not supported"),
        ("{ApiId: !Ref Api, Method: get, Path: list}", " (line 25): list is not a path of an HTTP API"),
        ("{ApiId: !Ref Api, Method: get, Path: '/{a+}/list'}", " (line 25): /{a+}/list is not a path of an HTTP API"),
        ("{ApiId: !Ref Api, Method: get, Path: '/a{b}'}", " (line 25): /a{b} is not a path of an HTTP API"),
        ("{ApiId: !Ref Api, Method: get, Path: '/{}'}", " (line 25): /{} is not a path of an HTTP API"),
        ("{ApiId: !Ref Api, Method: get, Path: '/{+}'}", " (line 25): /{+} is not a path of an HTTP API"),
    ] {
        assert_eq!(after(route, wrong), format!("{place}{problem}"));
    }
    let unread = after(route, "{ApiId: !Ref Api, Method: get, Path: /list, TimeoutInMillis: 9}");
    assert!(unread.starts_with(&format!("{place}.TimeoutInMillis (line 25): unknown field")), "{unread}");
    let again = format!("Nightly:\n          Type: HttpApi\n          Properties: {route}\n");
    assert!(after("Nightly:\n          Type: Schedule\n", &again).ends_with("GET /list/{name+} is a route already"));
    let binary = "{BuildProperties: {Binary: two}}";
    let place = "Resources.Two.Metadata.BuildProperties.Binary (line 30): ";
    assert_eq!(after(binary, "{BuildProperties: {}}"), format!("{place}is missing"));
    let twice = after(binary, "{BuildProperties: {Binary: one}}");
    assert_eq!(twice, format!("{place}is also the binary of Resources.One"));
    assert!(after("Action:", "Actions:").starts_with("Resources.One.Properties.Policies[0].Statement[0]"));
}

#[test]
fn broken_cors_settings_are_named() {
    let sound = "{AllowOrigins: ['*'], AllowMethods: [GET], MaxAge: 60}";
    for (wrong, problem) in [
        ("true", " (line 15): invalid type: boolean `true`"),
        ("{AllowOrigin: ['*']}", ".AllowOrigin (line 15): unknown field"),
        ("{AllowOrigins: '*', AllowMethods: [GET]}", ".AllowOrigins (line 15): invalid type: string"),
        ("{AllowOrigins: ['*']}", " (line 15): missing field `AllowMethods`"),
        ("{AllowOrigins: ['*'], AllowMethods: [GET], AllowCredentials: true}", " (line 15): allows credentials for"),
        ("{AllowOrigins: [a], AllowMethods: [GET], MaxAge: -1}", ".MaxAge (line 15): invalid value"),
    ] {
        let (said, wanted) = (after(sound, wrong), format!("Resources.Api.Properties.CorsConfiguration{problem}"));
        assert!(said.starts_with(&wanted), "{wrong}: {said}");
    }
    let without = SOUND.replace("      CorsConfiguration: ", "      Other: ");
    assert_eq!(Template::parse(&without, &given(&[])).unwrap().cors().unwrap(), None);
}

#[test]
fn a_broken_table_is_named() {
    let keys = "[{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]";
    for (wrong, problem) in [
        ("[{AttributeName: sk, KeyType: RANGE}, {AttributeName: pk, KeyType: HASH}]", "one HASH and at most one RANGE"),
        ("[]", "has to be one HASH and at most one RANGE after it"),
        ("[{AttributeName: pk, KeyType: hash}]", "has to be one HASH and at most one RANGE after it"),
        ("[{AttributeName: pk, KeyType: HASH}]", "has to have the attributes of AttributeDefinitions"),
        ("[{AttributeName: id, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]", "has to have the attributes of"),
    ] {
        let said = after(keys, wrong);
        assert!(
            said.starts_with("Resources.Table.Properties.KeySchema (line 35): ") && said.contains(problem),
            "{said}"
        );
    }
    let place = "Resources.Table.Properties";
    let kind = after("AttributeType: N", "AttributeType: T");
    assert_eq!(kind, format!("{place}.AttributeDefinitions (line 34): the type of sk is T, not S, N or B"));
    let enabled = after("Enabled: true", "Enabled: maybe");
    assert!(
        enabled.starts_with(&format!("{place}.TimeToLiveSpecification.Enabled (line 36): invalid type")),
        "{enabled}"
    );
    let index = after("TimeToLiveSpecification", "GlobalSecondaryIndexes");
    assert!(index.starts_with(&format!("{place}.GlobalSecondaryIndexes (line 36): unknown field")), "{index}");
}

#[test]
fn one_api_and_one_table_are_expected() {
    for kind in ["AWS::Serverless::HttpApi", "AWS::DynamoDB::Table"] {
        let twice = complaint(&format!("{SOUND}  Zwei:\n    Type: {kind}\n"), &[]);
        assert_eq!(twice, format!("Resources.Zwei (line 37): is a second {kind}; one is expected"));
        assert_eq!(complaint(&SOUND.replace(kind, "AWS::Other"), &[]), format!("the template has no {kind}"));
    }
}
