//! SQS as the observations queue.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use ports::{Message, ObservationQueue, SendError};

use crate::wire;

/// Sends observations to an SQS queue.
#[derive(Debug, Clone)]
pub struct ObservationSender {
    client: Client,
    queue_url: String,
}

impl ObservationSender {
    /// A sender to this queue.
    #[must_use]
    pub const fn new(client: Client, queue_url: String) -> Self {
        Self { client, queue_url }
    }
}

impl ObservationQueue for ObservationSender {
    async fn send(&self, message: &Message) -> Result<(), SendError> {
        let body = wire::encode(message)?;
        self.client
            .send_message()
            .queue_url(&self.queue_url)
            .message_body(body)
            .send()
            .await
            .map_err(|error| {
                let code = error.code().unwrap_or("no code");
                SendError::Unavailable(format!("{error}: {code}").into())
            })?;
        Ok(())
    }
}
