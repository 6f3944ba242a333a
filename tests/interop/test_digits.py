"""DTMF in all its odd shapes (cases C04, C49): what is pressed is what is heard, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.interop.audio import assert_echo
from tests.interop.bots import Agent
from voxtrunk.bench import dtmf
from voxtrunk.bench.phone import Phone
from voxtrunk.bench.sdp import media_section, session

PRESS = dtmf.press("5")

ODD_PRESSES: dict[str, tuple[dtmf.Plan, str]] = {
    "plain": (PRESS, "5"),
    "a-no-marker": (dtmf.without_marker(PRESS), "5"),
    "b-first-packet-lost": (dtmf.without(PRESS, [0]), "5"),
    "b-first-three-lost": (dtmf.without(PRESS, [0, 1, 2]), "5"),
    "c-all-ends-lost": (dtmf.without(PRESS, [-1, -2, -3]), "5"),
    "d-ends-share-a-sequence-number": (dtmf.same_end_sequence(PRESS), "5"),
    "e-swapped": (dtmf.swapped(PRESS, 2), "5"),
    "e-end-overtakes-an-update": (dtmf.swapped(PRESS, 4), "5"),
    "f-same-key-twice-40-ms-apart": (dtmf.chain([PRESS, PRESS], gap_slots=2), "55"),
    "f-two-keys-without-a-gap": (dtmf.chain([PRESS, dtmf.press("6")], gap_slots=0), "56"),
    "g-held-long-with-a-hole": (dtmf.with_hole(dtmf.press("5", hold_ms=2000), 10, 70), "5"),
    "short": (dtmf.press("5", hold_ms=20), "5"),
    "one-end": (dtmf.press("5", end_copies=1), "5"),
    "all-keys": (dtmf.chain([dtmf.press(key, hold_ms=40) for key in dtmf.DIGITS], gap_slots=2), dtmf.DIGITS),
    "flash-is-no-key": (dtmf.chain([dtmf.press(16), PRESS], gap_slots=2), "5"),
}


@pytest.mark.parametrize("name", ODD_PRESSES)
def test_c49_keys_are_heard_once(agent: Agent, name: str) -> None:
    plan, expected = ODD_PRESSES[name]
    with Phone(agent.address) as phone:
        phone.dial("echo")
        phone.media.sender.send_event(plan, 101)
        phone.media.sender.wait_played(6.0)
        assert_echo(phone, 0.3, share=0.5)  # audio goes on after the keys
        phone.hang_up()
        assert phone.dialog is not None
        assert agent.digits_of(phone.dialog.call_id) == expected


def test_c49_an_end_that_comes_late_is_not_a_second_press(agent: Agent) -> None:
    late_end = dtmf.press("5")[-1]
    plan = dtmf.chain([PRESS, dtmf.press("6")], gap_slots=1)
    with Phone(agent.address) as phone:
        phone.dial("echo")
        # The last copy of the first key's end arrives while the second key is down.
        first_end = next(packet for packet in plan if packet.end)
        moved = replace(first_end, slot=11, sequence_offset=late_end.sequence_offset)
        phone.media.sender.send_event((*plan, moved), 101)
        phone.media.sender.wait_played(3.0)
        phone.hang_up()
        assert phone.dialog is not None
        assert agent.digits_of(phone.dialog.call_id) == "56"


@pytest.mark.parametrize(
    "events",
    [
        ((110, "telephone-event/48000"), (126, "telephone-event/8000")),
        ((126, "telephone-event/8000"), (110, "telephone-event/48000")),
        ((126, "telephone-event/8000"),),
    ],
    ids=["48k-first", "8k-first", "8k-only"],
)
def test_c04_opus_with_events_of_either_clock(agent: Agent, events: tuple[tuple[int, str], ...]) -> None:
    with Phone(agent.address, codec="opus") as phone:
        sdp = session([media_section(phone.media.port, codecs=["opus", "PCMU"], events=events)])
        answer = phone.dial("echo", sdp=sdp)
        agreed = {number: name for number, name in answer.rtpmaps.items() if name.startswith("telephone-event")}
        payload_type, name = next(iter(agreed.items()))
        clock_rate_hz = int(name.split("/")[1])
        phone.media.sender.send_event(dtmf.press("9", clock_rate_hz=clock_rate_hz), payload_type)
        phone.media.sender.wait_played(3.0)
        phone.hang_up()
        assert phone.dialog is not None
        assert agent.digits_of(phone.dialog.call_id) == "9"


def test_digits_by_info(agent: Agent) -> None:
    with Phone(agent.address) as phone:
        phone.dial("echo")
        assert phone.dialog is not None
        agent.event("call", sip_call_id=phone.dialog.call_id)
        body = "Signal=8\r\nDuration=160\r\n"
        response = phone.dialog.transact("INFO", body=body, content_type="application/dtmf-relay")
        assert response.status == 200
        agent.event("digit", sip_call_id=phone.dialog.call_id)
        phone.hang_up()
        assert agent.digits_of(phone.dialog.call_id) == "8"


def test_c04_events_at_48_khz_only_are_not_taken(agent: Agent) -> None:
    with Phone(agent.address, codec="opus") as phone:
        sdp = session([media_section(phone.media.port, codecs=["opus"], events=((110, "telephone-event/48000"),))])
        answer = phone.dial("echo", sdp=sdp)
        assert list(answer.rtpmaps) == [96]  # so a peer with manners sends its keys by INFO
        assert_echo(phone, 0.4)


def test_c49_a_key_of_which_only_the_end_arrives_is_lost(agent: Agent) -> None:
    """Five packets lost in a row; the stack begins a key with an update only (docs/interop.md)."""
    with Phone(agent.address) as phone:
        phone.dial("echo")
        phone.media.sender.send_event(dtmf.without(PRESS, range(5)), 101)
        phone.media.sender.wait_played(3.0)
        phone.hang_up()
        assert phone.dialog is not None
        assert agent.digits_of(phone.dialog.call_id) == ""
