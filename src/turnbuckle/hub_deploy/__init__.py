"""From files to what is on a blob: manifests, and the compiler of code components (blobhub 6.3 to 6.5, 7.1).

`manifest` and `schedules` read manifests. `source_tree` finds modules, `scan` reads one, `imports` says what its
imports mean, `link` orders the files and checks their names, `inline` writes them as blocks of one flat namespace,
`compiler` puts that together. `message` gives the blocks their hash and tells whose they are, `build` puts them into a
document, `compare` finds what differs. Only `source_tree` and `files` touch the disk; nothing here talks to a server.
"""
