"""Machines that experiments of papers ran on, by name, and the draw of their jobs."""

from __future__ import annotations

from hetsched.platform.devices import DeviceClass, DeviceNodes

TSUBAME3_JOBS_W: dict[str, tuple[str, float]] = {
    "cpu-small": ("cpu", 169.0),
    "cpu-medium": ("cpu", 206.0),
    "cpu-large": ("cpu", 245.0),
    "gpu-small": ("gpu", 251.0),
    "gpu-medium": ("gpu", 597.0),
    "gpu-large": ("gpu", 1095.0),
}
"""Job types 1 to 6 of the VAHRM paper's Table IV: the devices each uses, and their mean watts, a node's together."""


def tsubame3(nodes: int = 540) -> DeviceNodes:
    """The VAHRM paper's machine: 540 nodes of two Xeon E5-2680 and four Tesla P100 (Table II).

    A CPU draws 40 W when idle and has a TDP of 120 W, a GPU 60 W and 300 W; together 172.8 kW and 777.6 kW, which the
    paper rounds to 780 kW. The paper leaves out the rest of a node's draw (memory, fans, network).

    Parameters
    ----------
    nodes
        For a part of the machine, or a larger one.

    Raises
    ------
    ConfigError
        If the number is invalid.

    Examples
    --------
    >>> tsubame3()
    <DeviceNodes: 540 nodes of 2 cpu and 4 gpu>
    """
    cpu = DeviceClass("cpu", per_node=2, idle_w=40.0, tdp_w=120.0)
    gpu = DeviceClass("gpu", per_node=4, idle_w=60.0, tdp_w=300.0)
    return DeviceNodes(nodes, [cpu, gpu])
