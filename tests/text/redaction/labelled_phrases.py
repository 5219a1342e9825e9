"""Passphrases of four words in the midst of sentences, and sentences about passwords that hold none. Written before the
rules."""

from __future__ import annotations

from collections.abc import Iterator

from key_material import Forge
from labelled_passwords import WORDS, Password

_OWN_WORDS = {
    "german": (
        "apfel", "birne", "kirsche", "laterne", "fenster", "wolke", "donner", "hammer", "teppich", "kessel", "brunnen", "ziegel",
        "falke", "forelle", "igel", "krähe", "marder", "otter", "pfau", "rabe", "tanne", "ulme", "weide", "zeder", "kiesel",
        "lagune", "mulde", "nebel", "oase", "pinsel", "qualle", "ruder", "sattel", "tümpel", "urne", "vulkan", "würfel", "zange",
    ),
    "french": (
        "abricot", "bougie", "cerise", "dauphin", "épingle", "fenouil", "girafe", "hibou", "iguane", "jardin", "lampe", "moulin",
        "nuage", "oreille", "panier", "quille", "renard", "sapin", "tortue", "usine", "violon", "wagon", "zèbre", "brume",
        "cactus", "drapeau", "écharpe", "flocon", "grenier", "hamac", "jonquille", "lanterne", "mouette", "noisette", "pivoine",
    ),
    "spanish": (
        "abeja", "bosque", "cometa", "delfín", "espejo", "faro", "girasol", "hormiga", "iglesia", "jirafa", "lámpara", "molino",
        "naranja", "oveja", "piedra", "queso", "ratón", "sandía", "tambor", "uva", "ventana", "yegua", "zapato", "búho",
        "cereza", "dedal", "escoba", "fresa", "gaviota", "helecho", "jabón", "ladrillo", "martillo", "nieve", "océano", "pincel",
    ),
}  # fmt: skip
_SENTENCES = {
    "english": (
        "The password is {}.", "the password is {} and it works on both machines", "Use the password {} to log in.",
        "Log in as bob with the password {} and go on.", "His password was {} until May, now it is another one.",
        "The wifi password is {}, ask Bob if it fails.", "I set the root password to {} for now", "The admin password has been changed to {} by Ann.",
        "password: {} (do not share)", "Passphrase: {}, valid until Friday", "My passphrase is {} btw", "The password for the vault is {} as always.",
        "she said: the password is {}; nobody else has it", "Try with passphrase {} instead.",
    ),
    "german": (
        "Das Passwort ist {}.", "Das Passwort ist {} und gilt ab heute.", "Melde dich mit dem Passwort {} an.", "Das Kennwort lautet {}, bitte bald ändern.",
        "Ich habe das Passwort auf {} gesetzt.", "Das Passwort für bob war {} bis gestern.", "Passwort: {} (nicht weitergeben)",
    ),
    "french": (
        "Le mot de passe est {}.", "Le mot de passe est {} et il marche partout.", "Connecte-toi avec le mot de passe {} pour entrer.",
        "Le mot de passe de bob était {} jusqu'à hier.", "J'ai changé le mot de passe en {} ce matin.", "Mot de passe : {} (à ne pas partager)",
    ),
    "spanish": (
        "La contraseña es {}.", "La contraseña es {} y funciona en todas partes.", "Entra con la contraseña {} para seguir.",
        "La contraseña de bob era {} hasta ayer.", "Cambié la contraseña a {} esta mañana.", "Contraseña: {} (no compartir)",
    ),
    "japanese": (
        "パスワードは {} です。", "パスワードは{}でした。今は別のものです。", "パスワードは {} なので入力してください。", "パスワードを {} に変更しました。", "パスワード：{}（共有しないこと）",
    ),
}  # fmt: skip


def phrases(seed: int, draws: int = 3) -> Iterator[Password]:
    """Every sentence with phrases of the English words and of its own language's."""
    f = Forge(seed)
    for language, sentences in _SENTENCES.items():
        for words in (WORDS, _OWN_WORDS.get(language, WORDS)):
            for sentence in sentences:
                for _ in range(draws):
                    secret = " ".join(f.random.sample(words, 4))
                    yield Password("phrase", language, sentence.replace("{}", secret), secret)


ABOUT_PASSWORDS = (
    "the password is not the problem here", "The password is case sensitive everywhere today", "the password is never written to disk",
    "The password is stored encrypted inside postgres tables.", "the password is correct but login fails anyway", "The password is probably wrong again, try another one.",
    "The password is entered twice during setup", "password is sent over plain http in this version", "The password is generated randomly at first start",
    "the password manager stores entries locally and syncs them", "The password manager browser extension crashes on startup", "the password reset email arrives several minutes late",
    "password policy enforcement happens server side", "The password field accepts unicode since version two", "password hashing takes about half a second per call",
    "password rotation runs every night via cron", "the password prompt appears twice when sudo times out", "Password authentication failed for user bob",
    "password based login remains enabled during migration", "with the password manager open, press enter", "with the password field empty the form fails silently",
    "password strength meters often mislead people", "The password was changed last week by someone else", "the password expires after ninety days",
    "the password users choose tends towards short words", "The password file lives beside the main config", "password recovery flow needs manual testing first",
    "the password was leaked through verbose debug logs", "The password is unknown to everyone except Bob", "the password is different between staging and production",
    "password input component renders twice under strict mode", "The password check should happen before anything else", "password entry screen freezes after three failed tries",
    "set the password to something stronger than before", "change the password to a longer one soon", "We changed the password to match company rules",
    "Set the password to whatever makes sense locally", "set password to empty string when missing", "Change your password to avoid future problems",
    "the password is now handled by another service", "The password is too short, choose another one please", "The password is quite long already",
    "my passphrase is long enough according to policy", "the passphrase protects private keys at rest", "passphrase required before unlocking encrypted volumes",
    "Enter passphrase twice when creating new keys", "the passphrase is asked once per session", "the password is longer than needed, nothing else changed",
    "the password is accepted, though login still fails", "The password is valid only during business hours", "password is optional when using ssh keys",
    "Her password was rejected several times yesterday", "The password was lost during last night's migration", "password is read from stdin, never from arguments",
    "password: must contain letters, digits and signs", "Password: minimum eight letters mixed case", "password: same value as staging environment", "password: ask someone from platform team",
    "Password: please contact support team directly", "password: leave blank unless changing", "password - string value used during login", "password: plain text without surrounding quotes",
    "password: user password stored as bcrypt hash", "password: optional string, required when anonymous access disabled", "password: see internal wiki page first",
    "The password works fine everywhere else", "the password seems fine, network looks broken", "the password needs changing before next release", "the password goes through kerberos first",
    "that password is really bad security practice", "this password is purely for local testing purposes", "The password is base encoded, nothing more", "the password is displayed briefly after typing",
    "the password is visible through process listings", "password is always required whenever running remotely", "No password is set by default here", "password is transmitted securely using modern protocols",
    "password is checked against known breached lists", "a password is weak when short and common", "Password is deprecated, prefer tokens instead", "The password is hardcoded, please fix soon",
    "password tests pass locally but fail remotely", "password related code moved into another module", "Password protected archives cannot be opened", "password less login works since yesterday",
    "API key rotation happens every three months", "the api key is missing from local environment", "access token refresh fails under heavy load", "The secret key is never shown again afterwards",
    "Das Passwort ist nicht das Problem", "Das Passwort ist leider immer noch falsch", "Das Passwort wird beim Start zufällig erzeugt", "Das Passwort ist nur lokal gültig, sonst nirgends",
    "Das Passwort liegt verschlüsselt im Tresor", "Mit dem Passwort allein kommt niemand hinein", "Das Kennwort lautet überall gleich, leider", "Das Passwort war gestern schon abgelaufen",
    "Passwort: bitte beim Administrator erfragen", "Passwort: mindestens acht Zeichen, gemischt", "Das Passwort muss regelmäßig geändert werden", "Ich habe das Passwort auf Wunsch zurückgesetzt",
    "Das Passwort ist korrekt, trotzdem scheitert alles", "Das Passwort ist vermutlich längst bekannt", "Das Passwort wurde mehrfach falsch eingegeben", "Passwort vergessen, bitte neues anfordern",
    "Le mot de passe est toujours incorrect ce matin", "Le mot de passe est obligatoire pour continuer", "Le mot de passe est stocké chiffré côté serveur", "Le mot de passe est visible dans les journaux",
    "Le mot de passe était connu de tous", "Mot de passe : demander au responsable technique", "Mot de passe : huit caractères minimum requis", "Votre mot de passe est probablement trop simple",
    "Le mot de passe est envoyé sans aucune protection", "avec le mot de passe habituel tout marche bien", "Le mot de passe est valable encore trois jours", "Le mot de passe est exactement pareil partout",
    "La contraseña es siempre igual, lo siento", "La contraseña es obligatoria para continuar", "La contraseña es demasiado débil todavía", "La contraseña es visible en los registros",
    "La contraseña era conocida por todos", "Contraseña: preguntar al responsable técnico", "Contraseña: mínimo ocho caracteres mezclados", "con la contraseña correcta todo funciona bien",
    "La contraseña es enviada sin ninguna protección", "Cambié la contraseña a petición del cliente", "La contraseña es válida solamente tres días", "La contraseña es exactamente igual para todos",
    "パスワードは必ず変更してください。", "パスワードは login page で変更できます。", "パスワードは plain text では保存しません", "パスワードは case sensitive です。", "パスワードを reset する方法", "パスワードは最低8文字です",
)  # fmt: skip
"""Nothing of these may be masked."""
