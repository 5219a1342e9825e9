"""Keys of many services, bare in neutral surroundings and under a secret's name. Written before the rules of 2026.

A form is written with what is drawn in angle brackets: `<an36>` 36 letters and digits, `<url43>` also - and _, `<hex>`,
`<up>` and `<low>` with digits, `<b32>`, `<dig>`, `<let>`, `<b58>`, `<b64>` (bytes), `<uuid>`. The bar is taken out: it
keeps scanners from taking this file for a leak.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from key_material import ALNUM, BASE32, BASE58, DIGITS, HEX, LETTERS, LOWER, UPPER, URLSAFE, Forge


class Key(NamedTuple):
    """A text with a key in it, of which no six characters may be left."""

    kind: str
    context: str
    text: str
    secret: str


# Told by their form alone.
BARE = {
    "aws-key-id": "AK|IA<b32-16>", "aws-temporary-id": "AS|IA<b32-16>", "aws-session-token": "IQo|Jb3JpZ2luX2Vj<url240>",
    "aws-bedrock": "AB|SK<an130>=", "google-api": "AI|zaSy<url33>", "google-auth-key": "A|Q.Ab8RN6<url44>",
    "google-oauth-secret": "GOC|SPX-<url28>", "google-access": "ya2|9.a0<url160>", "google-refresh": "1|//0<url60>",
    "azure-client-secret": "<an3>8|Q~<url34>", "azure-storage": "<an76>+ASt<an5>A==",
    "azure-84": "<an52>JQQ|J99B<an9>XJ3w3AAAACOG<an4>", "azure-devops": "<an52>JQQ|J99B<an9>AAAAAAAAAAAAASAZDO<an4>",
    "alibaba": "LT|AI5t<an20>", "tencent": "AK|ID<an32>", "digitalocean": "do|p_v1_<hex64>",
    "heroku": "HR|KU-AA<url58>", "flyio": "fo|1_<url43>", "flyio-macaroon": "fm|2_<an160>", "scaleway": "SC|W<up17>",
    "github": "gh|p_<an36>", "github-server": "gh|s_<an36>", "github-fine": "github|_pat_<an22>_<an59>",
    "gitlab": "gl|pat-<url20>", "gitlab-runner": "gl|rt-t1_<url20>", "gitlab-deploy": "gl|dt-<url20>",
    "atlassian": "ATA|TT3xFfGF0<url172>=<up8>", "bitbucket": "AT|BB<an32><up8>", "npm": "np|m_<an36>",
    "pypi": "py|pi-AgEIcHlwaS5vcmc<url120>", "rubygems": "rubygems|_<hex48>", "cargo": "ci|o<an32>", "nuget": "oy|2<low43>",
    "docker": "dckr|_pat_<url27>", "artifactory": "AK|Cp8<an68>", "terraform": "<an14>.atlas|v1.<url67>",
    "pulumi": "pul|-<hex40>", "vault": "hv|s.<url95>", "doppler": "dp|.pt.<an43>", "infisical": "st|.<uuid>.<hex32>.<hex32>",
    "1password": "op|s_eyJ<an240>", "postman": "PM|AK-<hex24>-<hex34>", "circleci": "CCI|PAT_<an22>_<hex40>",
    "sonar": "sq|u_<hex40>", "buildkite": "bku|a_<hex40>", "snyk": "sny|k_uat.<hex8>.<url120>", "expo": "exp|o_<an40>",
    "tailscale": "tske|y-auth-k<an12>CNTRL-<an32>", "tailscale-api": "tske|y-api-k<an12>CNTRL-<an32>",
    "anthropic": "sk-|ant-api03-<url93>AA", "anthropic-oauth": "sk-|ant-oat01-<url93>AA", "openai-project": "sk|-proj-<url74>T3Blbk|FJ<url74>",
    "openai-service": "sk|-svcacct-<url74>T3Blbk|FJ<url74>", "openrouter": "sk|-or-v1-<hex64>", "deepseek": "sk|-<hex32>",
    "langfuse": "sk|-lf-<uuid>", "huggingface": "h|f_<let34>", "groq": "gs|k_<an52>", "xai": "xa|i-<an80>",
    "perplexity": "pp|lx-<an48>", "replicate": "r|8_<an37>", "langsmith": "lsv2|_pt_<hex32>_<hex10>", "tavily": "tv|ly-dev-<an32>",
    "together": "tg|p_v1_<url43>", "fireworks": "f|w_<an24>", "elevenlabs": "s|k_<hex48>", "firecrawl": "f|c-<hex32>",
    "voyage": "p|a-<url43>", "cerebras": "cs|k-<low48>", "nvidia": "nva|pi-<url64>", "jina": "jin|a_<hex32><url28>",
    "pinecone": "pcs|k_<an6>_<an63>", "e2b": "e2|b_<hex40>", "runpod": "rp|a_<up46>", "browserbase": "bb|_live_<url27>",
    "apify": "apif|y_api_<an36>", "mistral-codestral": "a|s-<an32>", "assistants-key": "ke|y_<hex64>",
    "slack-bot": "xo|xb-<dig12>-<dig13>-<an24>", "slack-bot-1": "xo|xb-123456789012-<dig13>-<an24>", "slack-app": "xa|pp-1-A<up10>-<dig13>-<hex64>",
    "slack-cookie": "xo|xd-<an60>%2B<an40>%3D", "slack-hook": "https://hooks.|slack.com/services/T<up8>/B<up10>/<an24>",
    "discord-hook": "https://discord|.com/api/webhooks/<dig19>/<url68>", "teams-hook": "https://example.webhook|.office.com/webhookb2/<uuid>@<uuid>/IncomingWebhook/<hex32>/<uuid>",
    "telegram": "<dig10>:|AA<url33>", "telegram-row": "12345|67890:AA<url33>", "discord-bot": "MT<an24>.G<an5>.<url38>",
    "sendgrid": "S|G.<url22>.<url43>", "mailgun": "ke|y-<hex32>", "brevo": "xkey|sib-<hex64>-<an16>", "resend": "r|e_<an8>_<an24>",
    "postmark-none": "md|-<an22>", "mailchimp": "<hex32>-u|s21", "twilio": "S|K<hex32>",
    "stripe": "sk|_live_<an24>", "stripe-long": "rk|_live_<an99>", "stripe-org": "sk|_org_live_<an40>", "stripe-hook": "wh|sec_<an32>",
    "square": "sq0|atp-<url22>", "square-token": "EA|AA<url60>", "shopify": "shp|at_<hex32>", "plaid": "access|-production-<uuid>",
    "facebook": "EA|ABsbCS1iHg<an150>", "facebook-page": "EA|AG<an160>", "instagram": "IG|QVJ<an120>",
    "grafana": "gl|sa_<an32>_<hex8>", "grafana-cloud": "gl|c_eyJ<an120>", "sentry": "sntr|ys_eyJ<an90>_<an43>", "sentry-user": "sntr|yu_<hex64>",
    "newrelic": "NR|AK-<up27>", "dynatrace": "dt0|c01.<b32-24>.<b32-64>", "databricks": "da|pi<hex32>", "planetscale": "pscale|_tkn_<url43>",
    "supabase": "sb|p_<hex40>", "supabase-secret": "sb|_secret_<url22>_<url8>", "neon": "nap|i_<low64>", "posthog": "ph|x_<an43>",
    "linear": "lin|_api_<an40>", "notion": "nt|n_<dig11><an35>", "figma": "fig|d_<url40>", "dropbox": "sl|.u.<url180>",
    "airtable": "pa|t<an14>.<hex64>", "asana": "2/<dig16>/<dig16>:|<hex32>", "clickup": "p|k_<dig8>_<up32>", "hubspot": "pa|t-na1-<uuid>",
    "netlify": "nf|p_<an40>", "vercel": "vc|p_<an56>", "cloudflare": "cfu|t_<an40><hex8>", "render": "rn|d_<an32>",
    "mapbox": "s|k.eyJ1Ijoi<an60>.<url22>", "mapbox-temporary": "t|k.eyJ1Ijoi<an60>.<url22>", "firebase": "AAAA<an7>:|APA91b<url134>",
    "hcp": "hcai|k_<an54>", "statsig": "secre|t-<an43>", "rootly": "rootl|y_<hex64>", "inngest": "signke|y-prod-<hex64>",
    "trigger": "t|r_prod_<an24>", "polar": "polar|_oat_<an43>", "workos": "s|k_live_<an40>", "knock": "s|k_test_<url43>",
    "coze": "pa|t_<an64>", "dify": "app|-<an24>", "okta": "SSWS 00|<url40>", "clerk": "s|k_test_<an42>", "stytch": "secre|t-live-<url40>=",
    "azure-sas": "sv=2024-11-04&se=2026-12-31&sr=b&sp=r&si|g=<an42>%3D", "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9|.eyJzdWIi<an60>.<url43>",
    "age": "AGE-SECRET|-KEY-1<bech58>", "sentry-dsn": "https://<hex32>:<hex32>@o1234567890.ingest.|sentry.io/<dig7>",
}  # fmt: skip
# Known by the name before them only.
NAMED_ONLY = {
    "aws-secret": "<b64url40>", "cloudflare-old": "<url40>", "datadog": "<hex32>", "datadog-app": "<hex40>", "vercel-old": "<an24>",
    "heroku-old": "<uuid>", "fastly": "<url32>", "algolia": "<hex32>", "deepgram": "<hex40>", "assembly": "<hex32>",
    "exa": "<uuid>", "mistral": "<an32>", "cohere": "<an40>", "pagerduty": "u+<an18>", "okta-raw": "00<url40>", "twilio-auth": "<hex32>",
    "any-43": "<url43>", "any-64": "<an64>", "any-24": "<an24>", "any-base64": "<b64-32>",
}  # fmt: skip
CONTEXTS = {
    "alone": "{}", "log": "2026-11-20 08:12:55 INFO worker 3 got {} from upstream", "end": "It printed {}.", "json": '{{"value": "{}", "n": 3}}',
    "code": "x = '{}'", "list": "args: [run, {}, now]", "table": "| row 7 | {} | ok |", "brackets": "see ({}), then go on",
    "lines": "output:\n{}\ndone", "shell": "$ tool login {}\nok", "markdown": "Use `{}` for it.", "diff": "-  old\n+  {}\n",
}  # fmt: skip
NAMED = {
    "env": "{0}_API_KEY={1}", "export": 'export {0}_TOKEN="{1}"', "json": '{{"{2}": {{"apiKey": "{1}"}}}}', "yaml": "{2}:\n  api_key: {1}\n  region: eu",
    "header": "Authorization: Bearer {1}", "x-header": "X-Api-Key: {1}", "option": "{2} --api-key {1} --verbose", "code": "client = {2}.Client(api_key='{1}')",
    "toml": 'client_secret = "{1}"', "query": "https://api.acme.io/v1?access_token={1}&page=2",
}  # fmt: skip
_SERVICES = ("ACME", "BILLING", "SEARCH", "DEPLOY", "MAILER", "REPORTS")
_ALPHABETS = {
    "an": ALNUM, "url": URLSAFE, "hex": HEX, "up": UPPER, "low": LOWER, "b32-": BASE32, "dig": DIGITS, "let": LETTERS, "b58-": BASE58,
    "b64url": ALNUM + "+/", "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}  # fmt: skip
_PART = re.compile(r"<(uuid|b64-|b64url|b32-|b58-|[a-z]+)(\d*)>")


def drawn(form: str, f: Forge) -> str:
    """A key of this form; it begins and ends with a letter or digit where its form leaves that open."""

    def part(match: re.Match[str]) -> str:
        name, size = match.group(1), int(match.group(2) or 0)
        if name == "uuid":
            return f.uuid()
        if name == "b64-":
            return f.base64(size)
        while True:
            out = f.of(size, _ALPHABETS[name])
            if out[-1] in string.ascii_letters + string.digits and out[0] in string.ascii_letters + string.digits:
                return out

    return _PART.sub(part, form.replace("|", ""))


def bare_keys(seed: int) -> Iterator[Key]:
    """Every kind with a form of its own in every neutral context."""
    f = Forge(seed)
    for kind, form in BARE.items():
        for context, text in CONTEXTS.items():
            secret = drawn(form, f)
            yield Key(kind, context, text.format(secret), secret)


def named_keys(seed: int) -> Iterator[Key]:
    """Every kind under every name that means a secret."""
    f = Forge(seed)
    for kind, form in {**BARE, **NAMED_ONLY}.items():
        if "://" in form or " " in form or "&" in form:
            continue
        for context, text in NAMED.items():
            secret, service = drawn(form, f), f.random.choice(_SERVICES)
            yield Key(kind, context, text.format(service, secret, service.lower()), secret)
