"""Tests a daemon with python3-varlink: varlink_foreign.py ADDRESS.

The library reads the interface descriptions itself and makes its calls from them, so it is an
independent check of both.
"""
import sys

import varlink

with varlink.Client(address=sys.argv[1]) as client:
    info = client.get_interfaces()
    names = list(info)
    assert {"org.varlink.service", "io.berth.Fabric", "io.berth.Health", "io.berth.Placement"} <= set(names), names
    for name in names:
        interface = client.get_interface(name)
        assert interface.name == name, interface.name
    with client.open("io.berth.Fabric") as fabric:
        assert fabric.GetStatus()["state"] in ("starting", "probing", "ready")
        node = fabric.GetNode()
        assert any(place["kind"] == "machine" for place in node["places"]), node
        first = next(iter(fabric.Watch(_more=True)))
        assert first["snapshot"] == node["basis"]["snapshot"], first
    with client.open("io.berth.Fabric") as fabric:
        files = [reply["file"] for reply in fabric.Record(_more=True)]
        assert "node.json" in files, files
        try:
            fabric.GetMatrix(metric="no_such")
        except varlink.VarlinkError as error:
            assert error.error() == "io.berth.Fabric.NoSuchMetric", error.as_dict()
            assert error.parameters()["metric"] == "no_such", error.as_dict()
        else:
            raise AssertionError("an unknown metric was answered")
        fabric.GetStatus(_oneway=True)
        assert fabric.GetStatus()["clients"] >= 1
