"""From files to what is on a blob: manifests, and the compiler of code components (blobhub 6.3 to 6.5).

`manifest` reads the manifest; `source_tree` finds modules, `imports` and `scan` read one, `link` orders them and checks
their names, `inline` writes them as blocks of one flat namespace, `compiler` puts that together. `message` gives the
blocks their hash, `drift` tells whose they are, `bind` puts them into a document, `compare` finds what differs.
Only `source_tree` and `files` touch the disk; nothing here talks to a server.
"""
