//! Items of `Deliveries`, the ledger.

use domain::delivery::{Delivery, LedgerEntry, Outcome, QuarantineReason};
use domain::ids::{DeliveryId, Host, RepositoryId, RepositoryKey, SourceId, TenantId};
use domain::words::{Text, Word};
use jiff::SignedDuration;
use ports::UnreadableItem;

use crate::attributes::{Item, Reader, Writer};
use crate::keys;

/// How long a row is kept. GitHub's own delivery log lasts three days; thirty leave room to ask.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A ledger row.
#[must_use]
pub fn delivery_item(entry: &LedgerEntry) -> Item {
    let delivery = &entry.delivery;
    let mut item = Writer::new(&[("pk", keys::delivery(delivery))]);
    item.text("deliveryId", &delivery.id);
    item.text("source", &delivery.source);
    if let Some(hook) = delivery.hook {
        item.number("hookId", hook);
    }
    item.text("event", &delivery.event);
    item.optional("action", delivery.action.as_ref());
    item.text("bodySha256", &delivery.body_sha256);
    item.text("receivedAt", delivery.received_at);
    item.optional("tenantId", entry.tenant.as_ref());
    item.optional("host", entry.repository.as_ref().map(|repository| &repository.host));
    item.optional("repositoryId", entry.repository.as_ref().map(|repository| &repository.id));
    item.optional("subject", entry.subject.as_ref());
    item.text("outcome", entry.outcome.as_str());
    if let Outcome::Quarantined(reason) = &entry.outcome {
        item.text("reason", reason.as_str());
        item.optional("place", reason.place());
    }
    item.text("judgedAt", entry.judged_at);
    let expires_at = entry.judged_at.checked_add(KEPT_FOR).unwrap_or(entry.judged_at).as_second();
    item.number("expiresAt", u64::try_from(expires_at).unwrap_or_default());
    item.finish()
}

/// Reads a ledger row.
pub fn read_delivery(item: &Item) -> Result<LedgerEntry, UnreadableItem> {
    let item = Reader::new(item)?;
    let place = || item.optional_text("place").map(|place| Text::new(place.unwrap_or_default()));
    let outcome = match item.text("outcome")? {
        "applied" => Outcome::Applied,
        "no-op" => Outcome::NoOp,
        "contested" => Outcome::Contested,
        "unregistered" => Outcome::Unregistered,
        "out of scope" => Outcome::OutOfScope,
        "not mirrored" => Outcome::NotMirrored,
        _ => Outcome::Quarantined(match item.text("reason")? {
            "not JSON" => QuarantineReason::NotJson,
            "ShapeMismatch" => QuarantineReason::ShapeMismatch { place: place()? },
            "FutureVersion" => QuarantineReason::FutureVersion,
            "Unstorable" => QuarantineReason::Unstorable,
            _ => QuarantineReason::Unreadable { place: place()? },
        }),
    };
    let repository = match item.parsed_optional("host", |host| Host::new(host).ok())? {
        None => None,
        Some(host) => Some(RepositoryKey {
            host,
            id: item.parsed("repositoryId", |id| RepositoryId::parse(id).ok())?,
        }),
    };
    Ok(LedgerEntry {
        delivery: Delivery {
            source: item.parsed("source", |id| SourceId::new(id).ok())?,
            hook: item.optional_number("hookId")?,
            id: item.parsed("deliveryId", |id| DeliveryId::new(id).ok())?,
            event: Word::new(item.text("event")?),
            action: item.optional_text("action")?.map(Word::new),
            body_sha256: item.text("bodySha256")?.to_owned(),
            received_at: item.time("receivedAt")?,
        },
        tenant: item.parsed_optional("tenantId", |id| TenantId::new(id).ok())?,
        repository,
        subject: item.optional_text("subject")?.map(str::to_owned),
        outcome,
        judged_at: item.time("judgedAt")?,
    })
}
