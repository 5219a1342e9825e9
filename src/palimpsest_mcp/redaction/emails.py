"""Which of the texts around an @ sign are a person's address."""

from __future__ import annotations

import re

from .matching import Found

# RFC 2606 and RFC 6761: domains nobody has. People do write them for real ones, so only stand-ins stay.
_RESERVED = re.compile(
    rb"(?i)(?:@|\.)(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|local|internal|localdomain)$"
)
_STAND_IN = re.compile(
    rb"(?i)(?:users?|user-?name|some(?:one|body)|any(?:one|body)|name|your?|you|me|my|e-?mail|mail|test(?:er|ing|user)?|"
    rb"foo|bar|baz|qux|admin|root|info|support|contact|hello|help|dev|demo|example|sample|alice|bob|carol|charlie|dave|"
    rb"eve|john|jane|joe|jdoe|(?:john|jane)[._-]?doe|[a-z]|.*no-?reply.*)$"
)
_NOBODY = re.compile(rb"(?i)(?:git|hg|svn|.*no-?reply|do-?not-?reply|donotreply|mailer-daemon)$")
_PATH_FOLLOWS = re.compile(rb":[\w~./-]")
_NOT_A_DOMAIN = re.compile(
    rb"(?i)\.(?:png|jpe?g|gif|svg|webp|ico|css|s?css|m?js|tsx?|jsx|json|py|rb|go|rs|md|txt|html?|xml|ya?ml|toml|lock|"
    rb"service|socket|timer|mount|target|conf|cfg|ini|log|length|value|name|map|filter|each|md5|sha|sh|exe|dll|so|t?gz|zip|tar|whl|jar|deb|rpm)$"
)


def is_a_persons(text: bytes, match: Found) -> bool:
    """Whether the match is an e-mail address of somebody: no host, package, file, decorator, stand-in or robot."""
    person, _, domain = match.group().rpartition(b"@")
    after = text[match.end() : match.end() + 1]
    if _NOT_A_DOMAIN.search(domain) or after in (b"(", b"@") or _NOBODY.match(person):
        return False
    if _RESERVED.search(b"@" + domain) and _STAND_IN.match(person):
        return False
    return not _names_a_host(text, match)


def _names_a_host(text: bytes, match: Found) -> bool:
    """Whether it is `user@host` of a URL or of scp."""
    before = text[max(0, match.start() - 80) : match.start()].rsplit(b" ", 1)[-1]
    if b"://" in before and not re.search(rb"[?&=,]", before):
        return True
    return _PATH_FOLLOWS.match(text, match.end()) is not None
