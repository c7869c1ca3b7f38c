"""The one error of all embedding models."""


class ModelError(Exception):
    """A model is missing or unusable; the message says why and how to fix it."""
