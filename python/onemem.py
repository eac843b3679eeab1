"""Arrays of a onemem space in Python, over the same memory.

    import onemem
    space = onemem.attach(handle)      # what space.share() of Node.js gives
    table = space['table']             # a NumPy array; without NumPy a memoryview
    new = space.array('new', (1000, 3), 'f64')
    space.close()

A page comes when it is touched, as in every process of the space: arrays may be larger than RAM.
Python 3.9 or newer on Linux; nothing is compiled. A thread that waits for a page may hold the GIL:
other threads of the interpreter then wait with it, those of other processes do not.
"""

import atexit
import collections
import contextlib
import ctypes
import errno
import fcntl
import json
import operator
import os
import platform
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref

__all__ = ['attach', 'Space', 'OnememError']

VERSION = 1
PAGE = 4096

HANDLE = re.compile(r'onemem:(\d{1,10}):([0-9A-Za-z._-]{1,80}):([0-9a-f]{24})', re.ASCII)
SPACE_NAME = re.compile(r'[0-9A-Za-z_-][0-9A-Za-z._-]{0,63}', re.ASCII)

# By NumPy's names, and their codes in the struct module.
TYPES = {
    'i8': ('int8', 'b', 1), 'u8': ('uint8', 'B', 1), 'u8c': ('uint8', 'B', 1), 'bytes': ('uint8', 'B', 1),
    'i16': ('int16', 'h', 2), 'u16': ('uint16', 'H', 2), 'i32': ('int32', 'i', 4), 'u32': ('uint32', 'I', 4),
    'i64': ('int64', 'q', 8), 'u64': ('uint64', 'Q', 8), 'f32': ('float32', 'f', 4), 'f64': ('float64', 'd', 8),
}
NAMES = {numpy: short for short, (numpy, _, _) in reversed(list(TYPES.items())) if short not in ('u8c', 'bytes')}

# Linux: mmap, madvise, userfaultfd.
PROT_READ_WRITE = 3
MAP_SHARED, MAP_PRIVATE, MAP_NORESERVE, MAP_FIXED_NOREPLACE = 0x1, 0x2, 0x4000, 0x100000
MADV_DONTFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE = 10, 16, 15
MADV_DONTNEED = 4
USERFAULTFD = {'x86_64': 323, 'aarch64': 282}
USERFAULTFD_IOC_NEW = 0xAA00
UFFDIO_API, UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
UFFDIO_WAKE, UFFDIO_POISON = 0x8010AA02, 0xC020AA08
USER_MODE_ONLY = 1
# Flags of faults, missing and minor faults of shared memory, thread ids, write protection.
FEATURES = 1 | 1 << 5 | 1 << 8 | 1 << 10 | 1 << 12
MISSING_WP_MINOR = 7
MESSAGE = 32
PAGEFAULT, FLAG_WP = 0x12, 2

HEADER = struct.Struct('<I')
ADDRESS = struct.Struct('=Q')
ANSWER_SECONDS = 10
LONGEST_NAME = 65536
LOOK_SECONDS = 0.02

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.syscall.restype = ctypes.c_long

# Userfaultfds by the socket of the owner: what is mapped stays until the process ends, and is watched.
_mapped = {}
# One thread attaches at a time: the first one maps the memory for all.
_attaching = threading.Lock()


class OnememError(Exception):
    """What went wrong, with the same codes as in Node.js."""

    def __init__(self, code, message):
        super().__init__(f'{code}: {message}')
        self.code = code


def attach(handle=None, *, at=None):
    """The space that a process of Node.js shared, from the text that space.share() gives.

    Without one it is taken from the environment variable ONEMEM_SPACE. With at, the name of a space
    that `onemem serve` keeps, no handle is needed.
    """
    if at is not None:
        handle = _handle_of(at)
    text = os.environ.get('ONEMEM_SPACE') if handle is None else handle
    if text is None:
        raise OnememError('SPACE_HANDLE', 'attach() takes the text that space.share() gives, or ONEMEM_SPACE has it')
    parts = HANDLE.fullmatch(text.strip()) if isinstance(text, str) else None
    if parts is None:
        named = isinstance(text, str) and SPACE_NAME.fullmatch(text)
        remedy = f'a space of that name opens by attach(at={text!r})' if named else 'pass what space.share() gives, as it is'
        raise OnememError('SPACE_HANDLE', f'{text!r} is no handle of a space; {remedy}')
    return Space(int(parts[1]), parts[2], parts[3])


class Space:
    """The arrays of a space, by their names: space['table']."""

    def __init__(self, owner, name, token):
        self._lock = threading.Lock()
        self._pieces = collections.deque()
        self._gone = collections.deque()
        self._last = 0
        self._pid = os.getpid()
        self._owner = owner
        self._line = None
        try:
            with _attaching, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as meeting:
                meeting.settimeout(ANSWER_SECONDS)
                self._meet(meeting, name, token)
        except (ConnectionError, FileNotFoundError) as error:
            raise OnememError('OWNER_LOST', f'process {owner}, which shared the space, has ended or closed it') from error
        except socket.timeout as error:
            raise OnememError('OWNER_BUSY', f'process {owner} did not answer within {ANSWER_SECONDS} s') from error
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            raise OnememError('DESCRIPTORS', 'cannot attach: no descriptor is left; raise ulimit -n') from error

    def _meet(self, meeting, name, token):
        meeting.connect('\0onemem-' + name)
        offer, fds = _ask(meeting, {'onemem': VERSION, 'token': token, 'codec': 'json'}, [])
        if not fds:
            raise OSError(errno.EMFILE, 'the memory did not come')
        with contextlib.ExitStack() as passed, contextlib.ExitStack() as undone:
            passed.callback(os.close, fds[0])
            known = _mapped.get(name) if offer['mapped'] is not None else None
            if known is None and offer['mapped'] is not None:
                raise OnememError('ADDRESS_SPACE', 'another library of this process has attached already; use that one')
            faults = _map(offer, fds[0], undone) if known is None else known
            line, their_line = socket.socketpair()
            undone.callback(line.close)
            passed.callback(their_line.close)
            descriptors = [their_line.fileno()]
            if known is None:
                life, their_life = socket.socketpair()
                passed.callback(life.close)
                passed.callback(their_life.close)
                descriptors += [their_life.fileno(), faults]
                watch = _watch(life, faults, offer, self._owner)
                undone.callback(_end, *watch)
            welcome, _ = _ask(meeting, {'faults': faults, 'watched': known is not None}, descriptors)
            # The owner serves what is mapped from here on.
            undone.pop_all()
            if known is None:
                _mapped[name] = faults
                atexit.register(_end, *watch)
        self._line = line
        self._base = offer['base']
        self._size = offer['bytes']
        self._client = welcome['client']

    def names(self):
        """The names of the arrays that there are."""
        return [each['name'] for each in self._request('arrays', None)]

    def __contains__(self, name):
        return name in self.names()

    def __getitem__(self, name):
        found = [each for each in self._request('arrays', None) if each['name'] == name]
        if not found:
            raise KeyError(name)
        return self._view(found[-1])

    def array(self, name, shape, dtype='f64', keep=False):
        """Makes an array of zeros, which every process of the space finds by its name.

        It goes when this process has ended and no other one has a view of it, unless keep is true.
        """
        short = _short(dtype)
        size = TYPES[short][2]
        lengths = _whole(shape)
        if lengths is None:
            raise OnememError('SHAPE', f'shape is {shape!r}; it must be a length, or several: 1000, or (1000, 3)')
        if not isinstance(name, str):
            raise OnememError('NAME', f'the name of an array is a text, not {name!r}')
        if len(name) > LONGEST_NAME:
            raise OnememError('NAME', f'the name of an array has {len(name)} characters; give it one of at most {LONGEST_NAME}')
        length = 1
        for each in lengths:
            length *= each
        if length * size > self._size:
            raise OnememError('ADDRESS_SPACE', f'array {name} of {length * size} bytes is larger than the space of {self._size}')
        made = self._request('allocate', {
            'bytes': length * size, 'name': name, 'writable': True, 'file': None, 'provider': None,
            'elementBytes': size, 'type': short, 'keep': bool(keep),
        })
        view = self._view({'range': made['id'], 'name': name, 'firstPage': made['firstPage'], 'length': length, 'type': short})
        return view.reshape(lengths) if hasattr(view, 'reshape') else view

    def free(self, name):
        """Gives an array's memory back, for every process."""
        for each in reversed(self._request('arrays', None)):
            if each['name'] == name:
                pages = {'range': each['range'], 'name': name, 'firstPage': each['firstPage'], 'count': each['pages']}
                self._request('free', {**pages, 'whole': True})
                return
        raise KeyError(name)

    def stats(self):
        """Counters of the space: faults, bytes and memory by processor."""
        return self._request('stats', None)

    def close(self):
        """Ends the calls. Views read on until the process ends."""
        line, self._line = self._line, None
        if line is None or self._pid != os.getpid():
            return
        # A thread that waits for an answer returns.
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
        line.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _view(self, listing):
        short = listing['type']
        _, code, size = TYPES[short]
        self._request('viewed', {'range': listing['range'], 'name': listing['name']})
        count = listing['length'] * size
        memory = (ctypes.c_ubyte * count).from_address(self._base + listing['firstPage'] * PAGE)
        weakref.finalize(memory, _unview, weakref.ref(self), listing['range']).atexit = False
        try:
            import numpy
        except ImportError:
            return memoryview(memory).cast('B').cast(code)
        return numpy.frombuffer(memory, dtype=TYPES[short][0])

    def _leave(self, number):
        """A view has gone. The collector finds it at any moment, also while this thread has the lock."""
        self._gone.append(number)
        if self._lock.acquire(blocking=False):
            try:
                self._tell_gone()
            finally:
                self._lock.release()

    def _tell_gone(self):
        with contextlib.suppress(OnememError):
            while self._gone:
                self._send(0, 'unviewed', {'range': self._gone.popleft()})

    def _request(self, name, value):
        if self._pid != os.getpid():
            raise OnememError('OTHER_PROCESS', 'a forked process has not the arrays of its parent; start it by spawn, and attach')
        with self._lock:
            self._last += 1
            self._send(self._last, name, value)
            message = self._receive()
            while message.get('id') != self._last:
                message = self._receive()
            self._tell_gone()
        if message['error'] is not None:
            raise OnememError(message['error']['code'], message['error']['message'])
        return message['value']

    def _send(self, number, name, value):
        text = json.dumps({'id': number, 'name': name, 'value': value}).encode()
        try:
            self._open_line().sendall(HEADER.pack(len(text)) + text)
        except OSError as error:
            raise self._lost(name) from error

    def _receive(self):
        while True:
            data = b''.join(self._pieces)
            if len(data) >= HEADER.size:
                end = HEADER.size + HEADER.unpack_from(data)[0]
                if len(data) >= end:
                    self._pieces = collections.deque([data[end:]])
                    return json.loads(data[HEADER.size:end])
            try:
                # One call takes bytes and keeps them: Ctrl-C does not come between.
                self._pieces.extend(map(self._open_line().recv, (65536,)))
            except OSError as error:
                raise self._lost('an answer') from error
            if not self._pieces[-1]:
                raise self._lost('an answer')

    def _open_line(self):
        line = self._line
        if line is None:
            raise OnememError('SPACE_CLOSED', 'the space has been closed; attach again')
        return line

    def _lost(self, what):
        self._open_line()
        return OnememError(
            'OWNER_LOST',
            f'{what}: process {self._owner}, which opened the space, has ended or closed it; '
            'what is in memory here can still be read',
        )


def _whole(shape):
    """The lengths of a shape, whole numbers of NumPy too; None where it is none."""
    try:
        lengths = tuple(operator.index(each) for each in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        return None
    return lengths if all(each >= 0 for each in lengths) else None


def _short(dtype):
    if isinstance(dtype, str) and dtype in TYPES:
        return dtype
    if getattr(dtype, 'byteorder', '=') in ('<', '>'):
        raise OnememError('ARRAY_TYPE', f'the bytes of {dtype!r} are not in the order of this machine')
    name = getattr(dtype, 'name', None) or getattr(dtype, '__name__', None) or str(dtype)
    if name == 'float':
        name = 'float64'
    if name not in NAMES:
        raise OnememError('ARRAY_TYPE', f'{dtype!r} is no type of elements; there are {", ".join(TYPES)}')
    return NAMES[name]


def _unview(space, number):
    owner = space()
    if owner is not None and owner._line is not None and owner._pid == os.getpid():
        owner._leave(number)


def _ask(meeting, message, descriptors):
    socket.send_fds(meeting, [json.dumps(message).encode()], descriptors)
    data, fds, _, _ = socket.recv_fds(meeting, 65536, 4)
    if not data:
        raise ConnectionResetError('closed')
    answer = json.loads(data)
    if 'refused' in answer:
        for fd in fds:
            os.close(fd)
        raise OnememError(answer['refused']['code'], answer['refused']['message'])
    return answer, fds


def _handle_of(name):
    """The handle of a space that is found by its name."""
    if not isinstance(name, str) or not SPACE_NAME.fullmatch(name):
        raise OnememError(
            'SPACE_NAME',
            f"the name of a space is {name!r}; it must be 1 to 64 letters, digits, '.', '_' or '-', and not begin with '.'",
        )
    here, there = socket.socketpair()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as meeting:
            meeting.settimeout(ANSWER_SECONDS)
            meeting.connect(f'\0onemem-{os.geteuid()}.{name}')
            _ask(meeting, {'onemem': VERSION, 'token': None, 'codec': 'json', 'look': True}, [there.fileno()])
        here.settimeout(ANSWER_SECONDS)
        text = json.dumps({'id': 1, 'name': 'shareSpace', 'value': {'rights': 'write', 'ranges': None}}).encode()
        here.sendall(HEADER.pack(len(text)) + text)
        with here.makefile('rb') as stream:
            (length,) = HEADER.unpack(stream.read(HEADER.size))
            answer = json.loads(stream.read(length))
        if answer['error'] is not None:
            raise OnememError(answer['error']['code'], answer['error']['message'])
        return answer['value']['handle']
    except socket.timeout as error:
        raise OnememError('OWNER_BUSY', f'the space {name} did not answer within {ANSWER_SECONDS} s') from error
    except ConnectionRefusedError as error:
        raise OnememError('SPACE_NAME', f'there is no space {name}; start it by: npx onemem serve --name {name}') from error
    except (ConnectionError, struct.error, ValueError) as error:
        raise OnememError('OWNER_LOST', f'the process that kept the space {name} has ended') from error
    finally:
        here.close()
        there.close()


def _map(offer, memory, undone):
    base, size = offer['base'], offer['bytes']
    faults = _open_userfaultfd(offer['userModeOnly'])
    undone.callback(os.close, faults)
    fcntl.ioctl(faults, UFFDIO_API, struct.pack('QQQ', 0xAA, FEATURES, 0))
    sharing = MAP_SHARED if offer['writes'] else MAP_PRIVATE
    flags = sharing | MAP_NORESERVE | MAP_FIXED_NOREPLACE
    if _libc.mmap(base, size, PROT_READ_WRITE, flags, memory, 0) != base:
        number = ctypes.get_errno()
        why = 'they are in use; of two spaces at one place, start one again' if number == errno.EEXIST else f'{os.strerror(number)}; see ulimit -v'
        raise OnememError('ADDRESS_SPACE', f'this process cannot map the addresses of the space, 0x{base:x}, {size} bytes: {why}')
    undone.callback(_libc.munmap, base, size)
    for advice in (MADV_DONTFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE):
        _libc.madvise(base, size, advice)
    fcntl.ioctl(faults, UFFDIO_REGISTER, struct.pack('QQQQ', base, size, MISSING_WP_MINOR, 0))
    return faults


def _open_userfaultfd(user_mode_only):
    number = USERFAULTFD.get(platform.machine())
    if number is None:
        raise OnememError('UNSUPPORTED', f'onemem.py does not know this machine ({platform.machine()})')
    flags = os.O_CLOEXEC | os.O_NONBLOCK
    if not user_mode_only:
        fd = _libc.syscall(number, flags)
        if fd >= 0:
            return fd
        try:
            device = os.open('/dev/userfaultfd', os.O_RDWR | os.O_CLOEXEC)
            try:
                return fcntl.ioctl(device, USERFAULTFD_IOC_NEW, flags)
            finally:
                os.close(device)
        except OSError:
            pass
    fd = _libc.syscall(number, flags | USER_MODE_ONLY)
    if fd >= 0:
        return fd
    number = ctypes.get_errno()
    why = os.strerror(number)
    if number in (errno.EMFILE, errno.ENFILE):
        raise OSError(number, why)
    raise OnememError('UNSUPPORTED', f'this machine does not allow page faults in user space ({why}); see npx onemem doctor')


def _watch(life, faults, offer, owner):
    """A process that says why accesses fail: no thread of this one could, while another one holds the GIL.

    It is in a session of its own, so that signals to the group of this process do not end it.
    """
    here, there = os.pipe()
    try:
        restored, told = os.pipe()
    except OSError:
        os.close(here)
        os.close(there)
        raise
    command = [sys.executable, '-S', '-E', os.path.abspath(__file__), '--watch']
    numbers = [life.fileno(), faults, here, told, offer['base'], offer['bytes'], owner, os.getpid()]
    try:
        fds = [life.fileno(), faults, here, told]
        watch = subprocess.Popen(command + [str(each) for each in numbers], pass_fds=fds, start_new_session=True)
    except BaseException:
        os.close(there)
        os.close(restored)
        raise
    finally:
        os.close(here)
        os.close(told)
    threading.Thread(target=_restore, args=(restored,), daemon=True).start()
    return watch, there, os.getpid()


def _end(watch, pipe, pid):
    # A forked child has the pipe, too: closing it here alone would not be heard.
    if pid == os.getpid():
        with contextlib.suppress(BrokenPipeError):
            os.write(pipe, b'.')
        watch.wait()
    os.close(pipe)


def _restore(pipe):
    """Accesses to pages that were denied fault again: only this process can have it so."""
    while piece := os.read(pipe, ADDRESS.size * 512):
        for (address,) in ADDRESS.iter_unpack(piece):
            _libc.madvise(address, PAGE, MADV_DONTNEED)
    os.close(pipe)


def _serve(life, faults, parent_pipe, told, base, size, owner, parent):
    text = b''
    restored = b''
    has_owner = True
    while True:
        waiting = [parent_pipe] + ([life] if has_owner else [])
        ready, room, _ = select.select(waiting, [told] if restored else [], [], None if has_owner else LOOK_SECONDS)
        if parent_pipe in ready:
            return
        if told in room:
            # Less than a pipe takes at once is never written in part.
            piece = restored[: ADDRESS.size * 512]
            os.write(told, piece)
            restored = restored[len(piece) :]
        if life in ready:
            piece = os.read(life, 65536)
            has_owner = piece != b''
            *lines, text = (text + piece).split(b'\n')
            for line in lines:
                notice = json.loads(line)
                if 'restored' in notice:
                    restored += b''.join(ADDRESS.pack(base + page * PAGE) for page in notice['restored'])
                    continue
                _fail(faults, base + notice['page'] * PAGE, parent, notice['say'])
        if not has_owner:
            _serve_alone(faults, base, size, owner, parent)


def _serve_alone(faults, base, size, owner, parent):
    # The owner may have heard of a fault and not have answered it: its thread faults again.
    fcntl.ioctl(faults, UFFDIO_WAKE, struct.pack('QQ', base, size))
    try:
        messages = os.read(faults, 64 * MESSAGE)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EINTR):
            return
        raise
    for at in range(0, len(messages), MESSAGE):
        event, _, _, _, _, address, _ = struct.unpack_from('<BBHIQQQ', messages, at)
        if event != PAGEFAULT:
            continue
        say = (
            f'onemem: process {owner}, which opened the space, has ended or has closed it, and the page at 0x{address:x} '
            'is not in memory here. The access fails.\n'
        )
        _fail(faults, address - address % PAGE, parent, say)


def _fail(faults, address, parent, say):
    os.write(2, say.encode())
    try:
        fcntl.ioctl(faults, UFFDIO_POISON, struct.pack('QQQq', address, PAGE, 0, 0))
    except OSError:
        # The page is there, to be read alone, and stays so: what may be written, other threads would write.
        os.kill(parent, signal.SIGBUS)


if __name__ == '__main__' and sys.argv[1:2] == ['--watch']:
    _serve(*(int(each) for each in sys.argv[2:]))
