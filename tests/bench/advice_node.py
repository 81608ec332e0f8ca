"""What rivals and the executor know of a node: names as the daemon's, structure, no measurement."""
import advice_nodes


class Node:
    """From GetNode; text is the description that a virtual node follows, which knows better what its host's memory is."""

    def __init__(self, graph, text=None):
        places = {place["name"]: place for place in graph["places"]}
        self.gpus = [place for place in places if places[place]["kind"] == "gpu"]
        self.memory_of = {gpu: self.own_memory(places, gpu) for gpu in self.gpus}
        self.numas = [name for name, place in places.items() if place["kind"] == "numa" and place["capacity_bytes"] and name not in self.memory_of.values()]
        self.numa_of = {gpu: places[gpu]["numa"] if places[gpu]["numa"] in self.numas else self.numas[0] for gpu in self.gpus}
        self.reaches_malloc = self.is_one_memory = self.has_managed = False
        if text is not None:
            self.describe(text, [places[gpu]["pci"] for gpu in self.gpus])
        self.package_of = {numa: self.above(places, numa, "package") for numa in self.numas}
        self.width = {gpu: {} for gpu in self.gpus}
        for link in graph["links"]:
            if link["from"] in self.width and link["to"] in self.width:
                self.width[link["from"]][link["to"]] = self.width[link["to"]][link["from"]] = link["width"]

    def describe(self, text, pcis):
        described = advice_nodes.devices(text)
        assert pcis == [device["pci"] for device in described], "gpus are not numbered as in the description"
        memories = {device.get("memory_numa") for device in described}
        self.memory_of = {gpu: f"numa{device['memory_numa']}" if int(device.get("memory_numa", -1)) >= 0 else None for gpu, device in zip(self.gpus, described)}
        self.numas = ["numa" + words[1] for words in map(str.split, text.splitlines()) if words[0] == "numa" and (words[1] not in memories or words[3] != "0")]
        self.numa_of = {gpu: f"numa{device['numa']}" for gpu, device in zip(self.gpus, described)}
        self.is_one_memory = all(device.get("integrated") == "1" for device in described)
        self.has_managed = all(device.get("managed") == "1" for device in described) and not any(self.memory_of.values())  # of one that a gpu may have as well the driver knows no moving
        self.reaches_malloc = all(device.get("pageable") == "1" for device in described)

    @staticmethod
    def own_memory(places, gpu):
        """The NUMA node that the kernel shows a gpu's memory as."""
        return next((name for name, place in places.items() if place["kind"] == "numa" and place["parent"] == gpu), None)

    @staticmethod
    def above(places, name, kind):
        while name is not None and places[name]["kind"] != kind:
            name = places[name]["parent"]
        return name
