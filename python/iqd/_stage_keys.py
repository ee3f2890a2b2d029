# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The keys of a running stage, of the source, or of an outlet."""

from collections.abc import Mapping

from iqd._monitor import NoSuchName, path_of_stage
from iqd._tables import key_table


def near(name, names):
    """` (did you mean 'gain'?)`"""
    import difflib  # pylint: disable=import-outside-toplevel
    close = difflib.get_close_matches(str(name), names, 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


class StageKeys(Mapping):
    """A mapping of keys to their values, as they are set now: `stage["gain"]`, `stage["gain"] = 25`. Each look-up asks
    the daemon. A key of a group is `stage["group.key"]` or `stage["group"]["key"]`."""

    def __init__(self, monitor, pipeline, name, group=""):
        self._monitor, self.pipeline, self.name, self._group = monitor, pipeline, name, group

    @property
    def facts(self):
        """For each key what `GET /api/stages/NAME` says: value, unit, range, choices, default, live, by, since."""
        keys = self._monitor.call("GET", path_of_stage(self.pipeline, self.name))["keys"]
        n = len(self._group)
        return {key[n:]: facts for key, facts in keys.items() if key.startswith(self._group)}

    def __getitem__(self, key):
        facts = self.facts
        if key in facts:
            return facts[key]["value"]
        if any(name.startswith(f"{key}.") for name in facts):
            return StageKeys(self._monitor, self.pipeline, self.name, f"{self._group}{key}.")
        group, _, entry = str(key).partition(".")
        if entry and isinstance(facts.get(group, {}).get("value"), dict) and entry in facts[group]["value"]:
            return facts[group]["value"][entry]
        raise NoSuchName(f"{self.name} has no key '{self._group}{key}'{near(key, facts)}; it has: "
                         + (", ".join(facts) or "none"))

    def __setitem__(self, key, value):
        self.update({key: value})

    def update(self, keys=(), /, **more):
        """Sets several keys together: all of them, or none. Values are written as in the file, such as "1.45 GHz";
        None is `none`. Returns what has changed, as lines of text."""
        keys = {f"{self._group}{key}": value for key, value in dict(keys, **more).items()}
        return self._monitor.call("PATCH", path_of_stage(self.pipeline, self.name), keys)["applied"]

    def __iter__(self):
        return iter(self.facts)

    def __len__(self):
        return len(self.facts)

    def _ipython_key_completions_(self):
        return list(self.facts)

    def __repr__(self):
        return f"{self.pipeline}/{self.name}{'.' + self._group[:-1] if self._group else ''}\n{key_table(self.facts)}"
