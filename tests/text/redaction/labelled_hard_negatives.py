"""Hard negatives: the kinds of texts that the gitleaks project tests its rules against, made anew.

They are kept apart because several of them cannot be told from a secret by looks: a key of the wrong length, a hash
behind a key's name. What is masked of them is reported, and held under a share, not at nothing.
"""

from __future__ import annotations

from key_material import ALNUM, HEX, LETTERS, UPPER, URLSAFE, Forge
from labelled_negatives import Negative


def hard_negatives(seed: int = 20261122) -> list[Negative]:
    """Every hard negative, the same for the same seed."""
    f = Forge(seed)
    return [Negative(kind, text) for kind, texts in _texts(f).items() for text in texts]


def _texts(f: Forge) -> dict[str, list[str]]:
    o, h = f.of, f.hex
    return {
        "curl": [
            "curl -u user:pass https://x.io", "curl -i -u 'test:test' x",
            "curl --user neo4j:[PASSWORD] http://[IP]:7474/",
            'curl --user "xxx:yyy"', "curl -u ${USER}:${TOKEN} https://x.io",
            'curl -u "$USER:$PASS" x', "curl -u user: x.io",
            'curl -H "Authorization: Bearer $(gcloud auth print-identity-token)"', "curl -H 'X-Api-Key: $API_KEY' x.io",
            "curl -H 'Authorization: Basic <credentials>' x.io", "curl -H \"Authorization: Bearer YOUR_TOKEN\" x.io",
            "curl -H 'Authorization: Bearer ...' x.io", "curl -u admin https://x.io/a:b", "curl --silent -u x.io",
        ],
        "cut short": [
            "ops_eyJzaWdu..[Redacted]", "AKIA...", "ghp_ABC...", "sk-ant-api03-...", "xoxb-123...", "glpat-…",
            "AIza…",
            "eyJhbGci...", "Bearer eyJ...", "token=abc…", "SG.abc...", "key-…",
        ],
        "wrong form": [
            "xoxb-12345-abcd", "xoxb-my-bot-token", "xoxe.xoxp-1-initial", "ghu_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "sk_test_example", "AIzaSyabcdefghijklmnopqrstuvwxyz1234567", "hf_" + "x" * 34, "API-" + "X" * 26,
            "glsa_" + "X" * 32 + "_AAAAAAAA", "00000000-0000-0000-0000-000000000000",
            "dapi" + "0" * 32, "sq0csp-" + "x" * 43,
            "https://hooks.slack.com/services/", "https://mycompany.webhook.office.com/webhookb2/",
            "hooks.slack.com/workflows/",
            "s.1234", "hvs.CAESIJ", "npm_config_cache_max_age_in_seconds", "pypi-publish-to-test-index",
            "fo1_" + "x" * 43,
        ],
        "pattern": [
            r"AKIA[0-9A-Z]{16}", r"ghp_[A-Za-z0-9]{36}", r"sk-ant-api\d{2}-[\w-]{93}AA",
            r"sntrys_[a-zA-Z0-9]{90}", r"eyJ[\w-]+\.eyJ",
            r"xox[baprs]-([0-9a-zA-Z]{10,48})", r"-----BEGIN [A-Z ]*PRIVATE KEY-----", r"hvs\.[\w-]{89}",
            r"(?i)api[_-]?key",
            r"password\s*=\s*[\"'](.+)[\"']", r"https://hooks\.slack\.com/services/T\w{8}/B\w{8}/\w{24}",
            r"[0-9]{8,10}:AA[\w-]{33}",
        ],
        "name of a thing": [
            "hf_generatedByHomeAppForDebuggingPurposesKey,", "OSCHF_DebugGetExpectedAverageCrystalAmplitude",
            "GLC_UploadLightmap(x)",
            "static void GLC_CreateLightmapTexturesIndividual(void);", "sumOfValuesInRange:(NSRange)range;",
            "xoxa-nyc.github.io",
            "2018-250-xoxo-indieweb-1.jpg", "XOxE-RROAmw, Home and Garden",
            "- (NSNumber *)keyOfProperty:(NSString *)property;",
            "let sk_live_view = make_view()", "data-cel-widget=desktop-rhf_SponsoredProductsRemoteSearch",
            "task_test_runner_config",
            "dp.stack.push(x)", "MINIDUMP_SYSMEMINFO1_PERF_DIRTYPAGETHRESHOLD: u32 = 4u32;",
            "SecretKeySpec(keyBytes, \"AES\")",
            "KeyPairGenerator.getInstance(\"RSA\")", "getKeyByName(name2)",
            "credentialsProvider = DefaultCredentialsProvider.create()",
        ],
        "named after a secret": [
            "notes = \"Maven - io.jsonwebtoken:jjwt-jackson-0.11.2\"",
            "token_endpoint_auth_method = client_secret_post",
            "keyword: algorithm2", "api_key_source: HEADER", "apiKeyRequired = true",
            "secretRef: {name: creds-v2}", "key_vault_name=kv-prod-01",
            "password_policy_arn = x", "publicToken: pk_test_2", "cookieName=SESSIONID2",
            "accessKeyRotationDays: 90", "secret_id = 42",
            "kms_key_id: alias/prod-key-2", "ssh_key_name: bastion-2026",
            "certificate-authority-data: " + f.base64(60),
            "public_key=" + f.base64(32), "checkout_token_ttl=30m", "token_bucket_size=1024",
            "apikey: {{ .Values.apiKey }}",
            "keyPrefix: user:v2:", "auth_token_file=/var/run/token2", "password: {{ lookup('env', 'PW2') }}",
            "partitionKey: tenant#42",
            "authorization_code_expiry: 10m", "jwt_audience=https://api.acme.io/v2", "oauth_scopes=read:org,repo",
        ],
        "hash behind a name": [
            f"cache_key: {h(40)}", f"key={h(64)}", f"object-key: {h(32)}.bin", f"etag_key={h(32)}",
            f"partition_key: {f.uuid()}",
            f"secretVersionId: {f.uuid()}", f"tokenId={f.uuid()}", f"client_id: {h(64)}",
            f"\"client_id\": \"{o(32)}\"", f"x-trace-key: {h(16)}",
            f"aws-cli@sha256:{h(64)}", f"key_fingerprint={h(40)}", f"password_hash_algorithm: {h(8)}",
            f"Gemfile.lock {h(40)}",
        ],
        "random text": [
            o(64, LETTERS), o(120, ALNUM), f.base64(90), f"{o(20, UPPER)}", f"id {o(22, URLSAFE)}",
            f"/{o(12)}/{o(30)}.js", h(128),
            f"https://explosive.notion.site/Page-{h(32)}?pvs=74", f"https://x.io/image?q={o(60, URLSAFE)}",
            f"q?{o(40, HEX)}",
            f"https://docs.google.com/document/d/{o(44, URLSAFE)}", f"sha512-{f.base64(64)}",
            f"{o(60)}...{o(60)}", f"+{o(90)}/{o(30)}==",
        ],
        "real look": [
            f",apiKey:\"{h(32)}\",", f"csrf-token={f.base64(64)}", f"meraki-api-key: {h(40)}",
            "author = \"james.fake@ymail.com\"",
            f"sk-ant-api03-{o(60, URLSAFE)}AA", f"api_token: {o(37)}",
        ],
    }  # fmt: skip
