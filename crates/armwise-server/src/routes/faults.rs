//! The problems that routes have in common, for the document.

use crate::problem::PROBLEM;
use std::collections::BTreeMap;
use utoipa::{
    IntoResponses,
    openapi::{Content, Ref, RefOr, Response, ResponseBuilder},
};

fn problem(description: &str) -> RefOr<Response> {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    RefOr::T(ResponseBuilder::new().description(description).content(PROBLEM, content).build())
}

fn all(list: &[(&str, &str)]) -> BTreeMap<String, RefOr<Response>> {
    list.iter().map(|(status, description)| ((*status).to_owned(), problem(description))).collect()
}

const READ: [(&str, &str); 8] = [
    ("400", "A header or a parameter cannot be read"),
    ("401", "No good token"),
    ("403", "Not by this token"),
    ("404", "There is none"),
    ("412", "Armwise-Seq names an entry that was never acknowledged here"),
    ("422", "It can be read and makes no sense"),
    ("429", "Too many requests are in flight; come again"),
    ("503", "Not now; come again"),
];

const WRITE: [(&str, &str); 4] = [
    ("409", "It contradicts what is there, or the same key is in flight"),
    ("413", "The body is too large"),
    ("415", "A body of this type is not read here"),
    ("507", "There is no room on the disk; nothing was done"),
];

/// Of routes that look.
pub(crate) struct ReadFaults;

impl IntoResponses for ReadFaults {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        all(&READ)
    }
}

/// Of routes that change something.
pub(crate) struct WriteFaults;

impl IntoResponses for WriteFaults {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut all = all(&READ);
        all.extend(self::all(&WRITE));
        all
    }
}
