//! Templates that are read, and those that are refused.

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
