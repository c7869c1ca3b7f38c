"""The one error of all embedding models."""


class ModelError(Exception):
    """A model that cannot be had or used as it is; the message says why and what mends it."""
