"""Model use, all of it optional: prose for digests, drafts of summaries, judged probes.

In: masked texts. Out: wording that is marked as a model's, or a failure for which the caller has a way without. `api`
is the one client, `tasks` what it is asked: the `Writer` port, drafts of summaries, judged answers.
"""
