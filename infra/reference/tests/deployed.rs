//! Deployed functions have no schemas: they are for the documentation only.

use std::process::Command;

#[test]
fn no_function_depends_on_schemars() {
    for function in ["auth", "cart", "catalog", "content", "delivery", "payments"] {
        let tree = ["tree", "--locked", "--offline", "--package", function, "--edges", "normal", "--prefix", "none"];
        let output = Command::new(env!("CARGO")).args(tree).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let crates = String::from_utf8_lossy(&output.stdout);
        assert!(crates.contains("lambda_http "), "{function}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!crates.contains("schemars"), "{function} depends on schemars");
    }
}
