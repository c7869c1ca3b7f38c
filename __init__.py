"""ctxd: a context daemon for people who work with coding agents. See ARCHITECTURE.md."""
