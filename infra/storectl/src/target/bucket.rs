//! The bucket of a deployed shop.

use crate::error::{Failure, of_service};
use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub struct Bucket {
    client: Client,
    name: String,
    /// The address of its shop, without a slash at the end.
    pub shop_url: String,
}

impl Bucket {
    /// A bucket of the account that a configuration names, and the address of its shop.
    pub fn new(config: &SdkConfig, name: impl Into<String>, shop_url: impl Into<String>) -> Self {
        // Servers other than AWS's have no host name for each bucket.
        let by_path = config.endpoint_url().is_some();
        let client = Client::from_conf(Builder::from(config).force_path_style(by_path).build());
        Self { client, name: name.into(), shop_url: shop_url.into() }
    }

    /// The keys that begin like this.
    pub async fn keys(&self, prefix: &str) -> Result<BTreeSet<String>, Failure> {
        let mut found = BTreeSet::new();
        let mut pages = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| of_service("S3", &error))?;
            found.extend(page.contents().iter().filter_map(|object| object.key().map(str::to_owned)));
        }
        Ok(found)
    }

    pub async fn get(&self, key: &str) -> Result<Vec<u8>, Failure> {
        let object = self.client.get_object().bucket(&self.name).key(key).send().await;
        let body = object.map_err(|error| of_service("S3", &error))?.body.collect().await;
        Ok(body.map_err(|error| of_service("S3", &error))?.to_vec())
    }

    pub async fn put(&self, key: &str, bytes: Vec<u8>, media_type: &str, cached: &str) -> Result<(), Failure> {
        let put = self.client.put_object().bucket(&self.name).key(key).body(bytes.into());
        let put = put.content_type(media_type).cache_control(cached).send().await;
        put.map(drop).map_err(|error| of_service("S3", &error))
    }

    pub async fn delete(&self, key: &str) -> Result<(), Failure> {
        let deleted = self.client.delete_object().bucket(&self.name).key(key).send().await;
        deleted.map(drop).map_err(|error| of_service("S3", &error))
    }
}
