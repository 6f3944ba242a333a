"""Who may call, decided without a network."""

from __future__ import annotations

from ipaddress import ip_network

from probes.clock import ManualClock
from telephony.admission import SOURCES_KEPT, Admission
from telephony.settings import SipSettings
from telephony.user_agent import FORBIDDEN, UNAVAILABLE


def admission(clock: ManualClock | None = None, **settings: object) -> Admission:
    return Admission(SipSettings.model_validate(settings), clock or ManualClock())


def test_a_call_within_the_limits_is_taken() -> None:
    assert admission().decide("192.0.2.1", 0) is None


def test_cap_answers_with_the_configured_status() -> None:
    for status in (486, 503):
        refusal = admission(max_calls=2, busy_status=status).decide("192.0.2.1", 2)
        assert refusal is not None
        assert refusal.status == status


def test_draining_refuses_everybody_with_503() -> None:
    gate = admission()
    gate.draining = True
    assert gate.decide("192.0.2.1", 0) == UNAVAILABLE


def test_only_listed_networks_may_call() -> None:
    gate = admission(allowed_sources=[str(ip_network("192.0.2.0/28")), "2001:db8::/32"])
    assert gate.decide("192.0.2.15", 0) is None
    assert gate.decide("2001:db8::1", 0) is None
    assert gate.decide("192.0.2.16", 0) == FORBIDDEN
    assert gate.decide("", 0) == FORBIDDEN


def test_a_flood_from_one_source_is_refused_and_others_are_not() -> None:
    clock = ManualClock()
    gate = admission(clock, max_new_calls_per_s=2)
    answers = [gate.decide("192.0.2.1", 0) for _ in range(5)]
    assert [refusal is None for refusal in answers] == [True, True, False, False, False]
    assert gate.decide("192.0.2.2", 0) is None
    clock.advance_ms(500)
    assert gate.decide("192.0.2.1", 0) is None
    assert gate.decide("192.0.2.1", 0) is not None


def test_memory_of_sources_is_bounded() -> None:
    gate = admission()
    for number in range(SOURCES_KEPT + 100):
        gate.decide(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 0)
    assert len(gate._buckets) == SOURCES_KEPT
