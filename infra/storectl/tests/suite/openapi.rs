//! `storectl openapi`.

use std::process::Command;

#[test]
fn openapi_prints_the_committed_document_and_needs_no_table() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_storectl")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json")).unwrap();
    assert_eq!(run(&["openapi"]), committed);
    let one_line = run(&["openapi", "--json"]);
    assert_eq!(one_line.lines().count(), 1);
    let [document, same]: [serde_json::Value; 2] =
        [&committed, &one_line].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(document, same);
    assert_eq!(document["openapi"], "3.1.0");
}
