//! The places in a store's files that name pictures.

use super::{CategoryFile, StoreFiles};
use crate::fault::Fault;
use std::path::Path;

/// A picture's address in a file.
#[derive(Debug)]
pub struct NamedImage<'a> {
    /// File, line and field; there is no problem.
    pub place: Fault,
    pub url: &'a mut String,
}

impl StoreFiles {
    /// Every address of a picture in these files.
    pub fn named_images(&mut self) -> Vec<NamedImage<'_>> {
        let mut found = Vec::new();
        let shop = self.store.content.shop.iter_mut();
        let shop = shop.flat_map(|shop| [(&mut shop.logo, "shop.logo"), (&mut shop.hero.image, "shop.hero.image")]);
        for (image, field) in shop {
            let (file, line) = (self.store.path.clone(), image.line);
            let place = Fault { file, line, field: field.to_owned(), problem: String::new() };
            found.push(NamedImage { place, url: &mut image.value });
        }
        for source in &mut self.categories {
            of_category(&source.path, "", &mut source.content, &mut found);
        }
        found
    }
}

fn of_category<'a>(file: &Path, prefix: &str, category: &'a mut CategoryFile, found: &mut Vec<NamedImage<'a>>) {
    let place = |line, field| Fault { file: file.to_path_buf(), line, field, problem: String::new() };
    if let Some(url) = &mut category.image {
        found.push(NamedImage { place: place(category.id.line, format!("{prefix}image")), url });
    }
    for item in &mut category.items {
        let place = place(item.id.line, format!("{prefix}items[{}].image", *item.id));
        found.push(NamedImage { place, url: &mut item.image });
    }
    for inner in &mut category.subcategories {
        of_category(file, &format!("subcategories[{}].", *inner.id), inner, found);
    }
}
