//! The door: one HTTP port through which deliveries reach the webhook functions, as through function URLs.
//!
//! It has no guard, as it has none on AWS: the functions behind it prove who sent a delivery.

use std::{sync::Arc, time::Duration};

use hyper::{Request, StatusCode, Version, body::Incoming};
use jiff::Timestamp;
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::{
    function_url::{self, UrlRequest},
    http::{self, Answer, BodyError, Dropped, Limits, Stop},
    lambda::{
        pool::{Invoked, LogTail, NotInvoked, Pool},
        runtime_api::PAYLOAD_BYTES_MAX,
    },
};

/// A slow sender is given up after this, so that it cannot hold a connection for ever.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// Longer than any webhook function may take.
const GRACE: Duration = Duration::from_secs(10);

/// More than a burst of redeliveries opens.
const CONNECTIONS_MAX: usize = 512;

/// One webhook function behind the door.
#[derive(Debug)]
pub(crate) struct Webhook {
    /// First segment of the paths that lead to it: the function's name without `-webhook`.
    pub(crate) segment: String,
    pub(crate) pool: Arc<Pool>,
    pub(crate) function: String,
}

/// The door.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) port: u16,
    pub(crate) webhooks: Vec<Webhook>,
}

impl Door {
    /// Serves until told to stop, then lets deliveries in progress end.
    pub(crate) async fn serve(self, listener: TcpListener, stop: Stop) {
        let door = Arc::new(self);
        let limits = Limits { connections: CONNECTIONS_MAX, head: Some(BODY_WITHIN), grace: GRACE };
        http::serve(listener, limits, stop, move |request| Arc::clone(&door).handle(request)).await;
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Dropped> {
        let (parts, body) = request.into_parts();
        let Some(webhook) = route(&self.webhooks, parts.uri.path()) else {
            return Ok(http::json(StatusCode::NOT_FOUND, &json!({ "Message": null })));
        };
        let body = match http::read_body(body, PAYLOAD_BYTES_MAX, BODY_WITHIN).await {
            Ok(body) => body,
            Err(BodyError::TooLarge) => return Ok(too_large()),
            Err(BodyError::TooSlow) => return Ok(http::empty(StatusCode::REQUEST_TIMEOUT)),
            Err(BodyError::Broken) => return Err(Dropped),
        };
        let request_id = Uuid::new_v4().to_string();
        let event = function_url::event(&UrlRequest {
            method: &parts.method,
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            protocol: if parts.version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" },
            headers: &parts.headers,
            body: &body,
            function: &webhook.function,
            request_id: &request_id,
            now: Timestamp::now(),
            port: self.port,
        });
        if PAYLOAD_BYTES_MAX < event.len() {
            return Ok(too_large());
        }
        Ok(answer(webhook.pool.invoke(event.into(), LogTail::Unwanted).await))
    }
}

/// What matches no webhook goes to the first one: on AWS, too, it is the function that refuses a path.
fn route<'a>(webhooks: &'a [Webhook], path: &str) -> Option<&'a Webhook> {
    let segment = path.split('/').find(|segment| !segment.is_empty()).unwrap_or_default();
    webhooks.iter().find(|webhook| webhook.segment == segment).or_else(|| webhooks.first())
}

fn answer(invoked: Result<Invoked, NotInvoked>) -> Answer {
    let failed =
        || http::json(StatusCode::BAD_GATEWAY, &json!({ "message": "Internal Server Error" }));
    match invoked {
        Ok(Invoked { reply: Ok(result), .. }) => {
            function_url::answer(&result).unwrap_or_else(failed)
        }
        Ok(Invoked { reply: Err(error), .. }) => {
            let error = String::from_utf8_lossy(&error);
            tracing::warn!(%error, "a delivery failed in its function: {error}");
            failed()
        }
        Err(NotInvoked::Busy) => http::json(
            StatusCode::TOO_MANY_REQUESTS,
            &json!({ "Reason": "ConcurrentInvocationLimitExceeded", "Type": "User", "message": "Rate Exceeded." }),
        ),
        Err(NotInvoked::Stopping) => http::empty(StatusCode::SERVICE_UNAVAILABLE),
    }
}

fn too_large() -> Answer {
    let message = format!(
        "Request must be smaller than {PAYLOAD_BYTES_MAX} bytes for the InvokeFunction operation"
    );
    http::json(StatusCode::PAYLOAD_TOO_LARGE, &json!({ "Message": message }))
}
