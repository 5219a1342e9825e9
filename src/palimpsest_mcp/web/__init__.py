"""The local page: a store looked into with a browser, by one HTML file and the routes that it reads.

`app.py` has the routes, `answers.py` what they answer from the facade, `figures.py` the figures with their sources,
`page.html` everything a browser runs. Nothing is loaded from anywhere else.
"""
