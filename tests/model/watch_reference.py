"""What a watch owes: a small model that is told of commits and of messages, and says what is missing or too much.

It knows nothing of cursors, queues, passes in pieces or windows: a change must be followed by a message that reads at
it or later, and a message needs a cause.
"""

from typing import Any


class Owed:
    """What has happened to one instance that it must be, or may be, sent for."""

    def __init__(self) -> None:
        self.seqs: list[int] = []  # commits that no message has read at or after; 0: a pass or a repeat
        self.causes = 0  # how many messages may still come: several may be told in one


class WatchReference:
    def __init__(self) -> None:
        self.there: set[str] = set()  # instances, by name
        self.linked: set[str] = set()  # those of them that lead to the topic
        self.has_topic = False
        self.owed: dict[str, Owed] = {}
        self.told: dict[str, bool] = {}  # whether it was an instance, or removed, when it was told of last
        self.as_of: dict[str, int] = {}  # of the last message of each shard
        self.numbers: dict[str, int] = {}  # of the last message of each shard, over every re-creation

    # -- what happens --------------------------------------------------------------------------------------------

    def write(self, name: str, seq: int, wakes: bool) -> None:
        """A field of an instance was written; `wakes` when it is a watched one."""
        if name not in self.there or wakes:
            self.must(name, seq)
        self.there.add(name)

    def retract(self, name: str, seq: int) -> None:
        if name in self.there:
            self.there.discard(name)
            self.linked.discard(name)
            self.must(name, seq)

    def link(self, name: str, seq: int) -> None:
        self.must(name, seq)
        self.there.add(name)
        self.linked.add(name)
        self.has_topic = True

    def write_topic(self, seq: int, wakes: bool) -> None:
        """A field of the topic was written; `wakes` when the watch follows links to it."""
        for name in self.linked if wakes else ():
            self.must(name, seq)
        self.has_topic = True

    def retract_topic(self, seq: int) -> None:
        """Its links go with it, and each is a change of the instance that had it."""
        for name in self.linked:
            self.must(name, seq)
        self.linked.clear()
        self.has_topic = False

    def send_all(self, must: bool) -> None:
        """A pass over all instances was asked for; not `must` when one goes on already."""
        for name in self.there:
            if must:
                self.must(name, 0)
            else:
                self.owed.setdefault(name, Owed()).causes += 1

    def must(self, name: str, seq: int) -> None:
        owed = self.owed.setdefault(name, Owed())
        owed.seqs.append(seq)
        owed.causes += 1

    def forget(self) -> None:
        """The watch is gone with what waited; what is not there any more will not be told of."""
        self.owed.clear()
        self.told = {name: was for name, was in self.told.items() if name in self.there}

    # -- what is sent --------------------------------------------------------------------------------------------

    def hear(self, shard: str, message_id: str, message: dict[str, Any], names: dict[str, str]) -> None:
        """A message has come to a shard. `names` are the instances' by IRI."""
        number = int(message_id.rpartition("-")[2])
        assert number == self.numbers.get(shard, 0) + 1, f"{message_id} does not follow {self.numbers.get(shard)}"
        self.numbers[shard] = number
        as_of: int = message["as_of_commit_seq"]
        assert as_of >= self.as_of.get(shard, 0), f"{message_id} reads at {as_of}, before the one ahead of it"
        self.as_of[shard] = as_of
        told = [(names[iri], True) for iri in message["instances"]]
        told += [(names[iri], False) for iri in message["removed"]]
        assert len({name for name, _ in told}) == len(told) > 0, f"{message_id} names an instance twice, or none"
        for name, is_there in told:
            owed = self.owed.get(name, Owed())
            assert owed.causes > 0, f"{message_id} sends {name} without a cause"
            owed.causes -= 1
            owed.seqs = [seq for seq in owed.seqs if seq > as_of]
            self.told[name] = is_there

    def check_all_told(self) -> None:
        """Everything has come to rest: nothing is owed, and each instance was told of last as it is."""
        missing = {name: owed.seqs for name, owed in self.owed.items() if owed.seqs}
        assert not missing, f"never sent at or after these commits: {missing}"
        wrong = {name: was for name, was in self.told.items() if was is not (name in self.there)}
        assert not wrong, f"told of last as there (or not): {wrong}"
        assert self.there <= self.told.keys(), f"never told: {self.there - self.told.keys()}"
        self.owed.clear()  # causes that were told together with others
