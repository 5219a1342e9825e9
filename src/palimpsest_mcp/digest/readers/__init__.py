"""How texts are read: each reader claims the lines that it understands, in this order; prose takes what is left."""

from __future__ import annotations

from ..records import Reader
from . import (
    accessibility,
    code,
    config,
    delimited,
    diff,
    fixed,
    html,
    json,
    listing,
    log,
    notebook,
    prose,
    ruled,
    search,
    tests,
    trace,
    web_results,
    yaml,
)

PROSE = Reader("prose", prose.claims, prose.read)
"""Reads what nobody claims."""
READERS: tuple[Reader, ...] = (
    Reader("notebook", notebook.claims, notebook.read),
    Reader("json", json.claims, json.read),
    Reader("html", html.claims, html.read),
    Reader("diff", diff.claims, diff.read),
    Reader("tests", tests.claims, tests.read),
    Reader("trace", trace.claims, trace.read),
    Reader("search", search.claims, search.read),
    Reader("web_results", web_results.claims, web_results.read),
    Reader("accessibility", accessibility.claims, accessibility.read),
    Reader("listing", listing.claims, listing.read),
    Reader("log", log.claims, log.read),
    Reader("ruled", ruled.claims, ruled.read),
    Reader("delimited", delimited.claims, delimited.read),
    Reader("fixed", fixed.claims, fixed.read),
    Reader("yaml", yaml.claims, yaml.read),
    Reader("config", config.claims, config.read),
    Reader("code", code.claims, code.read),
)
"""Asked in this order: the more exact a form is, the earlier."""
