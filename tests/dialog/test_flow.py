from __future__ import annotations

from collections.abc import Iterator

import pytest

from dialog.flow import FLOWS, Flow, UnknownFlow, find_flow, flow


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    before = dict(FLOWS)
    yield
    FLOWS.clear()
    FLOWS.update(before)


def test_the_flows_of_the_project_are_registered() -> None:
    assert {"parrot", "echo"} <= set(FLOWS)


def test_a_flow_is_found_by_its_name() -> None:
    @flow("mine")
    class Mine(Flow):
        pass

    assert find_flow("mine") is Mine


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="two flows named 'echo'"):
        flow("echo")(Flow)


def test_an_unknown_flow_lists_the_known() -> None:
    with pytest.raises(UnknownFlow, match=r"no flow 'x'; available: echo, parrot"):
        find_flow("x")
