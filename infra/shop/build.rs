//! Lists the files of `assets`, with a hash over all of them.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=assets");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut files = Vec::new();
    collect(&root, "", &mut files)?;
    files.sort();
    let (mut hash, mut list, mut texts) = (Sha256::new(), String::new(), String::new());
    for (name, path) in files {
        let bytes = fs::read(&path)?;
        // Lengths keep two files apart.
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(&name);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(&bytes);
        let path = path.display().to_string();
        writeln!(list, "({name:?}, include_bytes!({path:?})),").map_err(io::Error::other)?;
        if let Some(language) = name.strip_prefix("texts/").and_then(|name| name.strip_suffix(".js")) {
            writeln!(texts, "({language:?}, include_str!({path:?})),").map_err(io::Error::other)?;
        }
    }
    let hash = hex::encode(hash.finalize());
    let code = format!(
        "const HASH: &str = {:?};\nconst FILES: &[(&str, &[u8])] = &[\n{list}];\nconst LANGUAGES: &[(&str, &str)] = &[\n{texts}];\n",
        &hash[..16]
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("assets.rs"), code)
}

/// Adds the files below a folder, with their names relative to the root. Files that begin with a dot are an editor's.
fn collect(folder: &Path, above: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else if !entry.file_name().to_string_lossy().starts_with('.') {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
