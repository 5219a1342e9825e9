"""More texts that must come through unchanged, made for the attack on redaction of 2026. Written before the rules."""

from __future__ import annotations

from itertools import product

from key_material import ALNUM, HEX, LETTERS, LOWER, URLSAFE, Forge
from labelled_negatives import Negative

NEVER = frozenset({"hash", "uuid", "version", "path"})
"""Kinds of which not one may be masked."""


def lookalikes(seed: int) -> list[Negative]:
    """Every text, the same for the same seed."""
    f = Forge(seed)
    groups = (hashes, uuids, versions, paths, ids, references, code, types, settings, prose, markup, blobs, logs)
    return [Negative(kind, text) for group in groups for kind, text in group(f)]


_Rows = list[tuple[str, str]]
_REFERENCES = (
    "$DB_PASSWORD", "${DB_PASSWORD}", "${DB_PASSWORD:-}", "${DB_PASSWORD:?not set}", "{{ db_password }}", "{{ .Values.db.password }}",
    "%(db_password)s", "%DB_PASSWORD%", "$(cat /run/secrets/db)", "<%= ENV['DB_PASSWORD'] %>", "{{vault_db_password}}", "${{ secrets.DB_PASSWORD }}",
    "#{ENV['DB_PASSWORD']}", "@DB_PASSWORD@", "${env.DB_PASSWORD}", "$env:DB_PASSWORD", "{db_password}", "<DB_PASSWORD>",
)  # fmt: skip


def hashes(f: Forge) -> _Rows:
    h = f.hex
    texts = [
        f"HEAD is now at {h(7)} Fix password reset", f"commit {h(40)}\nAuthor: Bob", f"sha256:{h(64)}", f"{h(64)}  passwords.txt.gz", f"ETag: W/\"{h(32)}\"",
        f"password_hash_sha256_of_file: {h(64)}", f"md5sum = {h(32)}", f"parent {h(40)}", f"tree {h(40)}", f"digest: sha256:{h(64)}", f"image: redis@sha256:{h(64)}",
        f'"resolved_sha": "{h(40)}"', f"Cherry-picked from {h(40)}", f"From {h(40)} Mon Sep 17 00:00:00 2001", f"checksum=\"{h(64)}\"", f"blake2b {h(128)}",
        f"+++ b/secrets.py\nindex {h(7)}..{h(10)} 100644", f"{h(8)}c2 [main] tokens: count them", f"crc32={h(8)}", f"git checkout {h(12)}", f"fingerprint {h(40)}",
        f"cache-{h(16)}-{h(16)}", f"revision: {h(40)}", f"content_hash={h(64)}", f"\"hash\": \"{h(40)}\"", f"sha512 {h(128)}", f"merkle root {h(64)}",
        f"ref: {h(40)} refs/heads/password-fix", f"Digest: SHA-256={f.base64(32)}", f"    hash = \"sha256:{h(64)}\",", f"--hash=sha256:{h(64)} \\", f"chunk {h(20)}.js",
        f'"integrity": "sha512-{f.base64(64)}"', f"integrity sha512-{f.base64(64)}", f"golang.org/x/crypto v0.31.0 h1:{f.base64(32)}", f"golang.org/x/crypto v0.31.0/go.mod h1:{f.base64(32)}",
        f"checksum = \"{h(64)}\"", f"narHash = \"sha256-{f.base64(32)}\"", f"'sha384-{f.base64(48)}'", f"key {h(40)} not in cache", f"object {h(40)} missing",
    ]  # fmt: skip
    return [("hash", text) for text in texts]


def uuids(f: Forge) -> _Rows:
    texts = [
        "request {} took 3 ms", "id: {}", '"user_id": "{}"', "/v1/users/{}/password", "session {} ended", "PasswordResetRequested({})", "uuid={}", "correlation-id: {}", "urn:uuid:{}",
        "DELETE FROM tokens WHERE id = '{}'", "Volume {} mounted", "trace {} span 3", "tenant {}: password changed", '{{"id": "{}", "password": null}}', "job {} retried", "x-request-id: {}",
        "device {} paired", "run-{}", "GUID {{{}}}", "file {}.json written", "key_id={}", "user {} reset the password", "passwordResetId: {}", "credential_id: {}", "token_id: {}", "secret_version: {}",
    ]  # fmt: skip
    return [("uuid", text.format(f.uuid())) for text in texts]


def versions(f: Forge) -> _Rows:
    number = lambda: f"{f.random.randrange(30)}.{f.random.randrange(60)}.{f.random.randrange(99)}"  # noqa: E731
    texts = [
        "password-hasher@{}", "pip install passlib=={}", "passlib {}", "argon2-cffi>={},<30", "bcrypt ^{}", "Python {} on linux", "node v{}", "postgres:{}-alpine", "release {}-rc.1", "tag v{}+build.7",
        "password_hash_version: {}", "Upgrade from {} to 31.0.0-beta.2", '"password-validator": "^{}"', "secret-manager v{} installed", "Chrome/{}.0 Safari/537.36", "GNU ld {}", "token-bucket {} (cached)",
        "keyring {} requires jaraco", "credentials-plugin:{}", "FROM node:{}-bookworm-slim", "go{} linux/amd64", "jwt {} -> 31.0.0", "Auth Service {} started", "openssl-{}r4", "passwd-{}.el9.x86_64",
    ]  # fmt: skip
    return [("version", text.format(number())) for text in texts]


def paths(f: Forge) -> _Rows:

    def low(size: int) -> str:
        return f.of(size, LOWER)

    texts = [
        f"password_file: /run/secrets/{low(8)}", "password=/etc/app/db.pass", "PASSWORD_FILE=/run/secrets/db_password_1", "src/auth/password_reset_2.py:41: error", "passwordFile = C:\\secrets\\db2.txt",
        f"open /tmp/{low(10)}/passwords.db: no such file", "./scripts/rotate-password-v2.sh", "~/.config/app/password2", "--password-file /etc/x/pw1", "key: /etc/ssl/private/site-2026.key",
        "s3://bucket-2/secrets/passwords.csv", "tests/test_password1.py::test_x", "/usr/share/dict/american-english-2", f"/var/lib/docker/overlay2/{f.hex(64)}/merged", f"node_modules/.pnpm/x@1.0.0_{low(12)}/x",
        "templates/password/reset_1.html", "passwd: /etc/passwd2", "secret: /vault/secrets/config2", "pass: ./fixtures/pass1.txt", "token_path: /var/run/token2", "GET /password/reset/step2 200",
        "d:\\work\\passwords\\readme1.md", "file:///etc/app2/password", "password: file:/etc/app2/pw", "  password_path = \"/etc/app/pw2\"", f"/proc/{f.random.randrange(9999)}/fd/7", "certs/ca-2026.pem",
    ]  # fmt: skip
    return [("path", text) for text in texts]


def ids(f: Forge) -> _Rows:
    o = f.of
    texts = [
        f"toolu_01{o(22)}", f"msg_01{o(22)}", f"call_{o(24)}", f"req_011C{o(20)}", f"chatcmpl-{o(29)}", f"resp_{f.hex(48)}", f"run_{o(24)}", f"thread_{o(24)}", f"asst_{o(24)}", f"file-{o(24)}", f"batch_{f.hex(32)}",
        f"cus_{o(14)}", f"evt_1{o(23)}", f"pi_3{o(23)}", f"in_1{o(23)}", f"price_1{o(23)}", f"prod_{o(14)}", f"acct_1{o(15)}", f"pm_1{o(23)}", f"pk_test_{o(24)}",
        f"i-0{f.hex(16)}", f"vpc-0{f.hex(16)}", f"ami-0{f.hex(16)}", f"sg-0{f.hex(16)}", f"subnet-{f.hex(8)}", f"arn:aws:iam::{o(12, '123456789')}:role/password-rotator", f"eni-0{f.hex(16)}", f"snap-0{f.hex(16)}",
        f"https://youtu.be/{o(11, URLSAFE)}", f"https://drive.google.com/file/d/{o(33, URLSAFE)}/view", f"https://www.figma.com/file/{o(22)}/Design", f"pod/api-{o(9, LOWER)}-{o(5, LOWER)}", f"docker exec {f.hex(12)} sh",
        f"nonce=\"{o(22)}\"", f"ray id {f.hex(16)}-FRA", f"ticket ABC-{f.random.randrange(9999)}", f"ULID 01J{o(23, '0123456789ABCDEFGHJKMNPQRSTVWXYZ')}", f"cursor: {f.base64(24)}", f"nanoid {o(21, URLSAFE)}",
        f"traceparent: 00-{f.hex(32)}-{f.hex(16)}-01", f"spotify:track:{o(22)}", f"doi:10.{o(4, '123456789')}/{o(8, LOWER)}", f"0x{f.hex(40)}", f"tx 0x{f.hex(64)}", f"ipfs://Qm{o(44)}", f"MAC {o(2, HEX)}:1f:00:aa:bb:c{o(1, HEX)}",
        f"continuation {o(40, ALNUM)}", f"next_page_token: {o(24, URLSAFE)}", f"wandb: run {o(8, LOWER)}", f"seed={f.random.randrange(10**9)}", f"salt: {f.hex(16)}", f"nonce: {f.hex(24)}", f"mutex {o(6, LETTERS)}",
    ]  # fmt: skip
    return [("id", text) for text in texts]


def references(f: Forge) -> _Rows:
    templates = [
        "DB_PASSWORD={}", "password: {}", 'password: "{}"', '"password": "{}"', "password = \"{}\"", "--password={}", "--password {}", "postgres://app:{}@db:5432/x", "ENV DB_PASSWORD={}", "spring.datasource.password={}",
    ]  # fmt: skip
    return [("reference", template.format(value)) for template, value in product(templates, _REFERENCES)]


def code(f: Forge) -> _Rows:
    texts = [
        'password = os.environ["DB_PASSWORD_2"]', "password = os.getenv('DB_PASSWORD2', '')", "password=os.environ.get('PW2')", "password = config.db2.password", "password = request.form['password2']",
        "password = getpass.getpass('Password: ')", "password = input()", "password = read_password2(path)", "password = secrets.token_urlsafe(32)", "password = hash_password(raw2, salt=salt)",
        "password: process.env.DB_PASSWORD2,", "password: process.env['DB_PASSWORD2']", "password: import.meta.env.VITE_PW2", "const password = await prompt2('x')", "password: hashPassword2(input.password),",
        "password: data.password1,", "password: form.value.password1", "password: this.password2", "password: user2.password", "this.password = password2;", "password = password2", "password=password1,", "password=pw1)",
        "if password == confirm_password2:", "if (password !== password2) {", "password == other.password2", "assert password != password2", "return password1", "password1, password2 = pair",
        "password := os.Getenv(\"DB_PASSWORD2\")", "password := r.FormValue(\"password2\")", "password = Base64.decode64(raw2)", "password = params[:password2]", "password = ENV.fetch('PW2')", "password: ENV['DB_PASSWORD2']",
        "$password = $_POST['password2'];", "$password = getenv('DB_PASSWORD2');", "'password' => $request->password2,", "'password' => bcrypt($data2),", "password = Environment.GetEnvironmentVariable(\"PW2\");",
        "String password = System.getenv(\"DB_PASSWORD2\");", "String password = props.getProperty(\"db.password2\");", "let password = env::var(\"DB_PASSWORD2\")?;", "let password = args.password2.clone();", "password = Some(pw2)",
        "password = var.db_password2", "password = local.db_password_2", "password = random_password.db2.result", "password = data.aws_ssm_parameter.db2.value", "password = module.db2.password", "password = aws_secretsmanager_secret.x2.id",
        "password = (await vault2.get('db')).value", "password = await read2()", "password = [pw1, pw2]", "password = {**kw2}", "password = lambda: x2", "password = x2 if y else z", "password = not x2", "password = self._password2",
        "password = \"\".join(random.choices(string.ascii_letters, k=12))", "password = str(uuid.uuid4())", "password = b64decode(raw2).decode()", "password = password2 or default", "password = None  # TODO 2026", "password = f\"{pw2}\"",
        "PASSWORD=$(openssl rand -base64 32)", "PASSWORD=\"$(aws ssm get-parameter --name /db2)\"", "PASSWORD=${1:-}", "PASSWORD=$1", "PASSWORD=`cat pw2`", "export PGPASSWORD=$(cat ~/.pw2)", "PASSWORD=\"${PW2}\"", "PASSWORD=$PW2 make",
        "password: !vault |", "password: !Ref DbPassword2", "password: !Sub '${DbPassword2}'", "password: !GetAtt Db2.Password", "password: *default_password2", "password: &pw2", "password: !secret db_password2", "password: !ENV PW2",
        "password: {{ lookup('env', 'PW2') }}", "password: ((db_password2))", "password: ref+vault://secret/db2#/password", "password: op://vault2/item/password", "password: vault:secret/data/db2#pw", "password: ENC[AES256_GCM]",
        "passwordRef:\n  name: db2", "password:\n  secretKeyRef:\n    name: db2-creds", "password:\n  valueFrom: db2", "password:\n  - required\n  - min:8", "password:\n    type: string\n    minLength: 8", "password: {type: string, minLength: 8}",
        "password: [required, 'min:8']", "password: z.string().min(8)", "password: Joi.string().min(8).required(),", "password: yup.string().min(8),", "password: ['', Validators.minLength(8)],", "password: { type: String, minlength: 8 },",
        "password: faker.internet.password(12),", "password: expect.any(String),", "password: $('#pw2').val(),", "password: e.target.value2,", "password: (v) => v.length > 8,", "password: v => v.length>8", "password: async () => x2,",
        "password_validator = re.compile(r'^.{8,}$')", "password.length >= 8 && password.length <= 64", "password.match(/[0-9]{2}/)", "passwords = [p1, p2]", "passwords.map(p => p.id2)", "for password in passwords1:",
        "@param password the password2 to check", "* @param {string} password - min 8 chars", ":param password: at least 8 chars", ":type password: str2", "# password = os.environ['X2']", "// password: see #1234",
        "mysql -u root -p$MYSQL_PASSWORD db2", "mysql -u root -p\"${MYSQL_PASSWORD}\" db2", "sshpass -p \"$PW2\" ssh x", "docker login -u x -p ${PW2}", "docker run -p 8080:80 nginx2", "mkdir -p /tmp/x2y3", "tar -xpf a2.tar", "cp -p file1 file2", "python -m pytest -p no:randomly2", "nc -p 4444 host2",
        "ssh -p 2222 host2", "mysql -h db2 -P 3307 -u bob -p", "psql -p 5433 db2", "pgrep -p 1234", "ps -p 12345 -o pid", "install -p -m 0755 x1 y2", "redis-cli -p 6380 ping2", "cargo build -p my-crate2", "pnpm -p install2", "git log -p -2", "useradd -p '' bob2",
    ]  # fmt: skip
    return [("code", text) for text in texts]


def types(f: Forge) -> _Rows:
    texts = [
        "def login(user: str, password: str) -> User2:", "password: str", "password: str | None = None", "password: Optional[str] = None,", "password: SecretStr", "password: Annotated[str, MinLen(8)]", "password: bytes = b''",
        "password?: string;", "readonly password: string;", "password: string | undefined,", "password: String!", "password: String! @constraint(minLength: 8)", "password: Option<String>,", "password: &str,", "pub password: Vec<u8>,",
        "password string `json:\"password2\"`", "Password string `yaml:\"password,omitempty\"`", "Password *string", "var password string", "val password: String?", "private final char[] password;", "String password, int rounds2",
        "password VARCHAR(255) NOT NULL", "password TEXT DEFAULT ''", "password: Mapped[str] = mapped_column(String(128))", "password = models.CharField(max_length=128)", "password = serializers.CharField(min_length=8)", "password = Column(String(60))",
        "password = fields.Str(required=True)", "password = PasswordField('Password2', [DataRequired()])", "password: types.String{}", "optional string password = 2;", "string password = 3;", "password: Uint8Array;", "password: ReturnType<typeof x2>", "const password: unique symbol;",
        '"password": {"type": "string", "format": "password", "minLength": 12}', '"password": ["required", "min:8"]', '"password": {"$ref": "#/components/schemas/Password2"}', "std::string password;", "char password[64];", "const char *password = NULL;",
    ]  # fmt: skip
    return [("type", text) for text in texts]


def settings(f: Forge) -> _Rows:
    texts = [
        "password_min_length=12", "password.min.length: 12", "PASSWORD_RESET_TIMEOUT=3600", "password_policy: strong2", "PASSWORD_HASHERS=argon2", "password_encryption = 'scram-sha-256'", "PasswordAuthentication=no", "password: true", "password: false", "password: null", "password: ~", "password: ''", 'password: ""', "password =", "password:", "passwordless=1",
        "password: <redacted>", "password: ********", "password: xxxxxxxx", "password: changeme", "password=changeme", 'password: "example"', "password: <password>", "password: your-password", "password: YOUR_PASSWORD", "PASSWORD=your_password_here", "password: TODO", "password: [REDACTED]", "password: [hidden]", "password: (hidden)", "password: (none)", "password: (unchanged)", "password: n/a", "password: ...", "password: …", "password: -", "password=***",
        "password: required", "password: optional", "password: string", "password: secret", "password: password", "passwd=test", "password: admin", "show_password=1", "has_password: yes2", "no_password=2", "password_changed_at: 2026-11-20T08:12:55Z", "last_password_change=1763622000", "passwordExpiresIn: 90d", "password_attempts=3",
        "tokens: 4096", "max_tokens: 8192", "token_count=1234", '"usage": {"input_tokens": 812, "output_tokens": 91}', "keys: 20", "key: value", "key=F12", "primary_key: id", "sort_key=created_at", "foreign_key = user_id", "cache_key: user:42:v2", "key_size: 4096", "pass: 12, fail: 3", "passes: 2", "bypass=1", "compass: north2", "passthrough: eth0", "passive: true2",
        "mysql_native_password", "caching_sha2_password", "auth_plugin: mysql_native_password2", "input type=password name=pw2", "autocomplete=new-password", "pam_unix.so sha512 shadow nullok", "password requisite pam_pwquality.so retry=3", "password sufficient pam_unix.so sha512", "passwd: files sss", "pwd: /home/bob2", "PWD=/work/app2", "OLDPWD=/work/x1", "pwd=~/src2",
    ]  # fmt: skip
    return [("setting", text) for text in texts]


def prose(f: Forge) -> _Rows:
    texts = [
        "The password must be 12 characters or more.", "password must be 12 characters", "Password must contain at least 1 digit and 1 of !@#$%^&*.", "The password is stored in the database.", "The password is checked against HIBP v3.", "Your password is too short (min 8).", "Password is required", "The password is wrong.",
        "password: must be at least 12 characters long", "Password: 8-64 characters, no spaces", "The password for bob expires in 90 days.", "The password has been changed 3 times.", "Set a password with `passwd bob`.", "Enter your password:", "Passwords do not match", "Incorrect password, 2 attempts left", "The password was reset on 2026-11-20.", "Use the password from 1Password.", "the password is not logged anywhere",
        "the password is hashed with bcrypt (12 rounds)", "The password is the same as in v1.2.3.", "What is the password for db-prod-2?", "password reset link sent to user #4711", "The password is read from $DB_PASSWORD.", "The password is taken from os.environ['PW'].", "password is None by default", "Forgot password? Click here", "The token is valid for 3600 s.", "API keys are rotated every 90 days", "The secret is mounted at /run/secrets/x.",
        "Das Passwort muss mindestens 12 Zeichen lang sein.", "Das Passwort ist falsch.", "Das Passwort ist zu kurz (mindestens 8).", "Passwort vergessen?", "Das Passwort wurde am 20.11.2026 geändert.", "Passwort: mindestens 8 Zeichen", "Das Kennwort läuft in 90 Tagen ab.", "Das Passwort ist in der Datei config.yaml gespeichert.", "Bitte geben Sie Ihr Passwort ein", "Passwort bestätigen",
        "Le mot de passe doit contenir au moins 12 caractères.", "Le mot de passe est incorrect.", "Mot de passe oublié ?", "Mot de passe : 8 caractères minimum", "Le mot de passe est stocké dans la base.", "Votre mot de passe expire dans 90 jours", "Le mot de passe est trop court", "Confirmez le mot de passe",
        "La contraseña debe tener al menos 12 caracteres.", "La contraseña es incorrecta.", "¿Olvidó su contraseña?", "Contraseña: mínimo 8 caracteres", "La contraseña es demasiado corta", "La contraseña se guarda en la base de datos.", "Tu contraseña caduca en 90 días", "La clave de acceso es obligatoria",
        "パスワードは12文字以上です。", "パスワードが間違っています。", "パスワードを忘れた方", "パスワードは必須です", "パスワード：8文字以上", "パスワードは90日ごとに変更してください。", "新しいパスワードを入力してください", "パスワードは大文字と小文字を含む必要があります",
        '"password": "Password"', '"password": "Passwort"', '"password": "Mot de passe"', '"password": "Contraseña"', '"password": "パスワード"', '"password": "Enter your password"', '"password": "Your new password"', '"password": "Password must be at least 8 characters"', '"password": "The password you entered is wrong."', '"password": "Please choose a stronger password"', '"confirm_password": "Repeat the password"', '"password": "Invalid password"',
        "| --password | the password to log in with |", "  --password <pw>   Password of the account", "  -p, --password string   Password (default \"\")", "  --password-stdin   Take the password from stdin", "usage: x [--password PASSWORD] [--port PORT]", "`--password`: see the manual", "- password (string, required)", "password (required): the account's password", "password — what you log in with", "* `password`: the password; never logged",
        "He said the password is a secret word.", "A password is something you know.", "No password was given for bob.", "password is sent in clear text over HTTP/1.1", "password: see RFC 9110, section 11", "password: see above", "password: same as before", "password: ask Bob", "password: stored in vault", "password (in vault): prod/db2", "Password for 'https://bob@github.com':", "[sudo] password for bob:", "bob@db2's password:", "Password for user app:", "Enter passphrase for key '/home/bob/.ssh/id_ed25519':",
    ]  # fmt: skip
    return [("prose", text) for text in texts]


def markup(f: Forge) -> _Rows:
    o = f.of
    texts = [
        '<input type="password" id="pw1" name="password" minlength="12">', '<label for="password">Password</label>', "<password/>", "<password></password>", "<password>${db.password}</password>", "<password>{{ pw }}</password>", '<add key="Password" value="" />', '<property name="password" ref="pw2"/>', '<Field name="password" type="password"/>',
        "input[type=password]:focus{outline:2px solid #0af}", ".password-strength-3{width:75%}", "#password2{color:#1a2b3c}", "--password-color: #aa00ff;", ".token.keyword{color:#07a}.token.string{color:#690}", ".sk-cube-grid .sk-cube1{animation-delay:.2s}", "grid-template-areas:\"a b\" \"c d\"",
        "const e=t=>t.password===n.password2&&r(t.key);", "function a(e,t){return e.password=t,e.token=n(e)}", "var t={password:e.p,token:e.t,key:e.k};", "password:e,token:t,secret:n}", "{password:i.password,confirm:i.confirm2}", "t.password=e.target.value,t.key=13", "!function(e,t){e.password=t.pw}(a,b)", "return{password:n(12),user:r(e)}", "(0,i.password)(e,{min:8})", "e.password&&(t.p=e.password)",
        "password:void 0", "password:!0,username:!1", "password:null,user:null", "{password:t=''}={}", "password:\"\",user:\"\"", "password:\"password\"", "type:\"password\",name:\"pw2\"", f"webpackChunk_{o(6)}=self.webpackChunk||[]", f"//# sourceMappingURL=app.{f.hex(8)}.js.map", f"class=\"css-{o(7, LOWER)} e{o(8, LOWER)}\"", f"<div data-v-{f.hex(8)}>", f"src=\"/static/js/main.{f.hex(20)}.js\"", f"_ngcontent-{o(3, LOWER)}-c{f.random.randrange(999)}",
    ]  # fmt: skip
    return [("markup", text) for text in texts]


def blobs(f: Forge) -> _Rows:
    b = f.base64
    texts = [
        f"data:image/png;base64,iVBORw0KGgo{b(400)}", f"data:font/woff2;base64,d09GMgAB{b(300)}", f"![logo](data:image/gif;base64,R0lGODlh{b(120)})", f'<img src="data:image/jpeg;base64,/9j/4AAQ{b(300)}">', f"url(data:application/x-font-ttf;base64,AAEAAAAL{b(200)})", f"background:url('data:image/svg+xml;base64,PHN2Zy{b(90)}')",
        f.pem("CERTIFICATE", 10), f.pem("PUBLIC KEY", 4), f.pem("CERTIFICATE REQUEST", 6), f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b(270)} bob@host", f"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAI{b(60)}", f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{b(48)}\n-----END PGP PUBLIC KEY BLOCK-----",
        f'"content": "{b(300)}"', f'"signature": "{b(200)}"', f"payload: {b(120)}", f"mappings\":\"{'AAAA,SAAS;' * 20}\"", f'"embedding": "{b(150)}"', f"x = b'{b(60)}'", f"00000010: {f.hex(4)} {f.hex(4)} {f.hex(4)} {f.hex(4)}  .ELF....", f"\\x{f.hex(2)}\\x{f.hex(2)}\\x{f.hex(2)}", f"@@{f.hex(40)}@@", f"dkim=pass header.i=@acme.io header.s=s1 header.b={b(6)}", f"bh={b(32)};", f"ARC-Seal: i=1; a=rsa-sha256; b={b(120)}",
    ]  # fmt: skip
    return [("blob", text) for text in texts]


def logs(f: Forge) -> _Rows:
    def time():
        return f"2026-11-{f.random.randrange(10, 29)}T08:{f.random.randrange(10, 59)}:01.{f.random.randrange(999):03}Z"

    texts = [
        "{t} INFO password changed user=4711", "{t} WARN login failed: bad password for user 'bob2'", "{t} DEBUG token_count=812 model=claude-sonnet-4-20250514", "{t} ERROR auth: password authentication failed for user \"app2\"", "{t} sshd[4242]: Failed password for root from 10.0.0.9 port 51234 ssh2", "{t} sshd[4242]: Accepted password for bob from 10.0.0.7 port 4022 ssh2",
        "{t} INFO password reset requested id=77 ip=10.0.0.3", "{t} INFO keys=120 evicted=3 key=user:42", "{t} INFO session=42 closed after 3s", "{t} TRACE secret/data/app version=3 ok", "{t} FATAL: password authentication failed for user \"postgres\"", "{t} INFO GET /reset-password?step=2 200 12ms", "{t} INFO credentials ok provider=env2", "{t} INFO rotating password for db-prod-2", "{t} INFO password=*** user=bob2", "{t} INFO password=[FILTERED] user=bob2", "{t} INFO password=<redacted> retries=3", "{t} INFO password= user=bob2", "{t} INFO password=(null) user=bob2", "{t} passwd[212]: pam_unix(passwd:chauthtok): password changed for bob2",
        "test_password_reset_2 PASSED [ 42%]", "FAILED tests/test_auth2.py::test_password - AssertionError", "E   KeyError: 'password2'", "ok 12 - password is masked", "TypeError: password must be str, not bytes2", "ValueError: password: expected 8+ characters, got 3", "error[E0425]: cannot find value `password2` in this scope", "warning: unused variable: `password2`", "src/a.ts(12,5): error TS2322: password2", "  12 | const password = getPassword2();", "+    password = get_password2()", "-    password: process.env.PW2,", "diff --git a/password2.py b/password2.py", "@@ -12,7 +12,9 @@ def check_password2(", "{t} [notice] 1#1: password_file is /etc/nginx/pw2", "{t} kafka: sasl.jaas.config = [hidden]", "{t} ssl.keystore.password = null", "{t} ssl.key.password = [hidden]",
    ]  # fmt: skip
    return [("log", text.replace("{t}", time())) for text in texts]
