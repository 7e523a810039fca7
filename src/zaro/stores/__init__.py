"""The bytes of a request: local files, memory, and all that fsspec reaches."""
