//! What is known before anything runs: names, keys, addresses, and whether all that is needed is there.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use uuid::Uuid;

use crate::{
    REGION,
    error::StackError,
    guard::Credentials,
    identity::{Issuer, KEYS_VARIABLE},
    options::{Description, StackOptions},
    stack_file::{Function, Infrastructure},
};

/// Keys and addresses that the parts need of each other.
pub(crate) struct Plan {
    pub(crate) infrastructure: Arc<Infrastructure>,
    pub(crate) endpoint_port: u16,
    pub(crate) operator: Credentials,
    pub(crate) function_keys: BTreeMap<String, Credentials>,
    pub(crate) binaries: PathBuf,
    pub(crate) issuer: Issuer,
}

impl Plan {
    /// Makes up keys for this start.
    pub(crate) fn new(
        infrastructure: Arc<Infrastructure>,
        endpoint_port: u16,
        binaries: PathBuf,
        issuer: Issuer,
    ) -> Self {
        let functions = infrastructure.functions.iter();
        let function_keys = functions.map(|f| (f.short.clone(), Credentials::random())).collect();
        Self {
            infrastructure,
            endpoint_port,
            operator: Credentials::random(),
            function_keys,
            binaries,
            issuer,
        }
    }

    /// URL of the AWS endpoint.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.endpoint_port)
    }

    /// What Lambda would set, then what the description declares, with the issuer of this stack, then what the options override.
    pub(crate) fn environment(
        &self,
        function: &Function,
        options: &StackOptions,
    ) -> BTreeMap<String, String> {
        let key =
            self.function_keys.get(&function.short).cloned().unwrap_or_else(Credentials::random);
        let endpoint = self.endpoint();
        let stream = format!(
            "{}/[$LATEST]{}",
            Timestamp::now().strftime("%Y/%m/%d"),
            Uuid::new_v4().simple()
        );
        let standard = [
            ("AWS_ACCESS_KEY_ID", key.access_key_id),
            ("AWS_SECRET_ACCESS_KEY", key.secret_access_key),
            ("AWS_SESSION_TOKEN", "local".to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_DEFAULT_REGION", REGION.to_owned()),
            ("AWS_ENDPOINT_URL", endpoint.clone()),
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.clone()),
            ("AWS_ENDPOINT_URL_SQS", endpoint.clone()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", endpoint.clone()),
            ("AWS_ENDPOINT_URL_LAMBDA", endpoint),
            ("AWS_LAMBDA_FUNCTION_NAME", function.name.clone()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", function.memory_megabytes.to_string()),
            ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", function.name)),
            ("AWS_LAMBDA_LOG_STREAM_NAME", stream),
            ("LAMBDA_TASK_ROOT", self.binaries.display().to_string()),
            ("_HANDLER", "bootstrap".to_owned()),
            ("LANG", "en_US.UTF-8".to_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("TZ", ":UTC".to_owned()),
        ];
        let mut environment: BTreeMap<_, _> =
            standard.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        environment.extend(function.environment.clone());
        // Only this stack's own issuer is believed here: the described keys are somebody else's.
        if let Some(keys) = environment.get_mut(KEYS_VARIABLE) {
            *keys = self.issuer.keys();
        }
        environment.extend(options.environment.get(&function.short).cloned().unwrap_or_default());
        environment
    }
}

/// Text of the description.
pub(crate) fn description(description: &Description) -> Result<String, StackError> {
    match description {
        Description::Text(text) => Ok(text.clone()),
        Description::File(path) => fs::read_to_string(path)
            .map_err(|error| StackError::Description(format!("{}: {error}", path.display()))),
    }
}

/// Test binaries lie in `deps/`, one folder below what `cargo build` makes.
pub(crate) fn binaries(options: &StackOptions) -> Result<PathBuf, StackError> {
    if let Some(folder) = &options.functions {
        return Ok(folder.clone());
    }
    let executable = std::env::current_exe().map_err(StackError::io("the current executable"))?;
    let folder = executable.parent().unwrap_or(Path::new("."));
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.to_path_buf())
}

/// A function without a binary would fail at its first delivery, long after the start.
pub(crate) fn require_binaries(
    folder: &Path,
    infrastructure: &Infrastructure,
) -> Result<(), StackError> {
    for function in &infrastructure.functions {
        let path = folder.join(&function.short);
        if !path.is_file() {
            return Err(StackError::NoBinary { function: function.short.clone(), path });
        }
    }
    Ok(())
}

/// A misspelt name would otherwise leave a function as it was, and whoever wrote it wondering.
pub(crate) fn require_known(
    options: &StackOptions,
    infrastructure: &Infrastructure,
) -> Result<(), StackError> {
    let unknown = options
        .environment
        .keys()
        .find(|name| !infrastructure.functions.iter().any(|f| f.short == **name));
    match unknown {
        Some(name) => Err(StackError::Refused {
            resource: format!("environment of {name}"),
            reason: "there is no such function".to_owned(),
        }),
        None => Ok(()),
    }
}
