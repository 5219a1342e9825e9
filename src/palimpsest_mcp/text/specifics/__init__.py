"""Specifics: values of a text that a reader may need exactly, such as numbers, ids, paths, versions.

In: a text. Out: spans with class and key. `registry` holds the classes, `lexer` finds, `patterns` and `delimited`
know the shapes, `vocabulary` the words around a value that say something of it.
"""
