"""A hundred pairs of patterns, labelled by hand before the clustering was written: one rule, or two?

Same: they differ in numbers, quotes, case, white space, punctuation, filler words or spelling only. Different: another
thing is meant, or the opposite.
"""

from __future__ import annotations

SAME: tuple[tuple[str, str], ...] = (
    # numbers
    ("Retry up to 3 times when the API answers 429", "Retry up to 5 times when the API answers 429"),
    ("wait 2.5 seconds between pages", "wait 10 seconds between pages"),
    ("Limit results to the last 30 days", "limit results to the last 90 days"),
    ("add the year 2025 to product queries", "add the year 2026 to product queries"),
    ("fetch at most 1,000 rows a call", "fetch at most 500 rows a call"),
    ("keep batches under 20% of the window", "keep batches under 35 % of the window"),
    ("timeout 30s for slow hosts", "timeout 45s for slow hosts"),
    ("top 10 results are enough", "top 20 results are enough"),
    ("split files above 5MB before upload", "split files above 12 MB before upload"),
    ("two sources are needed for every claim", "3 sources are needed for every claim"),
    ("start the crawl at 02:30", "start the crawl at 04:00"),
    # quotes
    ('put the product name in "double quotes"', "put the product name in 'double quotes'"),
    ("search for “Claude Code” with quotes", 'search for "Claude Code" with quotes'),
    ("use ‘sort=relevance’ on reddit", 'use "sort=relevance" on reddit'),
    ("use `restrict_sr=on` for subreddits", "use restrict_sr=on for subreddits"),
    ("品牌词 + 痛点词 比 '评测' 召回更准", "品牌词 + 痛点词 比 「评测」 召回更准"),
    ('query "iphone 15 battery drain" finds complaints', 'query "galaxy s24 overheating" finds complaints'),
    # case
    ("Prefer Official Documentation Over Blog Posts", "prefer official documentation over blog posts"),
    ("USE THE MOBILE ENDPOINT", "use the mobile endpoint"),
    ("Filter by language before ranking", "filter by Language before Ranking"),
    ("GitHub topic search finds frameworks", "github topic search finds frameworks"),
    # white space
    ("check the   robots file  first", "check the robots file first"),
    ("sort by date\tthen by score", "sort by date then by score"),
    ("group results by host\nbefore reading them", "group results by host before reading them"),
    ("品牌词+痛点词+近30天", "品牌词 + 痛点词 + 近 30 天"),
    ("read the changelog first ", " read the changelog first"),
    # punctuation and signs
    ("Cache the token; refresh it hourly.", "Cache the token, refresh it hourly"),
    ("quote the error message, exactly!", "quote the error message exactly"),
    ("full-text search beats tag search", "full text search beats tag search"),
    ("Use the long-tail keywords.", "use the long tail keywords"),
    ("follow redirects (once)", "follow redirects, once"),
    ("Ｕｓｅ ｔｈｅ ＡＰＩ for prices", "Use the API for prices"),
    ("log the request id…", "log the request id"),
    ("- strip tracking parameters", "strip tracking parameters"),
    # filler words
    ("use the year in the query", "use year in query"),
    ("Please always check the publish date", "check the publish date"),
    ("just use the RSS feed", "use the RSS feed"),
    ("you should search in the local language", "search in the local language"),
    ("it is best to read the release notes", "best to read release notes"),
    # spelling and inflection
    ("normalise URLs before comparing", "normalize URLs before comparing"),
    ("search for the colour name", "search for the color name"),
    ("add synonym to query", "add synonyms to queries"),
    ("prefer a primary source", "prefer primary sources"),
    # one meaning with one polarity
    ("don't use emotional words in queries", "do not use emotional words in queries"),
    ("never scrape behind a login", "do not scrape behind a login"),
    ("avoid abstract terms on hn", "avoid abstract terms on HN."),
    ("avoid using the search box of the forum", "do not use the search box of the forum"),
    ("can't page beyond 1000 results", "cannot page beyond 500 results"),
    ("不要使用情绪词", "不要使用 情绪词。"),
    ("rate limited after 3 parallel calls", "Rate-limited after 8 parallel calls"),
)
"""Fifty pairs that are one rule."""

DIFFERENT: tuple[tuple[str, str], ...] = (
    # opposite polarity
    ("use quotes around product names", "do not use quotes around product names"),
    ("retry on timeout", "never retry on timeout"),
    ("include the year in the query", "exclude the year from the query"),
    ("use the mobile endpoint", "avoid the mobile endpoint"),
    ("search with filters", "search without filters"),
    ("always log in first", "never log in first"),
    ("caching helps here", "caching does not help here"),
    ("enable safe search", "disable safe search"),
    ("increase the page size", "decrease the page size"),
    ("allow redirects", "disallow redirects"),
    ("使用情绪词", "不要使用情绪词"),
    ("results are reliable", "results are unreliable"),
    ("trust the snippet", "don't trust the snippet"),
    ("stop after the first hit", "go on after the first hit"),
    ("add site:pinterest.com", "add -site:pinterest.com"),
    ("prefer long queries", "prefer short queries"),
    ("sort ascending by date", "sort descending by date"),
    ("use more keywords", "use fewer keywords"),
    ("read the page before the comments", "read the page after the comments"),
    ("the cache is valid", "the cache is invalid"),
    # another thing
    ("search zhihu for opinions", "search reddit for opinions"),
    ("prefer English sources", "prefer Chinese sources"),
    ("use sort=top on reddit", "use sort=new on reddit"),
    ("grep -r finds it", "grep -i finds it"),
    ("store tokens in the keyring", "store cookies in the keyring"),
    ("ask for the price in euro", "ask for the price in dollars"),
    ("prices come from the API", "reviews come from the API"),
    ("read the abstract of papers", "read the conclusion of papers"),
    ("use the GitHub API for stars", "use the GitLab API for stars"),
    ("use C++ examples", "use C# examples"),
    ("encode queries as utf8", "encode queries as utf16"),
    ("prefer ipv4 hosts", "prefer ipv6 hosts"),
    ("look for the upload date", "look for the upload size"),
    ("check p95 latency", "check p99 latency"),
    ("quote the content of the page", "quote the context of the page"),
    ("translate titles from German to English", "translate titles from English to German"),
    ("search zhihu before xiaohongshu", "search xiaohongshu before zhihu"),
    ("prefer arxiv over blogs", "prefer blogs over arxiv"),
    ("use API v2 for search", "use API v3 for search"),
    ("filter by author", "filter by date"),
    ("brand plus pain point finds complaints", "brand plus feature finds complaints"),
    ("品牌词 + 痛点词", "品牌词 + 功能词"),
    ("use title-only search for precision", "use full-text search for recall"),
    ("the first page is cached for a day", "the last page is cached for a day"),
    (
        "read prices in the EU shop for laptops of known brands",
        "read prices in the US shop for laptops of known brands",
    ),
    ("videos need the transcript tool", "podcasts need the transcript tool"),
    ("open the link in a new session", "open the image in a new session"),
    ("fails with ECONNRESET behind the proxy", "fails with ETIMEDOUT behind the proxy"),
    ("write the summary in one paragraph", "write the summary in one table"),
    ("ask the user which city is meant", "ask the user which date is meant"),
)
"""Fifty pairs that are two rules."""
