"""Texts that carry a secret, each with the part that must not survive. Written before the rules."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from key_material import ALNUM, BASE32, BASE58, BECH32, DIGITS, HEX, LETTERS, LOWER, UPPER, URLSAFE, Forge


class Positive(NamedTuple):
    """A text and its secret: no piece of six characters of `secret` may be left, layout inside it set aside."""

    kind: str
    text: str
    secret: str


def positives(seed: int = 20261120) -> list[Positive]:
    """Every labelled secret, the same for the same seed."""
    forge = Forge(seed)
    return [
        row for group in (vendors, assignments, headers, urls, files, keys, personal, hidden) for row in group(forge)
    ]


def _rows(kind: str, secret: Callable[[], str], *texts: str) -> list[Positive]:
    rows: list[Positive] = []
    for text in texts:
        value = secret()
        rows.append(Positive(kind, text.replace("{}", value), value))
    return rows


def vendors(f: Forge) -> list[Positive]:
    """Keys that their issuer made recognisable by a prefix or a shape."""
    o = f.of
    return [
        *_rows("aws-key-id", lambda: "AK" + "IA" + o(16, BASE32), "aws_access_key_id = {}", "found {} in the log"),
        *_rows("aws-key-id", lambda: "AS" + "IA" + o(16, BASE32), '{"AccessKeyId": "{}", "Status": "Active"}'),
        *_rows("aws-secret", lambda: o(40, ALNUM + "/+"), "AWS_SECRET_ACCESS_KEY={}", '  "SecretAccessKey": "{}",'),
        *_rows("aws-bedrock", lambda: "AB" + "SK" + f.base64(96), "AWS_BEARER_TOKEN_BEDROCK={}"),
        *_rows(
            "github", lambda: "gh" + "p_" + o(36), "remote: https://x:{}@github.com/a/b", "GITHUB_TOKEN={}", "see {}."
        ),
        *_rows("github", lambda: "gh" + "o_" + o(36), "gh auth: logged in with {} (keyring)"),
        *_rows("github", lambda: "gh" + "s_" + o(36), "::debug::token {}"),
        *_rows("github", lambda: "github" + "_pat_" + o(22) + "_" + o(59), "token: {}", "echo {} | gh auth login"),
        *_rows("gitlab", lambda: "gl" + "pat-" + o(20, URLSAFE), "CI_TOKEN {} set", "PRIVATE-TOKEN: {}"),
        *_rows("gitlab", lambda: "gl" + "rt-" + o(20, URLSAFE), "gitlab-runner register --token {}"),
        *_rows(
            "slack", lambda: "xo" + "xb-" + o(12, DIGITS) + "-" + o(12, DIGITS) + "-" + o(24), "slack bot {} joined"
        ),
        *_rows(
            "slack", lambda: "xa" + "pp-1-A" + o(10, UPPER) + "-" + o(13, DIGITS) + "-" + o(64, HEX), "SLACK_APP={}"
        ),
        *_rows(
            "slack-webhook",
            lambda: "https://hooks." + f"slack.com/services/T{o(8, UPPER)}/B{o(10, UPPER)}/{o(24)}",
            'curl -X POST {} -d \'{"text": "hi"}\'',
        ),
        *_rows(
            "discord-webhook",
            lambda: "https://discord" + f".com/api/webhooks/{o(18, '123456789')}/{o(68, URLSAFE)}",
            "notify via {}",
        ),
        *_rows(
            "teams-webhook",
            lambda: (
                f"https://acme.webhook.office.com/webhookb2/{f.uuid()}@{f.uuid()}"
                + f"/IncomingWebhook/{f.hex(32)}/{f.uuid()}"
            ),
            "TEAMS={}",
        ),
        *_rows("stripe", lambda: "sk" + "_live_" + o(24), "stripe.api_key = '{}'", "charge failed with key {}"),
        *_rows("stripe", lambda: "rk" + "_test_" + o(99), "STRIPE={}"),
        *_rows("stripe", lambda: "wh" + "sec_" + o(32), "whsec is {}"),
        *_rows(
            "openai", lambda: "sk" + "-proj-" + o(74, URLSAFE) + "T3Blbk" + "FJ" + o(74, URLSAFE), "OPENAI_API_KEY={}"
        ),
        *_rows("openai", lambda: "sk" + "-" + o(20) + "T3Blbk" + "FJ" + o(20), "Incorrect API key provided: {}."),
        *_rows("openrouter", lambda: "sk" + "-or-v1-" + f.hex(64), "api_key={}"),
        *_rows("anthropic", lambda: "sk-" + "ant-api03-" + o(93, URLSAFE) + "AA", "x-api-key: {}", 'export KEY="{}"'),
        *_rows("anthropic", lambda: "sk-" + "ant-admin01-" + o(93, URLSAFE) + "AA", "the admin key {} works"),
        *_rows("google", lambda: "AI" + "zaSy" + o(33, URLSAFE), "https://maps.x.com/js?key={}&v=3", "key: {}"),
        *_rows("google-oauth", lambda: "GOC" + "SPX-" + o(28, URLSAFE), '"client_secret": "{}"'),
        *_rows("google-oauth", lambda: "ya29" + ".a0" + o(160, URLSAFE), "access token {} expires in 3599"),
        *_rows("npm", lambda: "np" + "m_" + o(36), "//registry.npm.example/:_authToken={}", "npm token {} revoked"),
        *_rows("pypi", lambda: "py" + "pi-AgEIcHlwaS5vcmc" + o(80, URLSAFE), "password = {}", "twine upload -p {}"),
        *_rows("sendgrid", lambda: "S" + "G." + o(22, URLSAFE) + "." + o(43, URLSAFE), "SG key {} is live"),
        *_rows("twilio", lambda: "S" + "K" + f.hex(32), "TWILIO_API_KEY={}", "twilio client {} created"),
        *_rows("huggingface", lambda: "h" + "f_" + o(34, LETTERS), "HF_TOKEN={}", "huggingface-cli login --token {}"),
        *_rows("digitalocean", lambda: "do" + "p_v1_" + f.hex(64), "doctl auth init -t {}"),
        *_rows("heroku", lambda: f.uuid(), "HEROKU_API_KEY={}"),
        *_rows("heroku", lambda: "HR" + "KU-" + f.uuid(), "heroku said {}"),
        *_rows("mailgun", lambda: "key" + "-" + f.hex(32), "mailgun api {} used", "MAILGUN_KEY={}"),
        *_rows("square", lambda: "EA" + "AA" + o(60, URLSAFE), "SQUARE_ACCESS_TOKEN={}"),
        *_rows("square", lambda: "sq0" + "csp-" + o(43, URLSAFE), "square {} rotated"),
        *_rows("shopify", lambda: "shp" + "at_" + f.hex(32), "shop token {}"),
        *_rows("databricks", lambda: "da" + "pi" + f.hex(32), "databricks configure {}"),
        *_rows("vault", lambda: "hv" + "s." + o(95, URLSAFE), "VAULT_TOKEN={}", "vault login {}"),
        *_rows("grafana", lambda: "gl" + "c_" + f.base64(60), "grafana cloud {}"),
        *_rows("grafana", lambda: "gl" + "sa_" + o(32) + "_" + f.hex(8), "grafana service account {}"),
        *_rows("sentry", lambda: "snt" + "rys_" + f.base64(60).rstrip("=") + "_" + o(43), "sentry-cli --auth-token {}"),
        *_rows("linear", lambda: "lin" + "_api_" + o(40), "linear {} ok"),
        *_rows("notion", lambda: "nt" + "n_" + o(11, DIGITS) + o(35), "notion integration {}"),
        *_rows("doppler", lambda: "dp" + ".pt." + o(43), "doppler {} set"),
        *_rows("tavily", lambda: "tv" + "ly-" + o(32), "search with {}", "TAVILY={}"),
        *_rows("exa", f.uuid, "EXA_API_KEY={}"),
        *_rows("cloudflare", lambda: o(40, URLSAFE), "CLOUDFLARE_API_TOKEN={}"),
        *_rows("fastly", lambda: o(32, URLSAFE), 'fastly_api_token: "{}"'),
        *_rows("okta", lambda: "00" + o(40, URLSAFE), "Authorization: SSWS {}"),
        *_rows("postman", lambda: "PM" + "AK-" + f.hex(24) + "-" + f.hex(34), "postman {} here"),
        *_rows("newrelic", lambda: "NR" + "AK-" + o(27, UPPER), "new relic {}"),
        *_rows("datadog", lambda: f.hex(32), "DD_API_KEY={}", "DD-API-KEY: {}"),
        *_rows("atlassian", lambda: "ATA" + "TT3xFfGF0" + o(172, URLSAFE) + "=" + o(8, "0123456789ABCDEF"), "jira {}"),
        *_rows("dropbox", lambda: "sl" + ".B" + o(135, URLSAFE), "dropbox {}"),
        *_rows("firebase", lambda: "AAAA" + o(7) + ":APA91b" + o(134, URLSAFE), "fcm server {} used"),
        *_rows("mapbox", lambda: "sk" + ".eyJ1Ijoi" + o(60) + "." + o(22, URLSAFE), "mapbox {}"),
        *_rows("plaid", lambda: "access" + "-sandbox-" + f.uuid(), "plaid said {}"),
        *_rows("netlify", lambda: "nf" + "p_" + o(40), "netlify {}"),
        *_rows("vercel", lambda: o(24), "VERCEL_TOKEN={}"),
        *_rows("supabase", lambda: "sb" + "p_" + f.hex(40), "supabase link {}"),
        *_rows("planetscale", lambda: "pscale" + "_tkn_" + o(43, URLSAFE), "planetscale {}"),
        *_rows("terraform", lambda: o(14) + ".atlas" + "v1." + o(67, URLSAFE), "tfc {}"),
        *_rows("docker", lambda: "dckr" + "_pat_" + o(27, URLSAFE), "docker login -u me -p {}"),
        *_rows("rubygems", lambda: "rubygems" + "_" + f.hex(48), ":gems_api_key: {}"),
        *_rows("telegram", lambda: o(9, "123456789") + ":AA" + o(33, URLSAFE), "https://api.telegram.org/bot{}/getMe"),
        *_rows("telegram", lambda: o(10, "123456789") + ":AA" + o(33, URLSAFE), "bot token {} ok"),
        *_rows("discord", lambda: "MT" + o(24) + ".G" + o(5) + "." + o(38, URLSAFE), "client.run('{}')"),
        *_rows("age", lambda: "AGE-SECRET" + "-KEY-1" + o(58, BECH32.upper()), "# created: 2026-01-01\n{}"),
        *_rows("azure", lambda: o(3) + "8Q~" + o(34, URLSAFE), "azure app secret {}"),
        *_rows(
            "azure", lambda: f.base64(64), "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=x"
        ),
        *_rows(
            "azure",
            lambda: f.base64(32),
            "Endpoint=sb://b.servicebus.windows.net/;SharedAccessKeyName=R;SharedAccessKey={}",
        ),
        *_rows("groq", lambda: "gs" + "k_" + o(52), "groq {}"),
        *_rows("xai", lambda: "xa" + "i-" + o(80), "grok {}"),
        *_rows("perplexity", lambda: "pp" + "lx-" + o(48), "pplx {}"),
        *_rows("replicate", lambda: "r" + "8_" + o(37), "replicate {}"),
        *_rows("langsmith", lambda: "lsv2" + "_pt_" + f.hex(32) + "_" + f.hex(10), "langsmith {}"),
        *_rows("figma", lambda: "fig" + "d_" + o(40, URLSAFE), "figma {}"),
        *_rows("airtable", lambda: "pat" + o(14) + "." + f.hex(64), "airtable {}"),
        *_rows("alibaba", lambda: "LT" + "AI" + o(20), "aliyun id {}"),
        *_rows("dynatrace", lambda: "dt0" + "c01." + o(24, BASE32) + "." + o(64, BASE32), "dynatrace {}"),
        *_rows("pulumi", lambda: "pul" + "-" + f.hex(40), "pulumi login {}"),
        *_rows("artifactory", lambda: "AK" + "Cp" + o(69), "jfrog {}"),
    ]


def assignments(f: Forge) -> list[Positive]:
    """A name that means a secret, and a literal."""
    o = f.of
    return [
        *_rows(
            "password",
            f.password,
            'password = "{}"',
            "DB_PASSWORD={}",
            '{"user": "bob", "passwd": "{}"}',
            "mysql -u root --password={} app",
            "  password: {}\n  port: 5432",
            "<password>{}</password>",
            "PGPASSWORD={} psql -h db",
            "pwd: '{}',",
            "$config['db_pass'] = '{}';",
            "define('DB_PASSWORD', '{}');",
            "spring.datasource.password={}",
            "ALTER USER app WITH PASSWORD '{}';",
            "CREATE USER 'a'@'%' IDENTIFIED BY '{}';",
            "sshpass -p '{}' ssh root@10.0.0.5",
            'let password: &str = "{}";',
            'const dbPassword: string = "{}"',
            "- name: POSTGRES_PASSWORD\n  value: {}",
            '{"name": "MYSQL_ROOT_PASSWORD", "value": "{}"}',
            "docker run -e MYSQL_ROOT_PASSWORD={} mysql:8",
            "requirepass {}",
            'config["password"] = "{}"',
            "The password is {}",
            "passphrase: {}",
            'string pwd = @"{}";',
            "| password | {} |",
            "ENV ADMIN_PASSWORD {}",
            ":password => '{}',",
        ),
        *_rows("password", lambda: "hunt" + "er2", "password: {}", "login bob / password={}"),
        *_rows("password", lambda: "corr" + "ect horse " + "battery 9", 'PASSPHRASE="{}"'),
        *_rows("password", lambda: o(6, DIGITS), 'password="{}"'),
        *_rows(
            "api-key",
            lambda: o(32),
            "api_key: {}",
            'apiKey: "{}",',
            "X-Auth-Token: {}",
            'client_secret="{}"',
            'os.environ["SERVICE_API_KEY"] = "{}"',
            "export APP_SECRET={}",
            'setx ACME_TOKEN "{}"',
            "--api-key {}",
            '#define API_KEY "{}"',
            'secret_key_base: "{}"',
            "SECRET_KEY = '{}'",
            "access_token={}&scope=all",
            '<add key="ApiKey" value="{}" />',
            'signing_key := "{}"',
            "token = {}",
            'headers = {"Api-Key": "{}"}',
            "encryption_key: |\n    {}",
            "refresh_token: >-\n  {}\nexpires: 3600",
        ),
        *_rows(
            "hex-key", lambda: f.hex(32), "api_key: {}", "SECRET={}", '"privateKey": "0x{}{}"'.replace("{}{}", "{}")
        ),
        *_rows("hex-key", lambda: f.hex(64), "JWT_SECRET={}", "wallet private_key = {}"),
        *_rows("otp-seed", lambda: o(32, BASE32), "otpauth://totp/Acme:bob?secret={}&issuer=Acme", "TOTP_SECRET={}"),
        *_rows("session", lambda: o(32, LOWER), "session_id={}; path=/", "PHPSESSID={}", "sessionid: {}"),
        *_rows(
            "csrf", lambda: o(64), '<input name="csrfmiddlewaretoken" value="{}">', "csrf_token={}", "X-CSRF-Token: {}"
        ),
        *_rows(
            "seed-phrase",
            lambda: " ".join(f.random.sample(_WORDS, 12)),
            'mnemonic = "{}"',
            "seed phrase: {}",
        ),
        *_rows(
            "curl-user", f.password, "curl -u admin:{} https://intra.acme.io/api", "curl --user 'a:{}' https://x.io"
        ),
        *_rows("python-auth", f.password, 'requests.get(url, auth=("svc", "{}"))'),
        *_rows(
            "odbc", f.password, "Driver={SQL Server};Server=db;Uid=sa;Pwd={};", "Data Source=x;User ID=sa;Password={}"
        ),
    ]


def headers(f: Forge) -> list[Positive]:
    """HTTP headers, as sent and as logged."""
    o = f.of
    return [
        *_rows(
            "bearer",
            lambda: o(40),
            "Authorization: Bearer {}",
            "curl -H 'authorization: bearer {}' https://api.acme.io",
            '{"Authorization": "Bearer {}"}',
            "> Authorization: token {}",
            "request failed (Bearer {}): 401",
            "'Authorization': f'Bearer {}'",
        ),
        *_rows("basic", lambda: base64.b64encode(f"svc:{o(12)}".encode()).decode(), "Authorization: Basic {}"),
        *_rows("basic", lambda: base64.b64encode(f"svc:{o(14)}".encode()).decode(), "Proxy-Authorization: Basic {}"),
        *_rows("digest-auth", lambda: f.hex(32), 'Authorization: Digest username="u", realm="r", response="{}"'),
        *_rows("cookie", lambda: o(32, LOWER), "Cookie: theme=dark; sid={}", "Set-Cookie: JSESSIONID={}; HttpOnly"),
        *_rows("cookie", lambda: f.jwt(), "Set-Cookie: id={}; Path=/"),
        *_rows("x-api-key", lambda: o(40), "X-Api-Key: {}", "-H 'x-api-key:{}'", '["x-api-key", "{}"]'),
        *_rows("sigv4", lambda: f.hex(64), "AWS4-HMAC-SHA256 Credential=x/20260101/eu/s3/aws4_request, Signature={}"),
    ]


def urls(f: Forge) -> list[Positive]:
    """User information, signed parameters, tokens in queries."""
    o = f.of
    return [
        *_rows(
            "url-password",
            lambda: o(14),
            "DATABASE_URL=postgres://app:{}@db.prod.internal:5432/app",
            "mongodb+srv://root:{}@cluster0.ab1cd.mongodb.net/x",
            "redis://:{}@10.2.3.4:6379/0",
            "amqp://guest:{}@mq:5672/%2f",
            "fetch('https://deploy:{}@ci.acme.io/job')",
            "git remote add o https://oauth2:{}@gitlab.acme.io/a/b.git",
            "jdbc:oracle:thin:scott/{}@//db:1521/x",
            "jdbc:mysql://db/app?user=a&password={}",
            "smtp://mailer:{}@smtp.acme.io:587",
        ),
        *_rows("url-password", lambda: "p%40" + o(10), "mysql://root:{}@localhost/app"),
        *_rows("sigv4", lambda: f.hex(64), "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}"),
        *_rows(
            "sigv4", lambda: o(200, ALNUM + "/+"), "https://b.s3.amazonaws.com/k?X-Amz-Security-Token={}&X-Amz-Date=1"
        ),
        *_rows("gcs", lambda: f.hex(128), "https://storage.googleapis.com/b/o?X-Goog-Expires=9&X-Goog-Signature={}"),
        *_rows(
            "sas", lambda: quote(f.base64(32), safe=""), "https://a.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}"
        ),
        *_rows(
            "cloudfront",
            lambda: o(172, URLSAFE) + "__",
            "https://d1.cloudfront.net/x?Expires=1&Signature={}&Key-Pair-Id=K",
        ),
        *_rows("query-token", lambda: o(32), "GET /v1/me?access_token={}&x=1 200", "wss://x.io/ws?token={}"),
        *_rows(
            "query-token", lambda: o(40), "https://x.io/callback?code=1&client_secret={}#top", "http://x/?api_key={}"
        ),
    ]


def files(f: Forge) -> list[Positive]:
    """Credential files of common tools."""
    o = f.of
    return [
        *_rows(
            "netrc", lambda: o(18), "machine api.acme.io login bot password {}", "machine h\n  login u\n  password {}"
        ),
        *_rows("pgpass", lambda: o(14), "db.acme.io:5432:app:svc:{}", "*:*:*:postgres:{}"),
        *_rows(
            "docker-auth",
            lambda: base64.b64encode(f"bot:{o(30)}".encode()).decode(),
            '{"auths":{"ghcr.io":{"auth":"{}"}}}',
        ),
        *_rows("git-credentials", lambda: o(40, LOWER), "https://bob:{}@git.acme.io"),
        *_rows("htpasswd", lambda: "$apr1$" + o(8) + "$" + o(22), "bob:{}"),
        *_rows("htpasswd", lambda: "$2y$10$" + o(53, ALNUM + "./"), "alice:{}", "hash = '{}'"),
        *_rows("shadow", lambda: "$6$" + o(16) + "$" + o(86, ALNUM + "./"), "root:{}:19000:0:99999:7:::"),
        *_rows("argon2", lambda: f"$argon2id$v=19$m=65536,t=3,p=4${o(22)}${o(43)}", "stored {}"),
        *_rows(
            "kubeconfig",
            lambda: base64.b64encode(f.pem("RSA PRIVATE " + "KEY", 6).encode()).decode(),
            "    client-key-data: {}",
        ),
        *_rows("kubeconfig", f.jwt, "- name: admin\n  user:\n    token: {}"),
        *_rows("k8s-secret", lambda: base64.b64encode(o(16).encode()).decode(), "kind: Secret\ndata:\n  password: {}"),
        *_rows(
            "npmrc", lambda: base64.b64encode(f"me:{o(16)}".encode()).decode(), "_auth={}", "//r.acme.io/:_password={}"
        ),
        *_rows("wireguard", lambda: f.base64(32), "[Interface]\nPrivateKey = {}\nAddress = 10.0.0.2/24"),
        *_rows("ansible", lambda: f.hex(80) + "\n" + f.hex(80), "$ANSIBLE_VAULT;1.1;AES256\n{}"),
        *_rows("wifi", f.password, 'network={ ssid="x" psk="{}" }'),
    ]


def keys(f: Forge) -> list[Positive]:
    """Private keys and signed tokens."""
    o = f.of
    pem = f.pem
    return [
        *_rows("pem", lambda: pem("RSA PRIVATE " + "KEY", 12), "key file:\n{}\n", "{}"),
        *_rows("pem", lambda: pem("OPENSSH PRIVATE " + "KEY", 6), "$ cat ~/.ssh/id_ed25519\n{}\n$ ls"),
        *_rows("pem", lambda: pem("EC PRIVATE " + "KEY", 3), "{}"),
        *_rows("pem", lambda: pem("ENCRYPTED PRIVATE " + "KEY", 5), "-> {}"),
        *_rows("pem", lambda: pem("PGP PRIVATE KEY " + "BLOCK", 9), "{}"),
        *_rows("pem", lambda: pem("PRIVATE " + "KEY", 8).replace("\n", "\\n"), '  "private_key": "{}\\n",'),
        *_rows("pem", lambda: pem("PRIVATE " + "KEY", 8).replace("\n", "\\\\n"), '"{\\"private_key\\": \\"{}\\"}"'),
        *_rows("pem", lambda: pem("RSA PRIVATE " + "KEY", 6, end=False), "{}", "head -5 key.pem\n{}"),
        *_rows("pem", lambda: pem("PRIVATE " + "KEY", 4).replace("\n", "\n    "), "key: |\n    {}\nnext: 1"),
        *_rows(
            "ppk", lambda: f.base64(64) + "\n" + f.base64(64), "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{}"
        ),
        *_rows("jwk", lambda: o(43, URLSAFE), '{"kty":"EC","crv":"P-256","d":"{}"}'),
        *_rows("jwt", f.jwt, "eyJ token was {} in the log", '"id_token":"{}"', "?jwt={}&x=1"),
        *_rows("jwt", lambda: f.jwt().rsplit(".", 1)[0] + ".", "truncated {}"),
        *_rows("wif", lambda: _base58check(b"\x80" + f.random.randbytes(32) + b"\x01"), "import {} into the wallet"),
        *_rows("xprv", lambda: "xprv" + o(107, BASE58), "master {}"),
    ]


# fmt: off
_WORDS = [
    "abandon", "ability", "able", "absent", "absorb", "abstract", "access", "accident", "account", "acid",
    "acoustic", "acquire", "across", "action", "actor", "adjust", "admit", "adult", "advance", "advice", "aerobic",
    "afford", "again", "agent", "alarm", "album", "alert", "alien", "alpha", "already", "amazing",
]  # from the word list of BIP 39
# fmt: on


def _base58check(payload: bytes) -> str:
    import hashlib

    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, out = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        out = BASE58[digit] + out
    return out


def personal(f: Forge) -> list[Positive]:
    """Personal data with a form or a check digit."""
    o = f.of
    return [
        *_rows("email", lambda: "maria.kowalska" + "@" + "acme-corp.io", "Reported by {} on Monday", "<mailto:{}>"),
        *_rows("email", lambda: "j.o-brien+dev" + "@" + "mail.example-company.co.uk", 'git config user.email "{}"'),
        *_rows("email", lambda: "li.wei88" + "@" + "qq.com", "To: Li Wei <{}>", "contact={}&x=1", "[{}](mailto:x)"),
        *_rows("phone", lambda: "+44 20 7946 " + "0958", "call me at {} after 5", "{}"),
        *_rows("phone", lambda: "+49 (0)30 " + "901820", "Tel: {}"),
        *_rows("phone", lambda: "+1-415-" + "555-2671", "whatsapp {} please", '"phone": "{}"'),
        *_rows("phone", lambda: "+4915" + "123456789", "SMS to {} failed"),
        *_rows("phone", lambda: "(415) 555-" + "2671", "phone number: {}", "Mobile {}"),
        *_rows("card", lambda: _card_groups(f.luhn("4539", 16)), "card {} exp 11/29"),
        *_rows("card", lambda: f.luhn("5412", 16), "paid with {}", '"card_number": "{}"'),
        *_rows("card", lambda: f.luhn("3782", 15), '"pan":"{}"'),
        *_rows("card", lambda: _card_groups(f.luhn("6011", 16)).replace(" ", "-"), "Visa/MC: {}"),
        *_rows("iban", lambda: f.iban("DE", "50010517" + o(10, DIGITS)), "IBAN: {}", "transfer to {} today"),
        *_rows("iban", lambda: f.iban("GB", "NWBK" + o(14, DIGITS)), "pay to {} please"),
        *_rows("iban", lambda: _fours(f.iban("FR", "20041010050500013M02606")), "account {}"),
        *_rows("ssn", lambda: "536-22-" + "8145", "SSN {} on file", '"ssn": "{}"', "social security number {}"),
        *_rows("nino", lambda: "AB" + " 12 34 56 " + "C", "National Insurance no. {}"),
        *_rows("cpf", lambda: "529.982." + "247-25", "CPF: {}", "cliente {}"),
        *_rows("dni", lambda: "1234567" + "8Z", "DNI {}"),
        *_rows("codice-fiscale", lambda: "RSSMRA85" + "T10A562S", "cittadino {}"),
        *_rows("aadhaar", lambda: "2341 2341 " + "2346", "Aadhaar: {}"),
        *_rows("pesel", lambda: "440514" + "01359", "PESEL {}"),
        *_rows("passport", lambda: "C01X0" + "0T478", "Passport No: {}"),
        *_rows("dob", lambda: "1987-03-" + "14", "patient DOB: {}", '"date_of_birth": "{}"'),
        *_rows("ip", lambda: "81.2.69." + "142", "client 1 connected from {}", "X-Forwarded-For: {}", '"ip": "{}"'),
        *_rows("ip", lambda: "2a02:6b8:b010:9020:1::" + "2", "remote_addr={}"),
        *_rows("bitcoin", lambda: "bc1q" + "w508d6qejxtdg4y5r3zarvary0c5xw7k" + "v8f3t4", "send to {}"),
    ]


def _card_groups(number: str) -> str:
    return " ".join((number[:4], number[4:8], number[8:12], number[12:]))


def _fours(text: str) -> str:
    return " ".join(text[i : i + 4] for i in range(0, len(text), 4))


def hidden(f: Forge) -> list[Positive]:
    """The same secrets inside other encodings and layouts."""
    o = f.of
    github = lambda: "gh" + "p_" + o(36)  # noqa: E731
    anthropic = lambda: "sk-" + "ant-api03-" + o(93, URLSAFE) + "AA"  # noqa: E731
    rows = [
        *_rows("json-in-json", f.password, json.dumps({"body": json.dumps({"password": "{}"})})),
        *_rows("json-in-json", lambda: o(32), json.dumps(json.dumps(json.dumps({"api_key": "{}", "n": 1})))),
        *_rows("json-in-json", github, json.dumps({"out": json.dumps([{"v": "{}"}])})),
        *_rows("url-encoded", lambda: o(24), "body=user%3Dbob%26password%3D{}%26next%3D%2F"),
        *_rows("url-encoded", lambda: o(30), "q=%7B%22client_secret%22%3A%22{}%22%7D"),
        *_rows("url-encoded", lambda: o(40), "h=Authorization%3A%20Bearer%20{}"),
        *_rows("url-encoded", lambda: quote(f.pem("RSA PRIVATE " + "KEY", 3), safe=""), "key={}"),
        *_rows("html", f.password, "&quot;password&quot;:&quot;{}&quot;"),
        *_rows("go-json", lambda: o(32), '{"url":"https://x.io/?a=1\\u0026access_token={}\\u0026b=2"}'),
        *_rows("nested", lambda: o(40), '{"a": {"b": [{"headers": {"authorization": ["Bearer {}"]}}]}}'),
        *_rows(
            "cut", lambda: "gh" + "p_" + o(11), "the token is {}", "the token is {}…", "the token is {}... [truncated]"
        ),
        *_rows("cut", lambda: "sk-" + "ant-api03-" + o(30, URLSAFE), "tail: {}", 'key="{}'),
        *_rows("cut", lambda: o(17), '{"password": "{}', "AWS_SECRET_ACCESS_KEY={}"),
        *_rows("ampersand", lambda: "AI" + "za" + o(35), "u?key={}&callback=x"),
        *_rows("glued", github, "'{}'", "({})", "x={};y", "[{}]", "{},", "`{}`", "{}\\n"),
        *_rows("crlf", f.password, "DB_HOST=x\r\nDB_PASSWORD={}\r\nDB_PORT=1\r\n"),
        *_rows("ansi", github, "\x1b[32mtoken\x1b[0m: \x1b[1m{}\x1b[0m"),
        *_rows("diff", f.password, "-DB_PASSWORD={}\n+DB_PASSWORD=${DB_PASSWORD}"),
        *_rows("numbered", f.password, "    12\tDB_PASSWORD={}\n    13\tDB_PORT=5432"),
        *_rows("grep", lambda: o(36), "src/conf.py:12:API_TOKEN = '{}'"),
    ]
    for make, at in ((github, 20), (anthropic, 60)):
        for gap in ("\n", "\n    ", "\\\n", '" \\\n    "', "\r\n", '"\n    "'):
            secret = make()
            rows.append(Positive("split-lines", f"token {secret[:at]}{gap}{secret[at:]} end", secret))
    return rows
