//! A key for simulated Apps. Its private half is public: it opens nothing but simulations.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::json;

/// PKCS #1, as in the files that GitHub hands out, without their first and last line.
const PRIVATE: &str = "
MIIEpAIBAAKCAQEAu1Y65VvZ2/ttqFA9IoasLMdKM6b3Bx61yxNyJ6reDc4Mv4kM
2u8cp5q9DbXhc7PK+O7eKQSA9M+rPAW1Akzel0jOkWJtVKLdoyBJxP86BBjeylax
xoWfx/9UtBAl3KhuJwdp2dGYYQIzGCHAaJbimE6G14KLgp1kElAmy6M8Odm9FxTe
h/8D6he2nnHIoEQuj16lDtrTwDzhd0pfOz+JB8glY4E928POfyxS3nxcScxCioQ1
/vMbJXfdo6JmkG/0HqZUf2rcLwH/3c+OEi3nC0JUoM8klTUg4ceeKOo735eyw9O2
v6Ifte8twNDUhNAjOsOTY4MlR1j5EPt9NQOJjwIDAQABAoIBABBAf1SFfuVwLwey
ilMz9rzdvyiy++xAtEm9UqJxVtlAvmdhZt2Zb9V0faEyXbAxcVLeOiS50MwsNfE7
l4PvEkJynQUM0mpMxMiRlQTDlY9kbvODyOFtlzp9AqaqXfaCICg/ouW0IrGLxM37
o5sPN/I5ocYRe7PlnpheHrd83k0wWff61p78noT6kVJSgy2n6BzNqJbW1H1636Pq
XTQrohohWiPO8/kUlYCJU4l7n3U+wcPaUsHcYQYFe3nl7LHRpd9dzvoRAGSaj3ZT
ECnhFaYuKW6vcwO1TtfFCn+qW1rFWkbIuXx6UpPJwSLqK4c71llpJZXKl6WGQmE1
Dp7gBZkCgYEA62gf0nfkRklxKJMa4virFl42aQNM3HzW2UVvOYl1b7r9geVBk6Ua
fYnkCEV+iy8ofOsgbrHkHgXFchPm2Q+FaXkAcUYmtJzCf9FotcYbqW/ijQq9AtBV
18u3PU2YgQxuTMJcXia6RUIvY7MoqtQ6lsalBws8006avXxOuE5pmBkCgYEAy7mX
nKbjcpA8AgQNdVPjq1pMqoS/dUHC3zUTRI8PAAcuoYy+PsFosvQekhvaz6WJra+Y
brPTfbPP+vouNZmqXqe7zNna+UdqYqDr7BbLGNSiXoXjlnLub0m3CHWzQcl4u8xV
oZ8mhzcPgz21j5b+Ex4eRzs/NXEgZUEs7FjrA+cCgYEAtHIwUmjMdoQ9VVjNt0Xd
/1tgYcbB2BFpr0pmI7iWaHrxb+yIA+D/GVPlk+GRSqdvZbHmPnPl5I2P+A4BWkln
fp3eFPYtHS08ejXPCec9tPeqtWqRz+JaqvvhDgC48dLRic1CeHk/N2+wW8AtYCUm
dAT44xleGquaOb1bqjORBaECgYEAhwRHUNDiKMkinAtnh/zDBItiCBjWcrXUmu2o
CWXugQxBgVuvshOoegGEST0gtUF2j5+ynJudbM/A5QrtmSRwXy83Lbqsf00vWpJg
CSXKEHjL6208ujcNgsAOCBNJbC5ET+JKVkUN2ctKAqbhL3rYhH8PfhHsAFUrLTAW
v8TmbL0CgYB5Pcak6D9eyrXvbtrQG+wGiWYedBJ2XbKfBgLP7w1u/DBKUEYrx0a2
fcLu7Nh0osA5NQKOhcoNIppsv4/4HXoiosHRs64Dzs7R8gi6yPm+qGeAlQTMyFhu
J/d9K5g7CTm4sl6NHLCThuZOWIOvDwCn0pYI7bWR3Zhk0NNaq+gInQ==
";

/// The public half in PKCS #1.
const PUBLIC: &str = "
MIIBCgKCAQEAu1Y65VvZ2/ttqFA9IoasLMdKM6b3Bx61yxNyJ6reDc4Mv4kM2u8cp5q9DbXhc7PK
+O7eKQSA9M+rPAW1Akzel0jOkWJtVKLdoyBJxP86BBjeylaxxoWfx/9UtBAl3KhuJwdp2dGYYQIz
GCHAaJbimE6G14KLgp1kElAmy6M8Odm9FxTeh/8D6he2nnHIoEQuj16lDtrTwDzhd0pfOz+JB8gl
Y4E928POfyxS3nxcScxCioQ1/vMbJXfdo6JmkG/0HqZUf2rcLwH/3c+OEi3nC0JUoM8klTUg4cee
KOo735eyw9O2v6Ifte8twNDUhNAjOsOTY4MlR1j5EPt9NQOJjwIDAQAB
";

/// A well-known RSA key: what [`crate::github::GitHub::register_app`] is told, and what signs an App's JWTs.
#[derive(Debug, Clone, Copy)]
pub struct AppKey;

impl AppKey {
    /// The private key as GitHub hands it out: a PKCS #1 PEM file.
    #[must_use]
    pub fn private_pem(self) -> String {
        let kind = "RSA PRIVATE KEY";
        format!("-----BEGIN {kind}-----{PRIVATE}-----END {kind}-----\n")
    }

    /// The public key in PKCS #1 DER.
    #[must_use]
    pub fn public_der(self) -> Vec<u8> {
        der(PUBLIC)
    }

    /// A JWT of this issuer (a client id, or an App's number), good from one second since 1970 to another.
    #[must_use]
    pub fn jwt(self, issuer: &str, issued_at: i64, expires_at: i64) -> String {
        let claims = json!({ "iss": issuer, "iat": issued_at, "exp": expires_at });
        self.signed(&json!({ "alg": "RS256", "typ": "JWT" }), &claims)
    }

    /// A JWT of any header and claims, signed by RS256 whatever the header says.
    #[must_use]
    pub fn signed(self, header: &serde_json::Value, claims: &serde_json::Value) -> String {
        let part = |json: &serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let text = format!("{}.{}", part(header), part(claims));
        let Ok(key) = RsaKeyPair::from_der(&der(PRIVATE)) else { return text };
        let mut signature = vec![0; key.public().modulus_len()];
        let random = SystemRandom::new();
        if key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).is_err() {
            return text;
        }
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

fn der(lines: &str) -> Vec<u8> {
    let text: String = lines.split_whitespace().collect();
    BASE64_STANDARD.decode(text).unwrap_or_default()
}
