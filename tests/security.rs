//! The rights in `.github/SECURITY.md` are those of template.yaml.

use tests::repository;

/// Function, statement, actions, keys, and whether only in transactions.
type Right = (String, String, Vec<String>, Vec<String>, bool);

/// The list in the first brackets after a word.
fn list(text: &str, after: &str) -> Vec<String> {
    let rest = text.split_once(after).unwrap().1;
    let inside = rest.split_once('[').unwrap().1.split_once(']').unwrap().0;
    inside.split(',').map(|word| word.trim().trim_matches('"').trim_start_matches("dynamodb:").to_owned()).collect()
}

/// The statements of every function of the template.
fn of_template(template: &str) -> Vec<Right> {
    let mut rights = Vec::new();
    let mut function = String::new();
    for block in template.split("\n  ").map(|block| block.split_once("- Sid: ").map_or((block, ""), |both| both)) {
        let (before, statement) = block;
        if let Some(name) = before.lines().next().and_then(|line| line.strip_suffix("Function:"))
            && !name.starts_with(' ')
        {
            function = name.to_lowercase();
        }
        if !statement.is_empty() {
            rights.push((function.clone(), statement.trim().to_owned(), Vec::new(), Vec::new(), false));
        }
    }
    for right in &mut rights {
        let own = template.split_once(&format!("- Sid: {}\n", right.1)).unwrap().1;
        let own = own.split("- Sid: ").next().unwrap().split("      Events:").next().unwrap();
        (right.2, right.3) = (list(own, "Action:"), list(own, "dynamodb:LeadingKeys:"));
        right.4 = own.contains("dynamodb:EnclosingOperation: [TransactWriteItems]");
    }
    rights
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
    let read = |path| std::fs::read_to_string(repository().join(path)).unwrap();
    let template = of_template(&read("template.yaml"));
    assert!(template.len() >= 13, "{template:?}");
    assert_eq!(of_page(&read(".github/SECURITY.md")), template);
}

#[test]
fn a_statement_is_read_with_its_function() {
    let template = "\nResources:\n  CartFunction:\n    Policies:\n          Statement:\n            - Sid: Read\n\
        \x20             Action: [dynamodb:GetItem, dynamodb:Query]\n              Condition:\n\
        \x20                 dynamodb:LeadingKeys:\n                    [STORE, \"RATE#code#*\"]\n      Events:\n";
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let right = ("cart".to_owned(), "Read".to_owned(), words(&["GetItem", "Query"]), words(&["STORE", "RATE#code#*"]));
    assert_eq!(of_template(template), [(right.0, right.1, right.2, right.3, false)]);
}
