//! What each route needs, read from the OpenAPI document.

use super::Scope;
use axum::http::Method;
use serde_json::Value;
use std::collections::HashMap;

/// The name of the security scheme in the document.
pub const SCHEME: &str = "token";

/// Beside a scope in the document: the token must be for all campaigns.
pub const ALL_CAMPAIGNS: &str = "all-campaigns";

/// What a route needs of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the route tells nothing of any campaign.
    Nothing,
    /// This scope, for the campaign in the path; without one in the path, for some campaign.
    Scope(Scope),
    /// This scope, for all campaigns.
    Everywhere(Scope),
}

/// What each route needs, by method and path.
#[derive(Debug, Default)]
pub struct Rights(HashMap<(Method, String), Need>);

impl Rights {
    /// Those of an OpenAPI document.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let mut rights = HashMap::new();
        let paths = document.get("paths").and_then(Value::as_object);
        for (path, operations) in paths.into_iter().flatten() {
            for (method, operation) in operations.as_object().into_iter().flatten() {
                if let Ok(method) = Method::from_bytes(method.to_ascii_uppercase().as_bytes()) {
                    rights.insert((method, path.clone()), need(operation));
                }
            }
        }
        Self(rights)
    }

    /// What this one needs; none for a route that the document does not have.
    #[must_use]
    pub fn of_route(&self, method: &Method, path: &str) -> Option<Need> {
        let method = if method == Method::HEAD { Method::GET } else { method.clone() };
        self.0.get(&(method, path.to_owned())).copied()
    }
}

/// What an operation needs; one that says nothing of it needs everything.
fn need(operation: &Value) -> Need {
    const MOST: Need = Need::Everywhere(Scope::Admin);
    match operation.get("security").and_then(Value::as_array) {
        None => MOST,
        Some(list)
            if list.is_empty() || list.iter().all(|one| one.as_object().is_some_and(serde_json::Map::is_empty)) =>
        {
            Need::Nothing
        }
        Some(list) => {
            let words: Vec<&str> = list
                .iter()
                .filter_map(|one| one.get(SCHEME).and_then(Value::as_array))
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let Some(scope) = words.iter().find_map(|word| word.parse().ok()) else { return MOST };
            if words.contains(&ALL_CAMPAIGNS) { Need::Everywhere(scope) } else { Need::Scope(scope) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_route_needs_what_the_document_says_and_everything_if_it_says_nothing() {
        let document = json!({"paths": {
            "/a": {"get": {"security": [{"token": ["read"]}]}, "post": {}, "put": {"security": [{}]}},
            "/b": {"get": {"security": [{"token": ["read", "all-campaigns"]}]}, "delete": {"security": [{"token": []}]}},
        }});
        let rights = Rights::of(&document);
        let of = |method, path| rights.of_route(&method, path);
        assert_eq!(of(Method::GET, "/a"), Some(Need::Scope(Scope::Read)));
        assert_eq!(of(Method::HEAD, "/a"), Some(Need::Scope(Scope::Read)));
        assert_eq!(of(Method::POST, "/a"), Some(Need::Everywhere(Scope::Admin)));
        assert_eq!(of(Method::PUT, "/a"), Some(Need::Nothing));
        assert_eq!(of(Method::GET, "/b"), Some(Need::Everywhere(Scope::Read)));
        assert_eq!(of(Method::DELETE, "/b"), Some(Need::Everywhere(Scope::Admin)));
        assert_eq!(of(Method::GET, "/c"), None);
    }
}
