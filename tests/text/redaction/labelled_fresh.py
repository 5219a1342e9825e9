"""Secrets that a user met on a first day, each with three of the same class, and what must not be taken for them."""

from __future__ import annotations

from typing import NamedTuple


class Labelled(NamedTuple):
    """A text, and the secret in it; nothing of six characters of that may be left."""

    kind: str
    text: str
    secret: str


def fresh_leaks() -> list[Labelled]:
    """Every text with a secret."""
    return [
        Labelled(kind, text.replace("{}", secret), secret) for kind, rows in _LEAKS.items() for text, secret in rows
    ]


_LEAKS: dict[str, tuple[tuple[str, str], ...]] = {
    "address": (
        ("DATABASE_URL=postgres://app:{}@db0.internal:5432/shop", "TNjU#235!MHwk0"),
        ("postgres://u:{}@db.internal/x", "TNjU#235!MHwk0"),
        ("mongodb+srv://u:{}@c0.mongodb.net/shop?retryWrites=true", "Ab/Cd#9!xQ2"),
        ("amqp://u:{}@mq.internal:5672/vhost", "Xy7?kQ!29z"),
        ('{"url": "mysql://root:{}@10.0.0.7:3306/app?charset=utf8"}', "qK/7vT#m2Ws"),
        ("redis://:{}@cache:6379/0", "w?Z9f#Lr41b"),
        ("git clone https://bot:{}@git.acme.io/team/app.git", "Hq4#nV/8s!Pz"),
        ("smtp://mailer:{}@smtp.acme.io:587/?tls=yes&from=ops@acme.io", "m8#Rk?/2Lx0v"),
        ("mongodb://u:{}@h1:27017,h2:27017/x?w=1", "?Vi8y/WiUB0!g"),
        ("redis://default:{}@cache:6379", "783#cizW9dRzEO"),
        ("mysql://a:{}@h/x", "WiI2~ZL@#a+9q"),
        ("url: postgresql+asyncpg://svc:{}@pg:5432/app", "b7@Wd#q5!Nc"),
    ),
    "next line": (
        ("password:\n  {}", "wXeo#698!5q41"),
        ("db:\n  user: app\n  password:\n    {}\n  port: 5432\n", "Vq2!rT9z#pL"),
        ("- name: x\n  db_password: # of the shop\n      {}\n", "kP7%wZ2m!4"),
        ("Your login\nPassword:\n{}\nPlease change it.", "Gd5#tB8!qXe2"),
        ('{"log": "smtp:\\n  password:\\n    {}\\n  port: 25"}', "zN4!hK7u^Rf"),
        ("api_key:\n  {}\n", "f8Kq2Vz7Lw0Xn4Rt6Bp1Yc9M"),
    ),
    "heredoc": (
        ("db_password = <<EOF\n{}\nEOF\n", "nR6#wq!T82zL"),
        ("export DB_PASSWORD=$(cat <<'END'\n{}\nEND\n)\n", "Lk3!vZ9#eWq7"),
        ("$password = <<<EOT\n{}\nEOT;\n", "yT5^mB2!pHs8"),
        ("  admin_password = <<-PW\n    {}\n  PW\n  port = 1\n", "c9?Xw#4Kr!vN"),
        ("api_token = <<EOF\n{}\nEOF\n", "q7Zk2Vf9Xw4Ln0Rt6Bp8Yc1M"),
    ),
    "option": (
        ("keytool -genkey -keystore a.jks -storepass {} -alias x", "Wq7!zK4t#N"),
        ("jarsigner -keystore a.jks -keypass {} app.jar x", "Tb9#pV2!mL"),
        ("keytool -importkeystore -srckeystore a -srcstorepass {} -destkeystore b", "r5Xw8!nQ2z"),
        ("htpasswd -b /etc/nginx/users bob {}", "Hn4!vT8q#Z"),
        ("htpasswd -bc f user {}", "k2Rw!9mXp7"),
        ("htpasswd -nbB bob '{}'", "Vz6#qL3!tW"),
        ("htpasswd -c -b -B f user {}", "Jx8!wN5r#K"),
        ("sqlcmd -S db -U sa -P {} -Q 'select 1'", "Mq7!bZ4v#T"),
        ("/opt/mssql-tools18/bin/sqlcmd -C -U sa -P '{}'", "s5Lw9!xR2k"),
        ("bcp shop.dbo.t out t.csv -S db -U sa -P{}", "Pz3#nV7!qW"),
        ("mosquitto_pub -h mq -u bot -P {} -t x -m y", "g8Kt!4wXm2"),
        ("mongo -u admin -p {} --authenticationDatabase admin", "Rv6!zQ9n#L"),
        ("mongosh mongodb://db:27017/shop -u app -p '{}'", "d3Xw7!kTb5"),
        ("mongodump --host db -u app -p{}", "Nq8#vL2!zR"),
        ("unzip -P {} backup.zip", "w4Kz!9tXq7"),
        ("zip -r -P '{}' out.zip data", "Bm5!rV8w#Q"),
        ("7z x -p{} backup.7z", "x2Ln!7qZk9"),
        ("influx -username admin -password {} -host db", "Tk6!wR3v#X"),
    ),
    "nested value": (
        ('{"Password":{"Value":"{}"}}', "qT7!wZ4n#K"),
        ('{\n  "dbPassword": {\n    "value": "{}"\n  }\n}', "Xv9#rL2!mB"),
        ('{"db_password": {"sensitive": true, "type": "string", "value": "{}"}}', "k5Nw8!qRz3"),
        ("smtp:\n  password:\n    value: {}\n", "Wb4!tX7v#L"),
        ('{"body": "{\\"Password\\": {\\"Value\\": \\"{}\\"}}"}', "z6Kq!9nVw2"),
    ),
    "secure string": (
        ('ConvertTo-SecureString "{}" -AsPlainText -Force', "Gq7!vN4w#Z"),
        ("$p = ConvertTo-SecureString -String '{}' -AsPlainText -Force", "m8Xr!2kTq5"),
        ("ConvertTo-SecureString -AsPlainText -Force {}", "Lz3#wB9!vR"),
        ("'{}' | ConvertTo-SecureString -AsPlainText -Force", "Tn6!qX4k#W"),
    ),
    "wifi": (
        ("WIFI:T:WPA;S:Attic;P:{};;", "rQ8!vZ3w#N"),
        ("WIFI:S:Attic;T:WPA2;P:{};H:true;;", "k7Xn4!mWq2"),
        ("qr: wifi:P:{};S:Our Attic;T:WPA;;", "Bv5#tL9!zR"),
        (r'{"qr": "WIFI:T:SAE;S:a\\;b;P:{};;"}', "w2Kq!8nXv6"),
    ),
    "prefix": tuple(
        (text, "vercel_blob_" + "rw_q8Kz2Vf7Xw4Ln0Rt_6Bp1Yc9MqT3sHd5Wj2Gk8Ez4N")
        for text in ("{}", "put it in: {}.", "<{}>", '["{}"]')
    ),
    "sentence": (
        ("la clave es {}", "wQ7!nZ4v#K"),
        ("La clave de la base es: {}.", "Tx9#rL2!mB"),
        ("La nueva clave para bob es {}, cámbiala.", "k5Vw8!qRz3"),
        ("La clave era {}", "Nb4!tX7v#L"),
        ("A senha é {}", "z6Kq!9nVw2"),
        ("a senha do banco é {}.", "Rq7!vN4w#Z"),
        ("A nova senha: {}", "m8Xr!2kTq5"),
        ("A senha era {} ontem", "Lz3#wB9!vR"),
    ),
    "language": (
        ("密码是 {}", "wQ7!nZ4v#K"),
        ("数据库密码为{}。", "Tx9#rL2!mB"),
        ("密码：{}", "k5Vw8!qRz3"),
        ("密碼是{}", "Nb4!tX7v#L"),
        ("Пароль {}", "z6Kq!9nVw2"),
        ("новый пароль {}.", "Rq7!vN4w#Z"),
        ("Пароль: {}", "m8Xr!2kTq5"),
        ("hasło: {}", "Lz3#wB9!vR"),
        ("Nowe hasło to {}", "wQ7!nZ4v#K"),
        ("şifre: {}", "Tx9#rL2!mB"),
        ("Lösenord: {}", "k5Vw8!qRz3"),
        ("Ditt lösenord är {}", "Nb4!tX7v#L"),
        ("heslo: {}", "z6Kq!9nVw2"),
        ("كلمة المرور: {}", "Rq7!vN4w#Z"),
        ("كلمة السر: {}", "m8Xr!2kTq5"),
    ),
    "cluster": (
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  user: YWRtaW4tdXNlcg==\n  conf: {}\n",
            "eDYzRmtScU13WnQ5",
        ),
        ("apiVersion: v1\ndata:\n  conf: {}\nkind: Secret\nmetadata:\n  name: x\n", "eDYzRmtScU13WnQ5"),
        ("kind: Secret\napiVersion: v1\nstringData:\n  url: '{}'\n", "BXuDL7DxtpYlSXpfKtHF"),
        ('{"apiVersion": "v1", "kind": "Secret", "data": {"a": "YWJjZGVm", "thing": "{}"}}', "NHZVQ3NNZWhHQWtX"),
        ("     1→kind: Secret\n     2→data:\n     3→  conf: {}\n", "eDYzRmtScU13WnQ5"),
    ),
    "second day": (
        ("**Password:** {}", "Y5APjIQsuliCkC"),
        ("- **Admin password**: `{}`", "zlityiJuJpzxZY"),
        ("password:\u00a0{}", "cfNywKlPBv7rpO"),
        ("password＝{}", "hzPXwY4JtTgVm8"),
        ("curl -sSLu 'me:{}' https://acme.io/x", "E6PwZPf1Qh6y"),
        ('let api_key = String::from("{}");', "YVMZdox48VBkyOTe7AmutvGUlFIWGaQ3"),
        ('session.auth = HTTPBasicAuth("me", "{}")', "E8rEHmELGjGkoe"),
        ("SET PASSWORD FOR 'x'@'%' = PASSWORD('{}')", "YQQLtQqlcjEg1d"),
        ("kubectl create secret generic x --from-literal=foo={}", "csCi1mtVuLm8ezbRkax8EoeE"),
        ('gh secret set FOO --body "{}"', "xG28VFRnN5nm1EmtYDro9Wuc"),
        ("aws ssm put-parameter --name /x --type SecureString --value '{}'", "60g9b5sesW9l3iAeHy2tZQPT"),
        ("::add-mask::{}", "kJJzPlshi55ZbNuZECFrxH5b"),
        ('ssh-keygen -t ed25519 -N "{}" -f k', "Z1Sa7pdoaUpWX7"),
        ("rabbitmqctl add_user me {}", "72yhd8BHdpHkG3"),
        ("http -a me:{} https://acme.io/x", "ibjL5DZPjN0M"),
        ('echo "root:{}" | sudo chpasswd', "ungfEqD78DYUie"),
        ('<input type="password" name="x" value="{}">', "1N21YGBjseQdGT"),
        ('<input value="{}" type="password">', "A4veCaQ90l5Uky"),
        ('Content-Disposition: form-data; name="password"\r\n\r\n{}\r\n--x', "LoCvnK5ufCN02l"),
        ('{"type":"random_password","instances":[{"attributes":{"length":20,"result":"{}"', "iRTFQEpTpaGSCi7PwSti"),
        ("<key>apiToken</key>\n\t<string>{}</string>", "CzKXt7kLejtUtqUKJQ79ve6mL7fLltLw"),
        (".acme.io\tTRUE\t/\tTRUE\t1790000000\tsession\t{}", "vHNsG9eh6Yo4gfqrc5XlrWi0B26R08qz"),
        ('"github-oauth": {"github.com": "{}"}', "0808d77b6ad89f65f84992a0f75ae616b1e5d490"),
        ("Unseal Key 1: {}", "+EVRWGczaHhwNJPGEH4l/lzq2LVf4WUfL03GTEXqyVi="),
        ("PresharedKey = {}", "jtWrMfp6s+pBtNDagHmx4PqxOYs5JGxrVtFcpzNaNPm="),
        (
            'export BW_SESSION="{}"',
            "0AQYdCNB6CqkBmX5v/lSodxZMsrsqylHG+MZlMhbOjK1kjoRAswC1sSxW2ak1hcoqxoMPEdoyyZfl9VgxkjdYo==",
        ),
        ("password to proceed to installation:\n\n{}\n", "4c0bc182b5f79e3589780dbb28fde21b"),
        (
            "key = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{}'",
            "BKcwggSjAgEAAoIBAQMbndX14Tc5seu7OI7cKRScij4a1o9lpIbXlEYCpPa1vbkw",
        ),
    ),
}

NOTHING_SECRET = (
    # addresses
    "https://example.com/path?q=a:b@c", "https://medium.com/@user/x:y@z", "http://localhost:5173/@vite/client",
    "http://localhost:3000/node_modules/.vite/deps/@vue_x1.js?v=4f2a91c0", "http://localhost:8080/#/users/@me2",
    "http://127.0.0.1:8000?to=ops2@acme", "https://registry.acme.io:5000/app@sha256:" + "3f2b8c1e" * 8,
    "oci://registry:5000/app/v2@v1.4.2", "git+ssh://github.com:org/repo2.git@v1.2.3", "http://$HOST:$PORT/v1/users/@me",
    "http://localhost:PORT/v1/users/@me", "postgres://localhost:5432/app?options=a@b2", "file://C:/Users/me1/@scope/pkg",
    "https://api.acme.io:443/v1/x#y@z1", "webpack://app:///./node_modules/@x1/y.js", "https://x.io:8443/a/b?c=d1!e@f",
    "postgres://user:pass@host/db?x=1#a@b", "jdbc:mysql://db:3306/app?useSSL=false#x@y", "http://h:80/a,http://g:81/b@c3",
    "ssh://github.com:org/tool#v2@main", "https://{host}:{port}/v1/x@y2",
    "http://localhost:8080#x1@y", "http://10.0.0.5:8080#a1@b", "file://C:/Program%20Files/x1/@scope", "scp://host:/srv/app2/@y",
    "http://web:80/?a=b2#c@d", "https://x.io:443?u=a1&v=b@c", "docker://ghcr.io/a/b:v2#x1@y", "tcp://$IP:$PORT#x1@y",
    # names that are followed by something else in the next line
    "password:\n  type: string\n  minLength: 8", "password:\n  required\n", "if password:\n    self.login2(user)\n",
    "    password:\n      hash_it2(value),\n", "passwords:\n  - ${PW}\n", "password:\n  ${DB_PASSWORD}\n", "password:\n  /run/secrets/db2\n",
    "password:\n  secretKeyRef:\n    name: db2", "    password:\n    username: app2\n", "password:\n\nport2", "password:\n  !vault |\n",
    "Forgot password:\n  https://acme.io/reset2", "password: # set it\nDB_PORT=5432", "token:\n  value_of_x\n", "def f(password:\n  str2): pass",
    "user_passwords:\n  alice1\n", "password:\n- a1b2\n", "password:\nRUN2\n", "password:\n  v1.2.3\n",
    # heredocs
    "db_password = <<EOF\n${var.password}\nEOF\n", "policy_token = <<EOF\n{\n  \"Version\": \"2012-10-17\"\n}\nEOF\n",
    "password_help = <<TXT\nAt least 12 characters.\nTXT\n", "cat <<EOF > password.txt", "DB_PASSWORD=$(cat <<EOF\n$PW\nEOF\n)",
    # options
    "keytool -storepass <password> -alias x", "keytool -storepass $STOREPASS", "keytool -storepass:env STORE_PW2 -list", "keytool -storepass changeit",
    "htpasswd -b file user password", "htpasswd -b FILE USER PASSWORD", "htpasswd -nb bob $PW", "htpasswd -c /etc/nginx/users2 bob1",
    "sqlcmd -S db2 -U sa -P $SA_PASSWORD", "sqlcmd -P <password>", 'sqlcmd -P "${SA_PASSWORD}" -i a2.sql', "sqlcmd -P YOUR_PASSWORD",
    "docker run --name mongo -p 27017:27017 mongo:7", "docker run -d --name mongo -p 27017:27017", "podman run --name mongo -p 127.0.0.1:27018:27017 x",
    "docker run --name mongo -p $PORT:27017 x", "mongo -p", "mongo --port 27017", "unzip -p a2.zip x1.txt", "unzip a2.zip -d out2",
    "wget https://x.io/a.zip -P data_2024", "curl -O https://x.io/backup.zip -P dir2", "zip -r out2.zip src2", "7z x a2.7z -oout2",
    "mosquitto_pub -p 8883 -t a2", "ssh -p 2222 host2", "mkdir -p a2/b3", "cp -p a2 b3", "the unzip -P option is old", "per-token cost9",
    "-password required", "the flag -password takes one", "tool -token $TOKEN2", "-passwordless2 mode", "tool -keys a2,b3",
    # values of values
    '{"password": {"type": "string", "default": ""}}', '{"Password": {"Value": null}}', '{"Password": {"Value": "${PW}"}}',
    '{"password": {"description": "at least 12 characters"}}', "password:\n  valueFrom:\n    secretKeyRef: db2",
    '{"max_tokens": {"value": 4096}}', '{"passwordPolicy": {"value": "strong2"}}', '{"token": {"value": "NextToken"}}',
    '{"password": {"required": true, "default": "changeme"}}', '{"next_token": {"type": "string", "value": "page2"}}',
    # secure strings
    "ConvertTo-SecureString $password -AsPlainText -Force", 'ConvertTo-SecureString "$env:PW2" -AsPlainText', "ConvertTo-SecureString -String $p2 -Force",
    'ConvertTo-SecureString "<password>" -AsPlainText', "$p2 | ConvertTo-SecureString -AsPlainText", "ConvertTo-SecureString -AsPlainText -Force",
    "ConvertTo-SecureString (Get-Content pw2.txt)", '"$pw2" | ConvertTo-SecureString',
    # network codes
    "WIFI:T:nopass;S:Cafe2;;", "WIFI:S:<SSID>;T:WPA;P:<PASSWORD>;;", "WIFI:T:WPA;S:mynet;P:mypass;;", "WIFI:T:WPA;S:{ssid};P:{password};;", "WiFi: on; P: 2",
    "vercel_blob_rw_", "vercel_blob_rw_token", "VERCEL_BLOB_RW_TOKEN2", "vercel_blob_rw_xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    # sentences
    "la clave es entender bien el problema", "La clave es tener mucha paciencia siempre", "La clave de todo esto es la caché2", "la clave primaria es id_2",
    "clave pública: " + "3f2b8c1e" * 5, "La clave SHA-256 es " + "3f2b8c1e" * 8, "clave 3f2b8c1e-7a4d-4c11-9b2e-0d5f6a7b8c9d", "clave id_usuario2",
    "密码为user_password字段", "Пароль 8+ символов", "hasło v2.0.1", "password: { value: form.password2, error: x }",
    '{"password": {"type": "string", "minLength": 8}}', "usage: x -password <pw> -key a.pem", "-key server2.key", "-pass stdin",
    "A senha é obrigatória", "a senha é muito fraca para este sistema", "A senha é guardada cifrada no banco", "a senha era igual ontem",
    "A senha é enviada por correio eletrônico aos novos membros", "密码是必填项", "密码为空", "密码是至少8位", "Пароль неверный", "Пароль должен содержать 8 символов",
    "пароль обязателен", "hasło musi mieć co najmniej 8 znaków", "Hasło jest wymagane", "Lösenord ska vara minst tolv tecken långt", "lösenord: krävs",
    "lösenord: skriv ditt nya ord flera stycken", "Heslo je prazdne nebo chybne", "heslo: povinne", "şifre: gerekli", "Şifre en az 8 karakter", "كلمة المرور مطلوبة", "كلمة المرور: مطلوبة",
    # what is no Secret, or no data of one
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  conf: eDYzRmtScU13WnQ5\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: some-name2\n",
    "apiVersion: v1\nkind: Secret\ndata:\n  conf: ${CONF}\ntype: kubernetes.io/tls2\n", "kind: SecretStore\ndata:\n  conf: abcd1234efgh\n",
    "- apiVersion: v1\n  data:\n    conf: abcd1234efgh\n  kind: ConfigMap\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: some-name2\n",
    # Markdown, forms, commands
    "**Password:** required", "**Password**: see the vault", "**Token:** `$TOKEN2`", "key: *const u8", "**Key:** value2",
    "curl -sSLu $USER:$PASSWORD https://x.io", "curl -OL http://x.io:8080/a2", "curl -XPUT localhost:9200/a2", "curl -nu: https://x.io",
    '<input type="password" value="">', '<input type="password" value="{{ pw }}" name="p2">', '<input type="text" value="A4veCaQ90l5Uky">',
    '<input type="password" placeholder="at least 12" value="Password">', 'form-data; name="file"\r\n\r\nabc123',
    "kubectl create secret generic x --from-literal=foo=$FOO2", "kubectl create configmap x --from-file=a2=b3.txt", "gh secret set FOO < foo2.txt",
    "ssh-keygen -t ed25519 -N '' -f key2", "http -a $ME:$PW https://x.io", "http GET x.io/a:b2", "echo hello:world2 | tee a2",
    "<key>CFBundleVersion</key>\n<string>1.2.3-build4</string>", "a2\tTRUE\tb3\tFALSE\t17\tc\tlong-value-of-a-table", "Unseal Key 1: <key>",
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0Z3VS5JJcds3xfn2", "String::from(token_name2)", "PresharedKey = ", "-----END RSA PRIVATE " + "KEY-----",
    "bGl0dGxlIHRleHQgaW4gYmFzZTY0LCB3aXRoIG5vdGhpbmcgaW4gaXQ=", "sha512-" + "yLlZAbTG3UCr0ZtF8TPHXRkWhsPCXRhOaVbwhhsphPXRhOaVbwhhsphPXA==",
)  # fmt: skip
