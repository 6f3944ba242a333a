"""Conversation: turn taking, speech recognition, flows, and the session that ties them to one call."""

from dialog import echo, parrot

__all__ = ["echo", "parrot"]
