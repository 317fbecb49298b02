//! What the handlers share: the campaign of the path, the body, keys and the entry that an answer belongs to.

use crate::{app::App, name::Name, problem::Fault};
use armwise_campaign::{
    Error,
    core::Key,
    live::{Live, Reply},
};
use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Query, RawPathParams, Request},
    http::{HeaderMap, HeaderName, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// The header with an entry: in an answer the one that holds what was done, in a request one that must be seen.
#[expect(clippy::declare_interior_mutable_const, reason = "a name that is static has nothing to change")]
pub(crate) const SEQ: HeaderName = HeaderName::from_static("armwise-seq");

/// How long a request waits for the rewards that it has seen acknowledged to count.
const UNTIL_SEEN: Duration = Duration::from_secs(5);

/// The campaign of the path, at least as far as the entry in the request's `Armwise-Seq`.
pub(crate) struct Served(pub(crate) Live);

impl FromRequestParts<Arc<App>> for Served {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Fault> {
        let name = name(parts).await?;
        let live = match app.campaigns.open(&name) {
            Some(live) => live,
            None if !app.is_ready() => {
                return Err(Fault::later("not-ready", "the campaigns are being read, or the server stops"));
            }
            None => {
                let app = Arc::clone(app);
                blocking(move || app.campaigns.get(&name)).await?
            }
        };
        if let Some(seq) = seen(&parts.headers)? {
            see(&live, seq).await?;
        }
        Ok(Self(live))
    }
}

/// The campaign's name in the path.
pub(crate) async fn name(parts: &mut Parts) -> Result<Name, Fault> {
    let given =
        RawPathParams::from_request_parts(parts, &()).await.map_err(|error| Fault::malformed(error.to_string()))?;
    let own = given.iter().find(|(name, _)| *name == "campaign").map_or("", |(_, value)| value);
    Name::new(own).map_err(|fault| fault.at("campaign"))
}

fn seen(headers: &HeaderMap) -> Result<Option<u64>, Fault> {
    let Some(given) = headers.get(SEQ) else { return Ok(None) };
    let text = given.to_str().unwrap_or_default();
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    number
        .map(|number| Some(number.unsigned_abs()))
        .ok_or_else(|| Fault::malformed("it is not the number of an entry").at("Armwise-Seq").value(text))
}

async fn see(live: &Live, seq: u64) -> Result<(), Fault> {
    // An entry that is new here may be one that the writer is about to tell of, or that another server wrote.
    let mut last = live.seq();
    if seq > last {
        let live = live.clone();
        last = blocking(move || Ok(live.newest()?)).await?;
    }
    if seq > last {
        let detail = format!("entry {seq} was never acknowledged here; the last one is {last}");
        return Err(Fault::new(StatusCode::PRECONDITION_FAILED, "not-seen", detail).at("Armwise-Seq"));
    }
    if live.load().learned >= seq {
        return Ok(());
    }
    let live = live.clone();
    blocking(move || Ok(live.wait_for(seq, UNTIL_SEEN)?)).await
}

/// A body within the limit.
pub(crate) struct Body(pub(crate) Bytes);

impl FromRequest<Arc<App>> for Body {
    type Rejection = Fault;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Fault> {
        match Bytes::from_request(request, app).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let detail = format!("a body may have {} bytes", app.options.limits.body);
                Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail).help("send it in several requests"))
            }
            Err(error) => Err(Fault::malformed(error.body_text())),
        }
    }
}

/// Parameters of the query; one that is not known is refused.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let Query(own) = Query::<T>::from_request_parts(parts, state)
            .await
            .map_err(|error| Fault::malformed(error.body_text()).at("query"))?;
        Ok(Self(own))
    }
}

/// The parts of a path, as texts.
pub(crate) struct Places<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Places<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let Path(own) = Path::<T>::from_request_parts(parts, state)
            .await
            .map_err(|error| Fault::malformed(error.body_text()).at("path"))?;
        Ok(Self(own))
    }
}

/// The caller's own name for the request.
pub(crate) struct Keyed(pub(crate) Option<Key>);

impl<S: Sync> FromRequestParts<S> for Keyed {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let mut given = parts.headers.get_all("idempotency-key").iter();
        let Some(first) = given.next() else { return Ok(Self(None)) };
        if given.next().is_some() {
            return Err(Fault::malformed("it is given twice").at("Idempotency-Key"));
        }
        let text = first.to_str().map_err(|_| Fault::malformed("it is not visible ASCII").at("Idempotency-Key"))?;
        Ok(Self(Some(Key::new(text)?)))
    }
}

/// Runs what waits or computes for long beside the threads that answer.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Fault::internal("the server failed; the operator finds it in the log")),
    }
}

/// Waits for the writer's reply without holding a thread.
pub(crate) async fn replied<T: Send + 'static>(ask: impl FnOnce(Reply<T>)) -> Result<T, Fault> {
    let (give, take) = oneshot::channel();
    ask(Box::new(move |answer: Result<T, Error>| {
        // Whoever asked has gone.
        let _ = give.send(answer);
    }));
    match take.await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Fault::later("stopped", "the campaign takes no more commands, since the server stops")),
    }
}

/// JSON with the entry that it belongs to.
pub(crate) fn answered(status: StatusCode, seq: u64, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (SEQ, seq.to_string())];
            (status, headers, body).into_response()
        }
        Err(error) => Fault::internal(format!("an answer cannot be written: {error}")).into_response(),
    }
}

/// Reads a campaign beside its writer, and answers with the last entry that was read.
pub(crate) async fn looked<T: Serialize + Send + 'static>(
    live: Live,
    look: impl FnOnce(&armwise_campaign::Campaign) -> Result<T, Error> + Send + 'static,
) -> Result<Response, Fault> {
    let (seq, value) = blocking(move || Ok(live.read(|campaign| Ok((campaign.head().seq, look(campaign)?)))?)).await?;
    Ok(answered(StatusCode::OK, seq, &value))
}
