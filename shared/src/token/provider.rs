//! The cryptography of the JWT library: HMAC-SHA256 only, so that no other algorithm can be tried. The library's own
//! backends add RSA and elliptic curves to every function.

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result};
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use sha2::Sha256;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key: &EncodingKey| Ok(Box::new(Hs256::for_algorithm(*algorithm, key.as_bytes())?)),
    verifier_factory: |algorithm, key: &DecodingKey| {
        Ok(Box::new(Hs256::for_algorithm(*algorithm, key.try_get_as_bytes()?)?))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs this provider for the process; the first call counts.
pub(super) fn install() {
    // An error means that an earlier call has installed it.
    let _ = PROVIDER.install_default();
}

/// HMAC-SHA256 with one key.
#[derive(Clone)]
pub(super) struct Hs256(Hmac<Sha256>);

impl Hs256 {
    pub(super) fn new(secret: &[u8]) -> Result<Self> {
        Hmac::new_from_slice(secret).map(Self).map_err(|_| Error::from(ErrorKind::InvalidKeyFormat))
    }

    fn for_algorithm(algorithm: Algorithm, secret: &[u8]) -> Result<Self> {
        if algorithm == Algorithm::HS256 { Self::new(secret) } else { Err(ErrorKind::InvalidAlgorithm.into()) }
    }

    /// The 32 bytes of the code over `message`.
    pub(super) fn digest(&self, message: &[u8]) -> Vec<u8> {
        self.0.clone().chain_update(message).finalize().into_bytes().to_vec()
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, SignatureError> {
        Ok(self.digest(message))
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), SignatureError> {
        self.0.clone().chain_update(message).verify_slice(signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}
