"""Reasons and warnings of an answer."""


def texts(answer, key):
    """The sentences of an answer's "reasons" or "warnings"."""
    return [reason["text"] for reason in answer[key] or []]


def codes(answer, key):
    """Their codes."""
    return [reason["code"] for reason in answer[key] or []]
