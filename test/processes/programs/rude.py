"""Processes that misuse a space, or use it as they should: rude.py KINDS COUNT HANDLE [OLD HANDLE].

Each is a process of its own. A line for each says how it ended. Standard input has a request whose
answer is long, as node:v8 writes it, and those that are forged.
"""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import random
import select
import socket
import struct
import sys
import threading
import time

import onemem

AT_ONCE = 4
NOBODY = 65534
WAIT_SECONDS = 20
FLOOD_SECONDS = 0.2
# The first number of a stream, pin or notifier of client 1, for whom requests are forged.
FIRST_NUMBER = 2 ** 20 + 1
UFFD_FEATURE_EVENT_FORK = 2
MODE_MISSING = 1
STATS = json.dumps({'id': 1, 'name': 'stats', 'value': None}).encode()


def frame(text):
    return onemem.HEADER.pack(len(text)) + text


def connect(name):
    meeting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    meeting.settimeout(WAIT_SECONDS)
    meeting.connect('\0onemem-' + name)
    return meeting


def answer(meeting):
    try:
        data, fds, _, _ = socket.recv_fds(meeting, 65536, 4)
    except ConnectionError:
        return 'closed'
    for fd in fds:
        os.close(fd)
    said = json.loads(data) if data else 'closed'
    return f"refused {said['refused']['code']}" if 'refused' in said else 'closed' if said == 'closed' else 'served'


def hello(token, **others):
    return json.dumps({'onemem': onemem.VERSION, 'token': token, 'codec': 'json', **others}).encode()


class Process:
    def __init__(self, number, handle, old, long_request, forged_requests):
        self.handle = handle
        self.name, self.token = handle.split(':')[2:]
        self.old = old
        self.number = number
        self.long_request = long_request
        self.forged_requests = forged_requests
        self.random = random.Random(number)

    def greet(self, said):
        meeting = connect(self.name)
        try:
            meeting.send(said)
        except ConnectionError:
            return 'closed'
        return answer(meeting)

    def mapped(self, fds):
        """Comes in with these descriptors instead of its own."""
        meeting = connect(self.name)
        onemem._ask(meeting, json.loads(hello(self.token)), [])
        socket.send_fds(meeting, [b'{"faults":3}'], fds)
        return answer(meeting)

    def attached(self, faults=None, codec='json'):
        """The streams of requests and of its end, as a process has them that has attached."""
        meeting = connect(self.name)
        offer, (memory,) = onemem._ask(meeting, json.loads(hello(self.token, codec=codec)), [])
        given = onemem._map(offer, memory, contextlib.ExitStack()) if faults is None else faults(offer)
        pairs = [socket.socketpair(), socket.socketpair()]
        theirs = [pairs[0][1].fileno(), pairs[1][1].fileno(), given]
        welcome, _ = onemem._ask(meeting, {'faults': given}, theirs)
        self.client = welcome['client']
        for _, theirs in pairs:
            theirs.close()
        return pairs[0][0], pairs[1][0]

    def until_cut_off(self, line, piece):
        """Says it for as long as the owner takes it, and reads no answer."""
        line.setblocking(False)
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            try:
                line.send(piece)
            except BlockingIOError:
                select.select([], [line], [], 0.1)
            except ConnectionError:
                return 'cut off'
        return 'served'

    def ended(self, line):
        """Reads until the owner has closed it."""
        line.settimeout(WAIT_SECONDS)
        try:
            while line.recv(65536):
                pass
        except ConnectionError:
            pass
        except socket.timeout:
            return 'served'
        return 'cut off'

    def polite(self):
        space = onemem.attach(self.handle)
        return str(sum(space['x'][::1024]))

    # The kinds of rude ones.

    def stranger(self):
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return self.greet(hello(self.token))

    def wrong_token(self):
        return self.greet(hello(f'{self.random.getrandbits(96):024x}'))

    def old_token(self):
        return self.greet(hello(self.old.split(':')[3]))

    def old_handle(self):
        try:
            onemem.attach(self.old)
        except onemem.OnememError as error:
            return f'refused {error.code}'
        return 'served'

    def other_version(self):
        return self.greet(hello(self.token, onemem=99))

    def garbage_greeting(self):
        return self.greet(self.random.choice([
            b'{', b'null', b'[]', b'{"token":1}', b'\0' * 1000, b'"' * 60000, self.random.randbytes(500),
            b'{"look":true}', b'{"look":true,"token":{}}',
        ]))

    def silence(self):
        meeting = connect(self.name)
        if self.number % 2 == 0:
            meeting.send(hello(self.token))
            answer(meeting)
        return 'gone'

    def wrong_descriptors(self):
        pipes = os.pipe() + os.pipe()
        files = [os.open('/dev/zero', os.O_RDWR), os.open('/proc/self/mem', os.O_RDWR)]
        return self.mapped(self.random.choice([pipes[:0], pipes[:1], pipes, files * 20]))

    def no_faults(self):
        """What should serve its faults serves none."""
        given = [os.open('/dev/zero', os.O_RDWR), os.pipe()[1], os.open('.', os.O_RDONLY)]
        pairs = socket.socketpair() + socket.socketpair()
        said = self.mapped([pairs[0].fileno(), pairs[2].fileno(), given[self.number % 3]])
        pairs[1].close()
        if said == 'served':
            threading.Timer(1, os._exit, [0])
        return said

    def faults_elsewhere(self):
        """Its faults are those of memory that is none of the space's."""
        def faults(offer):
            fd = onemem._open_userfaultfd(offer['userModeOnly'])
            fcntl.ioctl(fd, onemem.UFFDIO_API, struct.pack('QQQ', 0xAA, onemem.FEATURES, 0))
            places = [offer['base'] - 2 ** 30, offer['base'] + offer['bytes'] + 2 ** 30, offer['base']]
            size = 16 * onemem.PAGE
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | onemem.MAP_FIXED_NOREPLACE
            self.at = onemem._libc.mmap(places[self.number % 3], size, onemem.PROT_READ_WRITE, flags, -1, 0)
            fcntl.ioctl(fd, onemem.UFFDIO_REGISTER, struct.pack('QQQQ', self.at, size, MODE_MISSING, 0))
            return fd
        self.attached(faults)
        for page in range(16):
            address = self.at + page * onemem.PAGE
            threading.Thread(target=ctypes.memset, args=(address, 1, 1), daemon=True).start()
        time.sleep(0.2)
        return 'gone'

    def forks(self):
        """A userfaultfd that tells of forks gives each reader one more descriptor."""
        def faults(offer):
            fd = onemem._open_userfaultfd(False)
            features = onemem.FEATURES | UFFD_FEATURE_EVENT_FORK
            fcntl.ioctl(fd, onemem.UFFDIO_API, struct.pack('QQQ', 0xAA, features, 0))
            at = onemem._libc.mmap(0, onemem.PAGE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
            fcntl.ioctl(fd, onemem.UFFDIO_REGISTER, struct.pack('QQQQ', at, onemem.PAGE, MODE_MISSING, 0))
            return fd
        line, _ = self.attached(faults)
        for _ in range(10):
            if (child := os.fork()) == 0:
                os._exit(0)
            os.waitpid(child, 0)
        line.send(frame(STATS))
        line.recv(4)
        return 'gone'

    def forged(self):
        line, _ = self.attached()
        line.settimeout(WAIT_SECONDS)
        numbers = str(self.client * (FIRST_NUMBER - 1) + 1).encode()
        for each in self.forged_requests:
            try:
                line.sendall(frame(each[4:].replace(str(FIRST_NUMBER).encode(), numbers)))
                while select.select([line], [], [], 0)[0] and line.recv(65536):
                    pass
            except (ConnectionError, socket.timeout):
                return 'cut off'
        return 'gone'

    def garbage(self):
        line, _ = self.attached()
        line.sendall(frame(b'{' + self.random.randbytes(self.random.randrange(1, 5000))))
        return self.ended(line)

    def too_long(self):
        line, _ = self.attached()
        line.sendall(struct.pack('<I', self.random.randrange(2 ** 27, 2 ** 32)) + bytes(1000))
        return self.ended(line)

    def half_said(self):
        line, _ = self.attached()
        line.sendall(struct.pack('<I', 2 ** 26) + bytes(2 ** 16))
        return 'gone'

    def flood(self):
        """Asks as fast as it can, and reads the answers."""
        line, _ = self.attached()
        line.setblocking(False)
        end = time.monotonic() + FLOOD_SECONDS
        while time.monotonic() < end:
            readable, writable, _ = select.select([line], [line], [], 0.1)
            if readable:
                line.recv(2 ** 20)
            if writable:
                line.send(frame(STATS))
        return 'gone'

    def deaf(self):
        line, _ = self.attached(codec='v8')
        return self.until_cut_off(line, self.long_request)

    def talks_on_its_end(self):
        """What tells of the owner's end is told things instead, and not read."""
        line, life = self.attached()
        life.setblocking(False)
        try:
            while True:
                life.send(b'x' * 4096)
        except BlockingIOError:
            pass
        line.sendall(frame(STATS))
        line.recv(4)
        return 'gone'


def read_frames(stream):
    frames = []
    while head := stream.read(onemem.HEADER.size):
        frames.append(head + stream.read(*onemem.HEADER.unpack(head)))
    return frames


def become(kind, *what):
    """Ends this process."""
    try:
        end = getattr(Process(*what), kind)()
    except Exception as error:
        end = f'failed {error!r}'
    os.write(1, f'{kind} {end}\n'.encode())
    os._exit(0)


def main(kinds, count, handle, old=''):
    long_request, *forged = read_frames(sys.stdin.buffer)
    share = len(forged) // count
    running = 0
    for kind in kinds.split(','):
        for number in range(count):
            if running == AT_ONCE:
                os.wait()
                running -= 1
            if os.fork() == 0:
                become(kind, number, handle, old, long_request, forged[number * share:(number + 1) * share])
            running += 1
    for _ in range(running):
        os.wait()


main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
