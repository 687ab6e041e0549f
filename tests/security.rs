//! The rights in `.github/SECURITY.md` are those of template.yaml.

use serde_json::Value;
use tests::{repository, template};

/// Function, statement, actions, keys, and whether only in transactions.
type Right = (String, String, Vec<String>, Vec<String>, bool);

/// The statements of every function of the template.
fn of_template() -> Vec<Right> {
    let words = |list: &Value| {
        let words = list.as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        words.map(|word| word.trim_start_matches("dynamodb:").to_owned()).collect()
    };
    let right = |function: &String, statement: &Value| {
        let condition = &statement["Condition"];
        let keys = words(&condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
        let is_transaction = !condition["ForAnyValue:StringEquals"]["dynamodb:EnclosingOperation"].is_null();
        let name = statement["Sid"].as_str().unwrap().to_owned();
        (function.clone(), name, words(&statement["Action"]), keys, is_transaction)
    };
    let functions = template().functions().unwrap();
    let statements = |name: &String| -> Vec<Right> {
        template().statements(name).unwrap().map(|statement| right(name, statement)).collect()
    };
    functions.iter().flat_map(statements).collect()
}

/// The rows of the page's table.
fn of_page(page: &str) -> Vec<Right> {
    let table = page.split("<!-- rights -->").nth(1).unwrap().split("<!-- /rights -->").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let words = |cell: &str| cell.split(',').map(|word| word.trim().trim_matches('`').to_owned()).collect();
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0].to_owned(), cells[1].to_owned(), words(cells[2]), words(cells[3]), cells[4] == "yes")
    })
    .collect()
}

#[test]
fn the_page_lists_the_rights_of_the_template() {
    let page = std::fs::read_to_string(repository().join(".github/SECURITY.md")).unwrap();
    let (mut of_page, mut of_template) = (of_page(&page), of_template());
    of_page.sort();
    of_template.sort();
    assert_eq!(of_page, of_template);
}
