//! Parameters, conditions and functions, seen through the environment of a function.

use std::collections::BTreeMap;

use template::{Template, TemplateError};

/// A template with one function, whose variable X is the given expression.
fn with_expression(sections: &str, expression: &str) -> String {
    format!(
        "
{sections}
Resources:
  Table:
    Type: AWS::DynamoDB::Table
  Function:
    Type: AWS::Serverless::Function
    Metadata: {{BuildProperties: {{Binary: one}}}}
    Properties:
      Environment:
        Variables:
          X: {expression}
"
    )
}

const SECTIONS: &str = "
Parameters:
  Word: {Type: String, Default: blue}
  Count: {Type: Number, Default: 3}
  Words: {Type: CommaDelimitedList, Default: 'red, green,blue'}
  Zone: {Type: 'AWS::Route53::HostedZone::Id', Default: ''}
Conditions:
  IsBlue: !Equals [!Ref Word, blue]
  IsRed: !Equals [!Ref Word, red]
  IsNeither: !And [!Not [!Condition IsBlue], !Not [{Condition: IsRed}]]
  IsEither: !Or [!Condition IsBlue, !Condition IsRed]
  IsThird: !Equals [!Select [2, !Ref Words], !Ref Word]
";

fn given(overrides: &[(&str, &str)]) -> BTreeMap<String, String> {
    overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn evaluate(expression: &str, overrides: &[(&str, &str)]) -> Result<Option<String>, TemplateError> {
    let text = with_expression(SECTIONS, expression);
    let variables = Template::parse(&text, &given(overrides))?.environment("one")?;
    Ok(variables.get("X").cloned())
}

#[test]
fn functions_of_cloudformation_amount_to_what_they_would_on_aws() {
    for (expression, wanted) in [
        ("plain", "plain"),
        ("5", "5"),
        ("true", "true"),
        ("'007'", "007"),
        ("!Ref Word", "blue"),
        ("{Ref: Count}", "3"),
        ("!Ref Zone", ""),
        ("!Ref Table", "Table"),
        ("!Ref AWS::Region", "us-east-1"),
        ("!GetAtt Table.Arn", "Table.Arn"),
        ("{'Fn::GetAtt': [Table, StreamArn]}", "Table.StreamArn"),
        ("!Join ['-', [a, !Ref Word, c]]", "a-blue-c"),
        ("!Join ['', !Ref Words]", "redgreenblue"),
        ("!Join [',', [a, !Ref AWS::NoValue, b]]", "a,b"),
        ("!Select [1, !Ref Words]", "green"),
        ("!Select [0, !Split ['/', 'a/b']]", "a"),
        ("!If [IsBlue, yes, no]", "yes"),
        ("!If [IsRed, 1, !If [IsEither, 2, 3]]", "2"),
        ("!If [IsNeither, yes, no]", "no"),
        ("!If [IsThird, yes, no]", "yes"),
        ("!Sub '${Word}-${Count}'", "blue-3"),
        ("!Sub 'arn:${AWS::Partition}:${Table.Arn}'", "arn:aws:Table.Arn"),
        ("!Sub '${!Word} $Word ${Word}'", "${Word} $Word blue"),
        ("!Sub ['${A}${Word}', {A: !Ref Count}]", "3blue"),
        ("!Sub '{{resolve:x:${Table}:y}}'", "{{resolve:x:Table:y}}"),
    ] {
        assert_eq!(evaluate(expression, &[]).unwrap().as_deref(), Some(wanted), "{expression}");
    }
}

#[test]
fn no_value_leaves_the_variable_out() {
    for expression in ["!Ref AWS::NoValue", "!If [IsRed, x, !Ref AWS::NoValue]"] {
        assert_eq!(evaluate(expression, &[]).unwrap(), None, "{expression}");
    }
}

#[test]
fn conditions_follow_the_given_parameters() {
    let expression = "!If [IsBlue, blue, !If [IsRed, red, neither]]";
    for word in ["blue", "red"] {
        assert_eq!(evaluate(expression, &[("Word", word)]).unwrap().as_deref(), Some(word));
    }
    assert_eq!(evaluate(expression, &[("Word", "pink")]).unwrap().as_deref(), Some("neither"));
}

#[test]
fn what_cannot_be_evaluated_is_named_with_its_line() {
    let line = with_expression(SECTIONS, "").lines().count();
    let place = format!("Function.Environment.Variables.X (line {line}) ");
    for (expression, problem) in [
        ("", "is empty"),
        ("[a, b]", "does not amount to plain text"),
        ("!Ref Words", "does not amount to plain text"),
        ("!Ref Wrod", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!GetAtt Tabel.Arn", "gets Tabel.Arn, which is no attribute of a resource of the template"),
        ("!Sub '${Wrod}'", "refers to Wrod, which is neither a parameter nor a resource"),
        ("!Sub '${Words}'", "puts Words, which is no plain text, into a text"),
        ("!Sub '${Word'", "opens ${ without closing it"),
        ("!If [IsPink, a, b]", "names the condition IsPink, which is not there"),
        ("!If [IsRed, a]", "uses Fn::If without exactly 3 arguments"),
        ("!Select [3, !Ref Words]", "selects item 3 of a list of 3, counted from 0"),
        ("!Select [x, !Ref Words]", "selects item x of a list of 3, counted from 0"),
        ("!Join [',', abc]", "does not amount to a list of plain texts"),
        ("!FindInMap [a, b, c]", "uses Fn::FindInMap, which is not evaluated outside AWS"),
        ("{'Fn::Nonsense': x}", "uses Fn::Nonsense, which is not evaluated outside AWS"),
    ] {
        let error = evaluate(expression, &[]).unwrap_err().to_string();
        assert_eq!(error, format!("{place}{problem}"), "{expression}");
    }
}

#[test]
fn a_resource_that_its_condition_forbids_is_not_there() {
    let text = "
Parameters: {Existing: {Type: String, Default: ''}}
Conditions: {MakesTable: !Equals [!Ref Existing, '']}
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Condition: MakesTable
    Properties:
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
";
    let table = Template::parse(text, &given(&[])).unwrap().table().unwrap();
    assert_eq!(table.logical_id, "Table");
    assert_eq!(table.ttl_attribute, None);
    let error = Template::parse(text, &given(&[("Existing", "mine")])).unwrap().table().unwrap_err();
    assert_eq!(error.to_string(), "the template has no table");
}

#[test]
fn own_variables_win_over_those_of_all_functions() {
    let text = "
Globals:
  Function:
    Environment: {Variables: {A: common, B: common, C: common}}
Resources:
  Function:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: one}}
    Properties:
      Environment: {Variables: {B: own, C: !Ref AWS::NoValue}}
";
    let variables = Template::parse(text, &given(&[])).unwrap().environment("one").unwrap();
    assert_eq!(variables, given(&[("A", "common"), ("B", "own")]));
}

const RULES: &str = "
Parameters:
  Needed: {Type: String}
  Digit: {Type: String, Default: '1', AllowedPattern: '[0-9]'}
  Share: {Type: Number, Default: '0.5', MinValue: 0.25, MaxValue: 1}
  Name: {Type: String, Default: abc, MinLength: 2, MaxLength: 4}
  Sizes: {Type: List<Number>, Default: '1,2', MaxValue: 9}
  Colour: {Type: String, Default: red, AllowedValues: [red, blue], ConstraintDescription: red or blue}
  Secret: {Type: String, Default: aaa, NoEcho: true, AllowedPattern: 'a+'}
Resources: {}
";

/// What is said about a value for one of the parameters above.
fn complaint(name: &str, value: &str) -> Option<String> {
    Template::parse(RULES, &given(&[("Needed", "x"), (name, value)])).err().map(|error| error.to_string())
}

#[test]
fn values_within_the_rules_of_a_parameter_are_taken() {
    for (name, value) in
        [("Digit", "7"), ("Share", "0.250"), ("Share", "1.0"), ("Name", "äöüß"), ("Sizes", "9, 9"), ("Colour", "blue")]
    {
        assert_eq!(complaint(name, value), None, "{name} {value}");
    }
}

#[test]
fn parameters_are_held_to_every_kind_of_rule() {
    for (name, value, problem) in [
        ("Digit", "77", "is \"77\", which is not of the allowed pattern"),
        ("Digit", "7\n", "is \"7\\n\", which is not of the allowed pattern"),
        ("Share", "0.2", "is \"0.2\", which is not at least 0.25"),
        ("Share", "1.01", "is \"1.01\", which is not at most 1"),
        ("Share", "half", "is \"half\", which is not a number"),
        ("Name", "a", "is \"a\", which is not at least 2 characters long"),
        ("Name", "abcde", "is \"abcde\", which is not at most 4 characters long"),
        ("Sizes", "1,10", "is \"10\", which is not at most 9"),
        ("Colour", "pink", "is \"pink\", which is not allowed: it must be red or blue"),
        ("Secret", "b", "has a value that is not of the allowed pattern"),
        ("Other", "1", "is none of the template's"),
    ] {
        let said = complaint(name, value);
        assert_eq!(said, Some(format!("parameter {name} {problem}")));
    }
}

#[test]
fn a_parameter_without_a_default_has_to_be_given() {
    let error = Template::parse(RULES, &given(&[])).unwrap_err();
    assert_eq!(error.to_string(), "parameter Needed has no default and was given no value");
}
