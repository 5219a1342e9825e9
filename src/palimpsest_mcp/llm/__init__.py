"""Model use, all of it optional: prose for digests, drafts of summaries, judged probes.

In: masked texts. Out: wording that is marked as a model's, or a failure for which the caller has a way without. `api`
is the one client, `writer` implements the `Writer` port, `authors` drafts summaries and judges answers.
"""
