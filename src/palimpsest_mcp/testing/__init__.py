"""Contract suites and values for whoever writes a backend (docs/backends.md).

In: a way to open an empty place. Out: test classes. `store_contract` and `experience_contract` are one call each;
`disks` has disks that crash and fail, `schemas` the format on disk as JSON schemas.
"""
