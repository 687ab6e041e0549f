//! Addresses on one machine, for the server that runs a store there.

use super::StoreConfig;

/// Addresses that replace those of the published store when it is read, so that nothing published is changed. Deployed
/// functions have none. An empty address replaces nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalAddresses {
    pub chat_platform: String,
    pub chat_callback: String,
    pub storefront: String,
    /// Where the pictures and the shop are.
    pub shop: String,
    /// In place of `assets_url`, which only a store has that names one.
    pub assets: String,
}

impl LocalAddresses {
    /// Replaces the addresses of a published store.
    pub fn replace_in(&self, config: &mut StoreConfig) {
        if !self.chat_platform.is_empty() {
            let endpoint = |path| format!("{}/{path}", self.chat_platform);
            config.chat.authorize_url = endpoint("authorize");
            config.chat.token_url = endpoint("token");
            config.chat.user_url = endpoint("user");
        }
        let is_elsewhere = !config.assets_url.is_empty();
        for (own, published, is_needed) in [
            (&self.chat_callback, &mut config.chat.redirect_url, true),
            (&self.storefront, &mut config.storefront_url, true),
            (&self.shop, &mut config.shop_url, true),
            (&self.assets, &mut config.assets_url, is_elsewhere),
        ] {
            if !own.is_empty() && is_needed {
                published.clone_from(own);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_address_replaces_nothing() {
        let published = StoreConfig { storefront_url: "https://shop.example".to_owned(), ..StoreConfig::default() };
        let mut config = published.clone();
        LocalAddresses::default().replace_in(&mut config);
        assert_eq!(config, published);
        let here = LocalAddresses { chat_platform: "http://127.0.0.1:1".to_owned(), ..LocalAddresses::default() };
        here.replace_in(&mut config);
        assert_eq!(config.chat.token_url, "http://127.0.0.1:1/token");
        assert_eq!(config.storefront_url, published.storefront_url);
    }

    #[test]
    fn pictures_are_paths_unless_the_store_has_them_elsewhere() {
        let shop = "http://127.0.0.1:4011".to_owned();
        let here = LocalAddresses { shop: shop.clone(), assets: shop, ..LocalAddresses::default() };
        let mut config = StoreConfig::default();
        here.replace_in(&mut config);
        assert_eq!(config.item_picture("/img/a.svg"), "/img/a.svg");
        config.assets_url = "https://cdn.example".to_owned();
        here.replace_in(&mut config);
        assert_eq!(config.item_picture("/img/a.svg"), "http://127.0.0.1:4011/img/a.svg");
    }
}
