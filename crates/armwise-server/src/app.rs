//! What all requests share, and the router: every route of the API with its description, the guard, what is around.

use crate::{
    access::{Rights, SCHEME, Tokens, guard},
    around::around,
    campaigns::Campaigns,
    document,
    meter::Meter,
    options::Options,
    page,
    problem::Fault,
    routes,
};
use armwise_campaign::live::LiveOptions;
use axum::{Router, extract::DefaultBodyLimit, http::StatusCode, middleware};
use serde_json::Value;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::{Semaphore, watch};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::{
    InfoBuilder, OpenApiBuilder,
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::router::OpenApiRouter;

/// What all requests share.
#[derive(Debug)]
pub struct App {
    pub(crate) options: Options,
    pub(crate) tokens: Tokens,
    pub(crate) campaigns: Campaigns,
    pub(crate) meter: Meter,
    /// Whether only this machine is listened to.
    pub(crate) is_local: bool,
    /// Places for requests in flight.
    pub(crate) in_flight: Semaphore,
    /// Tells apart the requests of two runs.
    pub(crate) start: u32,
    ready: AtomicBool,
    document: OnceLock<(Value, Rights)>,
    /// True once the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(options: Options, stopping: watch::Receiver<bool>) -> Self {
        let meter = Meter::new();
        let live =
            LiveOptions { most_arms: options.limits.arms, observe: Some(meter.observe()), ..options.live.clone() };
        let live = LiveOptions { seen: options.store.as_ref().map(|_| options.data.join("seen")), ..live };
        Self {
            tokens: options.store.as_ref().map_or_else(|| Tokens::of(&options.data), Tokens::in_database),
            campaigns: Campaigns::of(&options.data, options.store.as_ref(), live),
            meter,
            is_local: options.listen.ip().is_loopback(),
            in_flight: Semaphore::new(options.limits.requests),
            start: crate::access::now() as u32,
            ready: AtomicBool::new(false),
            document: OnceLock::new(),
            stopping,
            options,
        }
    }

    /// Whether everything that lay in the folder is open and requests are taken.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) && !*self.stopping.borrow()
    }

    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// The OpenAPI document.
    pub(crate) fn document(&self) -> &Value {
        &self.described().0
    }

    /// What each route needs.
    pub(crate) fn rights(&self) -> &Rights {
        &self.described().1
    }

    fn described(&self) -> &(Value, Rights) {
        self.document.get_or_init(|| {
            let document = document::document();
            let rights = Rights::of(&document);
            (document, rights)
        })
    }
}

/// The routes with their descriptions.
pub(crate) fn described() -> OpenApiRouter<Arc<App>> {
    let mut begun = OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("armwise")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(
                    "Decisions that are never lost and never counted twice. A 2xx means: on the disk, once.",
                ))
                .build(),
        )
        .build();
    let mut components = begun.components.take().unwrap_or_default();
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token; what it needs to allow is listed with each route"));
    components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme.build()));
    begun.components = Some(components);
    routes::all(OpenApiRouter::with_openapi(begun))
}

/// All routes, ready to be served.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let (api, _) = described().split_for_parts();
    let api = api.route_layer(middleware::from_fn_with_state(Arc::clone(app), guard));
    Router::new()
        .merge(api)
        .merge(page::routes())
        .fallback(|| async { Fault::not_found("there is no such route").help("/openapi.json lists all of them") })
        .method_not_allowed_fallback(|| async {
            Fault::new(StatusCode::METHOD_NOT_ALLOWED, "method", "the route does not have this method")
        })
        .layer(DefaultBodyLimit::max(app.options.limits.body))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(Arc::clone(app), around))
        .with_state(Arc::clone(app))
}

/// A panic is a bug of ours; what it says may hold a request's data, so it goes nowhere.
fn panicked(_: Box<dyn std::any::Any + Send + 'static>) -> axum::response::Response {
    axum::response::IntoResponse::into_response(Fault::internal("the server failed; the operator finds it in the log"))
}
