"""What answers on this machine's loopback: the page that a browser looks into a store with, and the thin gateway.

`app.py` has the routes and the server, `answers.py` what they answer from the facade and the figures with
their sources, `page.html` everything a browser runs; nothing is loaded from anywhere else. `gateway.py` forwards to a
provider.
"""
