//! The routes, a file for each kind of thing. A handler reads the request, calls the campaign and writes the answer.

#![allow(clippy::unused_async, reason = "a handler is asynchronous, whether it waits or not")]

mod arms;
mod campaigns;
mod common;
mod decisions;
mod faults;
mod log;
mod look;
mod rewards;
mod service;
mod tokens;

pub(crate) use common::blocking;

use crate::{app::App, problem::Fault};
use armwise_campaign::live::Live;
use axum::http::{HeaderMap, HeaderValue, header};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

/// All routes of the API with their descriptions.
pub(crate) fn all(router: OpenApiRouter<Arc<App>>) -> OpenApiRouter<Arc<App>> {
    router
        .routes(routes!(service::document))
        .routes(routes!(service::health))
        .routes(routes!(service::ready))
        .routes(routes!(service::metrics))
        .routes(routes!(campaigns::list))
        .routes(routes!(campaigns::make, campaigns::look, campaigns::amend))
        .routes(routes!(arms::put, arms::change))
        .routes(routes!(arms::retire))
        .routes(routes!(decisions::decide))
        .routes(routes!(decisions::look))
        .routes(routes!(decisions::activate))
        .routes(routes!(decisions::revoke))
        .routes(routes!(rewards::reward))
        .routes(routes!(rewards::correct))
        .routes(routes!(rewards::undelivered))
        .routes(routes!(rewards::reward_many))
        .routes(routes!(rewards::close))
        .routes(routes!(look::why))
        .routes(routes!(look::report))
        .routes(routes!(look::model))
        .routes(routes!(log::log))
        .routes(routes!(tokens::list, tokens::add))
        .routes(routes!(tokens::revoke))
}

/// Reads any bytes as every kind of body, for the fuzzer: a decision is made of what can be one.
///
/// # Errors
/// [`Fault`] where the bytes are no decision.
pub fn read_any(live: &Live, media: &'static str, bytes: &[u8]) -> Result<(), Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    let _ = campaigns::read_rules(bytes);
    let _ = rewards::read(&headers, bytes);
    let _ = arms::rows(live, &headers, bytes);
    live.decide(decisions::read(live, crate::body::Media::of(&headers)?, &decisions::AskedBeside::default(), bytes)?)?;
    Ok(())
}
