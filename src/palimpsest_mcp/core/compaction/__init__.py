"""A pass: choose what leaves, digest it, check the digests, archive the originals, commit.

In: a session's view and a policy. Out: stored digests and a report; any failure leaves the context as it was.
`run.run_pass` is the whole of it, `plan` what leaves, `batches` and `digests` make, `prove` and `probes` check,
`report` says what came of it.
"""
