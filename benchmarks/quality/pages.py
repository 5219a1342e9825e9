"""Q3: web pages under a budget. There is no corpus of extracted articles here, so F1 of extraction is not measured.

Two stand-ins. *Made pages*: a real project description as the article, inside menus, banners, scripts and footers, so
that it is known which words are the article's. *Pages that an agent really read* (deer-flow's fetches and searches,
browser dumps): addresses, figures and dates in view, and those of them that the agent wrote down later.
"""

from __future__ import annotations

import html
import importlib.metadata
import random
import re
from collections import Counter
from collections.abc import Iterator

from measuring import table
from real_sessions import sessions

from .arms import SEED, Arm, OurDigest, floors, tokens
from .later_use import Tally
from .own_files import descriptions
from .replay import events
from .scoring import share, stands

BUDGETS = (0.40, 0.20, 0.10)
PAGES = 8
PAGE_TOOLS = ("web_fetch", "web_search", "crawl", "browser", "image_search", "web_browser")
_WORD = re.compile(r"\w+")
_FACT = re.compile(
    r"https?://[^\s\"'<>()\[\]]{8,}|(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December) \d{1,2}, \d{4}|(?<![\w.,-])\$?\d[\d,.]*\d(?:%| ?(?:million|billion|trillion))?(?![\w-])"
)


def made_page(title: str, text: str, rng: random.Random) -> str:
    """A page around an article: about four fifths of its tokens are something else."""
    names = sorted(dist.name for dist in importlib.metadata.distributions())
    items = "".join(f'<li><a href="/p/{n.lower()}/" class="nav-{rng.randrange(999)}">{n}</a></li>' for n in names)
    body = "\n".join(f"<p>{html.escape(block)}</p>" for block in text.split("\n\n") if block.strip())
    script = ";".join(f'w.push({{"e":"v{rng.randrange(10**6)}","t":{rng.randrange(10**6)}}})' for _ in range(40))
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title><meta charset=utf-8>\n<script>{script}</script>\n"
        f"<style>.a{{margin:{rng.randrange(99)}px}}</style></head>\n<body>\n<nav><ul>\n{items}\n</ul></nav>\n"
        "<div class=cookie>We value your privacy. Accept all cookies? <button>Accept</button></div>\n"
        f"<main><article><h1>{title}</h1>\n{body}\n</article></main>\n<aside><h2>Related</h2><ul>\n{items}\n</ul></aside>\n"
        f"<footer>Terms · Privacy · © 2026<ul>\n{items}\n</ul></footer>\n<script>{script}</script></body></html>"
    )


def fours(text: str) -> Counter[tuple[str, ...]]:
    """Runs of four words."""
    words = _WORD.findall(html.unescape(text).lower())
    return Counter(zip(*(words[n:] for n in range(4)), strict=False))


def made_pages(budget: float, arm: Arm) -> tuple[float, float, float]:
    """(precision, recall, F1) of four-word runs against the article, over all pages, per cent."""
    rng = random.Random(SEED)
    hit = shown = wanted = 0
    for title, text in list(descriptions(1_500, 9_000).items())[:PAGES]:
        page = made_page(title, text, rng)
        view = fours(re.sub(r"<[^>]*>", " ", arm([page], [int(budget * tokens(page))])[0]))
        article = fours(f"{title}\n{text}")
        hit += sum((view & article).values())
        shown += sum(view.values())
        wanted += sum(article.values())
    precision, recall = share(hit, shown) if shown else 0.0, share(hit, wanted)
    return precision, recall, 2 * precision * recall / (precision + recall) if hit else 0.0


def read_pages() -> Iterator[tuple[str, list[str], list[str]]]:
    """(page, its facts, those that the agent writes later) of every page of 500 tokens and more."""
    for source in ("deer-flow", "inspect_ai", "openhands"):
        for session in sessions(source):
            found = events(session.messages)
            for at, one in enumerate(found):
                if one.kind != "result" or tokens(one.text) < 500:
                    continue
                if not (one.name in PAGE_TOOLS or one.text.count("http") >= 5):
                    continue
                facts = list(dict.fromkeys(m.group().rstrip(".,;:") for m in _FACT.finditer(one.text)))
                later = "\n".join(e.text.replace("\\n", "\n") for e in found[at + 1 :] if e.by_assistant)
                yield one.text, facts, [fact for fact in facts if stands(later, fact)]


def q3() -> tuple[str, dict[str, dict[float, Tally]]]:
    """The tables of Q3, and the facts written later for the overview."""
    pages = list(read_pages())
    arms: dict[str, Arm] = {"palimpsest": lambda texts, budgets: OurDigest()(texts, budgets), **floors()}
    rows: list[list[str]] = []
    used: dict[str, dict[float, Tally]] = {}
    for name, arm in arms.items():
        cells = [name]
        used[name] = {}
        for budget in BUDGETS:
            every, later = Tally(), Tally()
            for page, facts, written in pages:
                view = arm([page], [int(budget * tokens(page))])[0]
                every.add(view, facts)
                if written:
                    later.add(view, written)
            used[name][budget] = later
            cells.append(f"{every.recall:.1f} / {later.recall:.1f}")
        rows.append(cells)
    head = ("arm", *(f"{100 * budget:.0f} % budget" for budget in BUDGETS))
    one = used["palimpsest"][0.2]
    text = (
        f"{len(pages)} pages and result lists that agents read: addresses, figures and dates in view, % of all / of "
        f"the {one.wanted} that the agent wrote down later:\n\n" + table(head, rows)
    )
    made = [
        [name, *(" / ".join(f"{value:.0f}" for value in made_pages(budget, arm)) for budget in BUDGETS)]
        for name, arm in arms.items()
    ]
    text += f"\n\n{PAGES} made pages, four-word runs against the article, precision / recall / F1, %:\n\n"
    return text + table(head, made), used
