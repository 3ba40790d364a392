//! The use case of `github-webhook`: from a function URL's request to an answer, and to a message if there is something
//! to tell.
//!
//! The order of the checks is what bounds the cost of a stranger's request: size, signature's form, source, secret,
//! signature, and only then the body. Nothing before the secret costs an AWS call, and nothing that is refused is told
//! apart: an unknown source is answered exactly as a wrong signature.

mod request;
mod sources;

use domain::delivery::{Delivery, Scope};
use domain::ids::DeliveryId;
use domain::observation::{Observation, Origin};
use github::body::{Encoding, exact_bytes};
use github::events::{Reading, read};
use github::headers::Headers;
use github::verify::{LiveSecrets, Signature, Verified, WebhookSecret, verify, verify_nothing};
use jiff::Timestamp;
use lambda_entry::{Metric, Telemetry};
use ports::{
    Message, ObservationQueue, QuarantinedDelivery, SecretStore, SecretStoreError, SendError,
};
use secrets::{SecretCache, SecretDocument};

pub use request::{Answer, FunctionUrlRequest};
pub use sources::{Source, Sources, SourcesError};

/// Takes deliveries in.
#[derive(Debug)]
pub struct Webhook<Q, S> {
    sources: Sources,
    body_bytes_max: usize,
    queue: Q,
    secrets: SecretCache<S>,
    telemetry: Telemetry,
}

/// A body and what its sender says it signed.
struct Signed<'a> {
    body: &'a [u8],
    signature: Signature,
}

/// Why a delivery was not taken.
enum Refusal {
    /// Larger than the limit.
    TooLarge,
    /// Not a POST.
    Method,
    /// Not signed, wrongly signed, or for a source that does not exist.
    Unproven,
    /// Ours: the sender should come again.
    Unavailable,
}

impl<Q: ObservationQueue, S: SecretStore> Webhook<Q, S> {
    /// A webhook for these sources.
    #[must_use]
    pub const fn new(
        sources: Sources,
        body_bytes_max: usize,
        queue: Q,
        secrets: SecretCache<S>,
        telemetry: Telemetry,
    ) -> Self {
        Self { sources, body_bytes_max, queue, secrets, telemetry }
    }

    /// Answers one request.
    pub async fn handle(&mut self, request: &FunctionUrlRequest, now: Timestamp) -> Answer {
        match self.take(request, now).await {
            Ok(answer) => answer,
            Err(Refusal::Method) => Answer::method_not_allowed(),
            Err(Refusal::TooLarge) => {
                self.telemetry.count(Metric::Rejected, 1, now);
                Answer::too_large()
            }
            Err(Refusal::Unproven) => {
                self.telemetry.count(Metric::Rejected, 1, now);
                Answer::unauthorized()
            }
            Err(Refusal::Unavailable) => Answer::unavailable(),
        }
    }

    async fn take(
        &mut self,
        request: &FunctionUrlRequest,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        if !request.is_post() {
            return Err(Refusal::Method);
        }
        let headers: Headers<'_> = request.headers().collect();
        let source = self.sources.at(request.raw_path()).cloned();
        let encoding = if request.is_base64() { Encoding::Base64 } else { Encoding::Text };
        if self.body_bytes_max < request.body_bytes_at_least() {
            log_refusal(&headers, source.as_ref(), "the body is larger than the limit");
            return Err(Refusal::TooLarge);
        }
        let body = exact_bytes(request.body(), encoding).map_err(|_| Refusal::Unproven)?;
        if self.body_bytes_max < body.len() {
            log_refusal(&headers, source.as_ref(), "the body is larger than the limit");
            return Err(Refusal::TooLarge);
        }
        let signature = headers.signature().map_err(|error| {
            log_refusal(&headers, source.as_ref(), &error.to_string());
            Refusal::Unproven
        })?;
        let Some(source) = source else {
            // The same work as for a wrong signature, so that the time of the answer tells nothing either.
            let error = verify_nothing(&body, &signature);
            log_refusal(&headers, None, &error.to_string());
            return Err(Refusal::Unproven);
        };
        let signed = Signed { body: &body, signature };
        let verified = self.verify(&source, &headers, &signed, now).await?;
        self.tell(&source, &headers, &verified, now).await
    }

    /// Verifies with the cached secrets, and once more with secrets read anew: they may just have been rotated.
    async fn verify<'a>(
        &mut self,
        source: &Source,
        headers: &Headers<'_>,
        signed: &Signed<'a>,
        now: Timestamp,
    ) -> Result<Verified<'a>, Refusal> {
        let fetched = match self.secrets.get(&source.secret_id, now).await {
            Ok(fetched) => fetched,
            Err(error) => return Err(self.no_secret(source, headers, &error, now)),
        };
        if let Some(cause) = fetched.bridged {
            self.telemetry.count(Metric::SecretStoreUnavailable, 1, now);
            tracing::warn!(source = source.id.as_str(), cause, "went on with an older secret");
        }
        let first = verify_with(&fetched.document, signed, now);
        if let Some(verified) = first {
            return Ok(verified);
        }
        let anew = match self.secrets.reread(&source.secret_id, now).await {
            Ok(anew) => anew,
            Err(error) => return Err(self.no_secret(source, headers, &error, now)),
        };
        anew.and_then(|document| verify_with(&document, signed, now)).ok_or_else(|| {
            log_refusal(headers, Some(source), "the signature does not fit the body");
            Refusal::Unproven
        })
    }

    fn no_secret(
        &self,
        source: &Source,
        headers: &Headers<'_>,
        error: &SecretStoreError,
        now: Timestamp,
    ) -> Refusal {
        let metric = match error {
            SecretStoreError::Unavailable(_) => Metric::SecretStoreUnavailable,
            SecretStoreError::Unusable(_) => Metric::SecretUnusable,
        };
        self.telemetry.count(metric, 1, now);
        tracing::error!(
            delivery.id = headers.delivery_id().as_ref().map(DeliveryId::as_str),
            source = source.id.as_str(),
            tenant = source.tenant(),
            error = describe(error),
            "can't verify without the source's secret"
        );
        Refusal::Unavailable
    }

    /// Reads a verified body and sends what it says.
    async fn tell(
        &self,
        source: &Source,
        headers: &Headers<'_>,
        verified: &Verified<'_>,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        let reading = read(verified, headers, &source.host);
        let body_sha256 = verified.body_sha256();
        let id =
            headers.delivery_id().unwrap_or_else(|| DeliveryId::for_body(&source.id, &body_sha256));
        let delivery = Delivery {
            source: source.id.clone(),
            hook: headers.hook_id(),
            id,
            event: headers.event_word(),
            action: None,
            body_sha256,
            received_at: now,
        };
        let (message, log) = match reading {
            Reading::Ping => {
                log_taken(&delivery, source, None, "answered a ping");
                return Ok(Answer::pong());
            }
            Reading::Ignored { .. } => {
                self.telemetry.count(Metric::Ignored, 1, now);
                log_taken(&delivery, source, None, "ignored an event that is not understood");
                return Ok(Answer::ignored());
            }
            Reading::Observed(seen) => {
                let delivery = Delivery { action: Some(seen.action), ..delivery };
                let observation = Observation {
                    scope: source.scope(seen.installation),
                    repository: seen.repository,
                    fact: seen.fact,
                    doubt: seen.doubt,
                    origin: Origin::Delivery(delivery),
                };
                (Message::Observation(Box::new(observation)), "accepted a delivery")
            }
            Reading::Quarantined(quarantined) => {
                let quarantined = QuarantinedDelivery {
                    scope: source.scope(None),
                    delivery: Delivery { action: quarantined.action, ..delivery },
                    repository: quarantined.repository,
                    reason: quarantined.reason,
                };
                (Message::Quarantine(Box::new(quarantined)), "quarantined a delivery")
            }
        };
        self.send(source, &message, log, now).await
    }

    async fn send(
        &self,
        source: &Source,
        message: &Message,
        log: &str,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        let (delivery, subject) = evidence(message);
        match self.queue.send(message).await {
            Ok(()) => {
                self.telemetry.count(Metric::Accepted, 1, now);
                if let Some(delivery) = delivery {
                    log_taken(delivery, source, subject.as_deref(), log);
                }
                Ok(Answer::accepted())
            }
            Err(error) => {
                self.telemetry.count(Metric::QueueUnavailable, 1, now);
                tracing::error!(
                    delivery.id = delivery.map(|delivery| delivery.id.as_str()),
                    source = source.id.as_str(),
                    tenant = source.tenant(),
                    subject,
                    error = describe_send(&error),
                    "could not send a delivery on"
                );
                Err(Refusal::Unavailable)
            }
        }
    }
}

fn verify_with<'a>(
    document: &SecretDocument,
    signed: &Signed<'a>,
    now: Timestamp,
) -> Option<Verified<'a>> {
    let mut live = document.live(now);
    let current = WebhookSecret::new(live.next()?).ok()?;
    let previous = live.next().and_then(|secret| WebhookSecret::new(secret).ok());
    verify(signed.body, &signed.signature, &LiveSecrets { current, previous }).ok()
}

/// The delivery that a message tells of, and its subject, for the log.
fn evidence(message: &Message) -> (Option<&Delivery>, Option<String>) {
    match message {
        Message::Observation(observation) => {
            let subject = format!("{} {}", observation.repository, observation.subject());
            match &observation.origin {
                Origin::Delivery(delivery) => (Some(delivery), Some(subject)),
                Origin::Read { .. } => (None, Some(subject)),
            }
        }
        Message::Quarantine(quarantined) => {
            let subject = quarantined.repository.as_ref().map(ToString::to_string);
            (Some(&quarantined.delivery), subject)
        }
    }
}

fn log_taken(delivery: &Delivery, source: &Source, subject: Option<&str>, text: &str) {
    tracing::info!(
        delivery.id = delivery.id.as_str(),
        source = source.id.as_str(),
        tenant = source.tenant(),
        subject,
        event = delivery.event.as_str(),
        action = delivery.action.as_ref().map(domain::words::Word::as_str),
        "{text}"
    );
}

/// Nothing of the request is repeated but its delivery id, whose form is checked.
fn log_refusal(headers: &Headers<'_>, source: Option<&Source>, error: &str) {
    tracing::warn!(
        delivery.id = headers.delivery_id().as_ref().map(DeliveryId::as_str),
        source = source.map(|source| source.id.as_str()),
        tenant = source.and_then(Source::tenant),
        error,
        "refused a delivery"
    );
}

fn describe(error: &SecretStoreError) -> String {
    match error {
        SecretStoreError::Unavailable(cause) => format!("{error}: {cause}"),
        SecretStoreError::Unusable(_) => error.to_string(),
    }
}

fn describe_send(error: &SendError) -> String {
    match error {
        SendError::Unavailable(cause) => format!("{error}: {cause}"),
        SendError::TooLarge { .. } => error.to_string(),
    }
}

/// The scope that a source's secret proves.
impl Source {
    fn scope(&self, installation: Option<u64>) -> Scope {
        match &self.tenant {
            Some(tenant) => Scope::Tenant(tenant.clone()),
            None => Scope::Installation(installation),
        }
    }
}
