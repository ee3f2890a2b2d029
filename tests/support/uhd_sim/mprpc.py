# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The part of mprpc that usrp_mpm uses, which Debian does not package: a server of MessagePack RPC."""

import socket

import msgpack


def text_values(result):
    """libuhd reads maps of strings, and does not accept nil as one."""
    if isinstance(result, dict):
        return {key: "n/a" if value is None else value for key, value in result.items()}
    return result


class RPCServer:
    def __init__(self, *_, pack_params=None, unpack_params=None, **__):
        self._pack_params = pack_params or {"use_bin_type": True}
        self._unpack_params = unpack_params or {"raw": False}
        self.client_host = None
        self.client_port = None

    def __call__(self, connection, address):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_host, self.client_port = address[:2]
        packer = msgpack.Packer(**self._pack_params)
        unpacker = msgpack.Unpacker(**self._unpack_params)
        while data := connection.recv(1 << 16):
            unpacker.feed(data)
            for _, number, name, arguments in unpacker:
                self.client_host = address[0]  # another connection may have been accepted meanwhile
                error, result = self._call(name, arguments)
                connection.sendall(packer.pack((1, number, error, result)))
        connection.close()

    def _call(self, name, arguments):
        try:
            if name.startswith("_"):
                raise RuntimeError(f"there is no method {name}")
            return None, text_values(getattr(self, name)(*arguments))
        except Exception as error:  # whatever it was goes to the client
            return str(error), None
