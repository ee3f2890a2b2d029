# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""simulator.py CONFIG [clock]: Debian's usrp_mpm as a simulated device. Its own launcher, usrp_hwd, is not packaged.

With `clock` it has a clock and sensors.
"""

import sys
import types

import pyroute2

# xports/ imports the library of real devices' peripherals, which a simulator does not have.
library = types.ModuleType("usrp_mpm.libpyusrp_periphs")
library.types = types.SimpleNamespace(log_buf=types.SimpleNamespace(make_singleton=lambda: None))
sys.modules["usrp_mpm.libpyusrp_periphs"] = library

# usrp_mpm 4.3 passes the list that link_lookup() returns; pyroute2 takes one index since 0.6.
get_links = pyroute2.IPRoute.get_links


def get_links_of_list(self, *arguments, **options):
    if arguments and isinstance(arguments[0], (list, tuple)):
        return [link for index in arguments[0] for link in get_links(self, index, **options)]
    return get_links(self, *arguments, **options)


pyroute2.IPRoute.get_links = get_links_of_list

import usrp_mpm  # noqa: E402
from usrp_mpm.mpmtypes import MPM_RPC_PORT, SharedState  # noqa: E402

import radio  # noqa: E402
import stream  # noqa: E402


def main():
    stream.install()
    if "clock" in sys.argv:
        radio.install()
    usrp_mpm.get_main_logger(use_logbuf=False)
    state = SharedState()
    processes = [usrp_mpm.spawn_rpc_process(MPM_RPC_PORT, state, {"config": sys.argv[1]}),
                 usrp_mpm.spawn_discovery_process(state, "0.0.0.0")]
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
