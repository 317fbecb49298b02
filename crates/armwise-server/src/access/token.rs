//! Tokens: 256 random bits that are shown once. Only their SHA-256 is kept, which is enough for bits that nobody can guess.
//!
//! A comparison takes the same time whatever is compared, and every token of the file is compared.

use super::Scope;
use crate::{name::Name, problem::Fault};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fmt::Write, time::SystemTime};
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

/// How every token begins, so that one that lies about is known for what it is.
const PREFIX: &str = "armwise_";

/// A token as it is kept: all but the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its name, by which it is listed and revoked.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The campaigns that it is for; left out, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaigns: Option<Vec<String>>,
    /// From when on it is refused, in seconds since 1970; left out, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// SHA-256 of the token, in hexadecimal digits.
    pub sha256: String,
}

impl Token {
    /// A new token, and what its holder must send, which is known to nobody afterwards.
    ///
    /// # Errors
    /// [`Fault`] for a name or a campaign that cannot be one, or without a scope; or if the system has no randomness.
    pub fn new(
        name: &str,
        scopes: &[Scope],
        campaigns: Option<&[String]>,
        expires: Option<u64>,
    ) -> Result<(Self, String), Fault> {
        Name::new(name).map_err(|fault| fault.at("name"))?;
        for campaign in campaigns.unwrap_or_default() {
            Name::new(campaign).map_err(|fault| fault.at("campaigns"))?;
        }
        let mut scopes = scopes.to_vec();
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() || campaigns.is_some_and(<[String]>::is_empty) {
            return Err(
                Fault::invalid("a token needs at least one scope, and a list of campaigns at least one").at("scopes")
            );
        }
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(|error| Fault::internal(format!("no randomness: {error}")))?;
        let secret = format!("{PREFIX}{}", hexadecimal(&bits));
        let sha256 = hexadecimal(&digest(&secret));
        Ok((
            Self { name: name.to_owned(), scopes, campaigns: campaigns.map(<[String]>::to_vec), expires, sha256 },
            secret,
        ))
    }

    /// Whether this is the token that was sent.
    pub(super) fn is(&self, sent: &[u8; 64]) -> bool {
        self.sha256.as_bytes().ct_eq(sent).into()
    }

    /// What may be shown of it: everything but its digest.
    #[must_use]
    pub fn shown(&self) -> serde_json::Value {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        shown.as_object_mut().map(|fields| fields.remove("sha256"));
        shown
    }

    /// Whether its time is over.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| now() >= expires)
    }

    /// Whether it may do this with a campaign; without one, with all of them.
    #[must_use]
    pub fn may(&self, needed: Scope, campaign: Option<&str>) -> bool {
        let here = match (&self.campaigns, campaign) {
            (None, _) => true,
            (Some(own), Some(campaign)) => own.iter().any(|own| own == campaign),
            (Some(_), None) => false,
        };
        here && self.scopes.iter().any(|scope| scope.covers(needed))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What is compared with the tokens of the file.
pub(super) fn fingerprint(sent: &str) -> [u8; 64] {
    let mut digits = [0; 64];
    digits.copy_from_slice(hexadecimal(&digest(sent)).as_bytes());
    digits
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_digest_alone() {
        let (token, secret) = Token::new("shop", &[Scope::Decide], None, None).unwrap();
        assert!(secret.starts_with(PREFIX) && secret.len() == PREFIX.len() + 64);
        assert!(token.is(&fingerprint(&secret)) && !token.is(&fingerprint(&secret[..secret.len() - 1])));
        assert!(!serde_json::to_string(&token).unwrap().contains(&secret[PREFIX.len()..]));
        assert_ne!(secret, Token::new("shop", &[Scope::Decide], None, None).unwrap().1);
    }

    #[test]
    fn a_token_may_what_its_scopes_say_where_its_campaigns_say() {
        let own = ["a".to_owned()];
        let (token, _) = Token::new("x", &[Scope::Reward], Some(&own), None).unwrap();
        assert!(token.may(Scope::Reward, Some("a")));
        assert!(!token.may(Scope::Reward, Some("b")) && !token.may(Scope::Reward, None));
        assert!(!token.may(Scope::Read, Some("a")) && !token.may(Scope::Admin, Some("a")));
        let (all, _) = Token::new("x", &[Scope::Admin], None, Some(1)).unwrap();
        assert!(all.is_expired() && Scope::ALL.iter().all(|(scope, _)| all.may(*scope, Some("b"))));
        for (scopes, campaigns) in [(&[][..], None), (&[Scope::Read][..], Some(&[][..]))] {
            assert!(Token::new("x", scopes, campaigns, None).is_err());
        }
        assert!(Token::new("../x", &[Scope::Read], None, None).is_err());
    }
}
