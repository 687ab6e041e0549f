//! A broken template gives one sentence that names the place.

use std::collections::BTreeMap;

use template::{Template, TemplateError};

/// Asks everything that the local server asks, and returns what it would print.
fn complaint(text: &str) -> String {
    let ask = || -> Result<(), TemplateError> {
        let template = Template::parse(text, &BTreeMap::new())?;
        template.routes()?;
        template.table()?;
        template.cors()?;
        for function in template.functions()? {
            template.environment(&function)?;
        }
        Ok(())
    };
    match ask() {
        Ok(()) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

const SOUND: &str = "Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: {AllowOrigins: ['*'], AllowMethods: [GET], MaxAge: 60}
  One:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: one}}
    Properties:
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

/// What is said about the sound template after one replacement.
fn after(wrong: &str, right: &str) -> String {
    assert!(SOUND.contains(right), "{right:?} is not in the sound template");
    complaint(&SOUND.replacen(right, wrong, 1))
}

#[test]
fn a_sound_template_is_not_complained_about() {
    assert_eq!(complaint(SOUND), "nothing");
}

#[test]
fn text_that_is_no_yaml_is_refused_with_line_and_column() {
    for (text, beginning) in [
        ("", "the template is no valid YAML at line 1, column 1: it is empty"),
        ("a: [1, 2", "the template is no valid YAML at line "),
        ("a: b: c", "the template is no valid YAML at line 1, column 5: "),
        ("a: 1\n b: 2\n", "the template is no valid YAML at line 2, "),
        ("a: 'x\n", "the template is no valid YAML at line "),
        ("a: 1\nb: 2\na: 3\n", "the template is no valid YAML at line 3, column 1: "),
        ("a: !Reff b", "the template is no valid YAML at line 1, column 1: !Reff is no function of CloudFormation"),
        ("a: *b", "the template is no valid YAML at line 1, "),
        ("a: 1\n---\nb: 2", "the template is no valid YAML at line 3, column 1: a second document begins here"),
        ("[a]: 1", "the template is no valid YAML at line 1, column 1: a key has to be plain text"),
        ("null: 1", "the template is no valid YAML at line 1, column 1: a key has to be plain text"),
    ] {
        let said = complaint(text);
        assert!(said.starts_with(beginning), "{text:?}: {said}");
    }
}

#[test]
fn text_that_is_no_template_is_refused() {
    for (text, wanted) in [
        ("just words", "Resources (line 1) has no Resources"),
        ("Transform: x", "Resources (line 1) has no Resources"),
        ("Resources: [a]", "Resources (line 1) is no mapping"),
        ("Resources:\n  A: b", "A (line 2) has no Type"),
        ("Resources: {}\nParameters: x", "Parameters (line 2) is no mapping"),
        ("Resources: {}\nParameters:\n  A: {Default: 1}", "Parameters.A (line 3) has no Type"),
        (
            "Resources: {}\nParameters:\n  A: {Type: String, Default: b, AllowedPattern: '['}",
            "Parameters.A (line 3) has an AllowedPattern that is no pattern: ",
        ),
        (
            "Resources: {}\nParameters:\n  A: {Type: Number, Default: 1, MinValue: one}",
            "Parameters.A (line 3) has a MinValue that is no number",
        ),
        (
            "Resources: {}\nParameters:\n  A: {Type: 'AWS::SSM::Parameter::Value<String>', Default: b}",
            "parameter A is of type AWS::SSM::Parameter::Value<String>, which only AWS can resolve",
        ),
        (
            "Resources: {}\nConditions:\n  A: !Condition B\n  B: !Not [!Condition A]",
            "Conditions.A (line 4) depends on itself through A",
        ),
        (
            "Resources: {}\nConditions:\n  A: !Equals [1]",
            "Conditions.A (line 3) uses Fn::Equals without exactly 2 arguments",
        ),
        ("Resources: {}\nConditions:\n  A: true", "Conditions.A (line 3) is no condition"),
        (
            "Resources: {}\nConditions:\n  A: !Or [!Equals [1, 1], !Condition B]",
            "Conditions.A (line 3) names the condition B, which is not there",
        ),
        ("Resources: {}\nConditions:\n  A: !Ref B", "Conditions.A (line 3) uses Ref, which makes no condition"),
    ] {
        let said = complaint(text);
        assert!(said.starts_with(wanted), "{text:?}: {said}");
    }
}

#[test]
fn a_broken_route_is_named_by_function_and_event() {
    let route = "{ApiId: !Ref Api, Method: get, Path: '/list/{name+}'}";
    let place = "One.Events.List (line 13) ";
    for (wrong, problem) in [
        ("{Method: get, Path: /list}", "has no ApiId"),
        ("{ApiId: !Ref Api, Path: /list}", "has no Method"),
        ("{ApiId: !Ref Api, Method: get}", "has no Path"),
        ("{ApiId: !Ref Table, Method: get, Path: /list}", "belongs to Table, which is not the template's HTTP API"),
        ("{ApiId: !Ref Api, Method: any, Path: /list}", "has the method ANY, which no route may have"),
        ("{ApiId: !Ref Api, Method: get, Path: list}", "has the path list, which does not begin with a slash"),
        (
            "{ApiId: !Ref Api, Method: get, Path: '/{a+}/list'}",
            "has the path /{a+}/list, which goes on after a greedy variable",
        ),
        ("{ApiId: !Ref Api, Method: get, Path: '/a{b}'}", "has the path /a{b}, which has braces where no variable is"),
        ("{ApiId: !Ref Api, Method: get, Path: '/{}'}", "has the path /{}, which has braces where no variable is"),
        ("{ApiId: !Ref Api, Method: get, Path: '/{+}'}", "has the path /{+}, which has braces where no variable is"),
    ] {
        assert_eq!(after(wrong, route), format!("{place}{problem}"));
    }
    let twice = SOUND.replace(
        "        Nightly:\n          Type: Schedule\n",
        &format!("        Again:\n          Type: HttpApi\n          Properties: {route}\n"),
    );
    assert_eq!(complaint(&twice), "One.Events.Again (line 15) takes GET /list/{name+} a second time");
}

#[test]
fn a_function_without_a_binary_of_its_own_is_named() {
    assert_eq!(
        after("{BuildProperties: {}}", "{BuildProperties: {Binary: one}}"),
        "One.Metadata.BuildProperties (line 7) has no Binary, so that the function's package is not known"
    );
    assert_eq!(
        after("{Binary: one}", "{Binary: two}"),
        "Two.Metadata.BuildProperties (line 17) names the binary one, as One does"
    );
    let template = Template::parse(SOUND, &BTreeMap::new()).unwrap();
    assert_eq!(
        template.environment("three").unwrap_err().to_string(),
        "the template has no function that is built from three"
    );
}

#[test]
fn broken_cors_settings_are_named() {
    let sound = "{AllowOrigins: ['*'], AllowMethods: [GET], MaxAge: 60}";
    for (wrong, problem) in [
        ("[a]", "is no mapping"),
        ("!Ref Api", "is no mapping"),
        ("{AllowOrigin: ['*']}", "has the unknown key AllowOrigin"),
        ("{AllowOrigins: '*'}", "does not amount to a list of plain texts"),
        ("{AllowOrigins: ['*'], AllowCredentials: true}", "allows credentials for the origin *, which browsers refuse"),
        (
            "{AllowOrigins: [a], AllowCredentials: !Ref Api}",
            "has an AllowCredentials that is not literally true or false, which SAM drops",
        ),
        ("{MaxAge: day}", "has a MaxAge that is no number of seconds"),
        ("{MaxAge: -1}", "has a MaxAge that is no number of seconds"),
    ] {
        assert_eq!(after(wrong, sound), format!("Api.CorsConfiguration (line 5) {problem}"));
    }
    let common = format!("Globals: {{HttpApi: {{CorsConfiguration: true}}}}\n{SOUND}");
    assert_eq!(
        complaint(&common),
        "Globals.HttpApi.CorsConfiguration (line 1) is not read: CORS belongs to the API itself"
    );
}

#[test]
fn cors_may_be_switched_on_and_off_as_a_whole() {
    let sound = "{AllowOrigins: ['*'], AllowMethods: [GET], MaxAge: 60}";
    let cors = |text: &str| {
        let text = SOUND.replace(sound, text);
        Template::parse(&text, &BTreeMap::new()).unwrap().cors().unwrap()
    };
    assert_eq!(cors("false"), None);
    assert_eq!(cors("!Ref AWS::NoValue"), None);
    assert_eq!(cors("true").unwrap().allow_origins, ["*"]);
}

#[test]
fn a_broken_table_is_named() {
    let keys = "[{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]";
    let place = "Table.KeySchema (line 23) ";
    for (wrong, problem) in [
        (
            "[{AttributeName: sk, KeyType: RANGE}, {AttributeName: pk, KeyType: HASH}]",
            "is not one HASH with at most one RANGE after it",
        ),
        ("[]", "is not one HASH with at most one RANGE after it"),
        ("[{AttributeName: pk, KeyType: HASH}]", "does not use every attribute that AttributeDefinitions has"),
        ("[{AttributeName: id, KeyType: HASH}]", "names id, which AttributeDefinitions does not have"),
        ("[{AttributeName: pk, KeyType: hash}]", "makes pk a hash, which is not HASH or RANGE"),
    ] {
        assert_eq!(after(wrong, keys), format!("{place}{problem}"));
    }
    assert_eq!(
        after("AttributeType: T", "AttributeType: S"),
        "Table.AttributeDefinitions (line 22) gives pk the type T, which is not S, N or B"
    );
    assert_eq!(
        after("Enabled: maybe", "Enabled: true"),
        "Table.TimeToLiveSpecification (line 24) is neither enabled nor disabled"
    );
    assert_eq!(
        after("GlobalSecondaryIndexes", "TimeToLiveSpecification"),
        "Table.GlobalSecondaryIndexes (line 24) is not expected: this table has no index"
    );
}

#[test]
fn one_api_and_one_table_are_expected() {
    for (kind, id) in [
        ("AWS::Serverless::HttpApi", "is a second HTTP API, and one is expected"),
        ("AWS::DynamoDB::Table", "is a second table, and one is expected"),
    ] {
        let text = format!("{SOUND}  Second:\n    Type: {kind}\n");
        assert_eq!(complaint(&text), format!("Second (line 26) {id}"));
    }
    let without = |kind: &str| complaint(&SOUND.replace(kind, "AWS::Other"));
    assert_eq!(without("AWS::DynamoDB::Table"), "the template has no table");
    assert_eq!(
        without("AWS::Serverless::HttpApi"),
        "One.Events.List (line 13) belongs to Api, which is not the template's HTTP API"
    );
}
