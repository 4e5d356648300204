# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Captures what leaves (or passes) an interface into a pcap file, without a tool that drops or cuts packets."""
import ctypes
import os
import socket
import struct
import threading
import time

ETH_P_ALL = 3
PACKET_OUTGOING = 4


def in_namespace(pid, function):
    """What function() returns, called in the network namespace of that process. Needs to be root."""
    setns = ctypes.CDLL(None, use_errno=True).setns
    with open('/proc/self/ns/net') as here, open(f'/proc/{pid}/ns/net') as there:
        if setns(there.fileno(), 0) != 0:
            raise PermissionError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        try:
            return function()
        finally:
            setns(here.fileno(), 0)


class Capture:
    """Needs CAP_NET_RAW. start, then stop; frames holds (time, bytes) of every frame that was sent."""

    def __init__(self, interface, pid=None, both=False):
        """`pid`: the interface is in the network namespace of that process. `both`: what it receives, too."""
        if pid is None:
            self._open(interface)
        else:
            in_namespace(pid, lambda: self._open(interface))
        self.frames, self.stopping, self.both = [], False, both
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _open(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        except OSError:
            pass
        self.socket.bind((interface, 0))
        self.socket.settimeout(0.1)

    def _run(self):
        while True:
            try:
                frame, address = self.socket.recvfrom(70000)
            except TimeoutError:
                if self.stopping:
                    return
                continue
            if self.both or address[2] == PACKET_OUTGOING:
                self.frames.append((time.time(), frame))

    def stop(self):
        self.stopping = True
        self.thread.join()
        lost = struct.unpack('II', self.socket.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS
        self.socket.close()
        return lost

    def write(self, path):
        with open(path, 'wb') as f:
            f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 0x40000, 1))
            for at, frame in self.frames:
                f.write(struct.pack('<IIII', int(at), int(at % 1 * 1e6), len(frame), len(frame)) + frame)
