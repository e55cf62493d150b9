# SPDX-License-Identifier: MIT
"""What a program does, in its own words, for monitors, neuron-top and traces.

    import neuron_marks as marks

    for step in range(steps):
        with marks.range("step", step):
            ...
    marks.mark("epoch", epoch)

    with marks.traceparent(headers["traceparent"]):  # of the request that this thread works for
        ...

Names are a few words that come again and again; what counts goes into the value (0 to 2**64 - 1).
Nothing is needed: without a runtime that has hooks the calls do next to nothing, and none fails.
The rules are those of neuron/marks.h.
"""

import ctypes
import functools

_LIBRARIES = (None, 'libnrt.so.1', 'libcnrt.so.4')  # None: what the process has for everybody
_NOLOAD = 4  # of dlopen(3): only what already exists
_LAZY = 1
_MASK = (1 << 64) - 1

_now = None
_write = None
_trace = None  # None with hooks of an older version
_looked = 0


def _look():
    global _now, _write, _trace
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name, mode=_LAZY | (_NOLOAD if name else 0))
            now, write = library.neuron_mark_now, library.neuron_mark_write
        except (OSError, AttributeError):
            continue
        now.restype, now.argtypes = ctypes.c_uint64, ()
        write.restype, write.argtypes = None, (ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)
        try:
            _trace = library.neuron_mark_trace
            _trace.restype, _trace.argtypes = ctypes.c_int, (ctypes.c_char_p,)
        except AttributeError:
            pass
        _now, _write = now, write
        return


def _ready():
    """Calls 1, 2, 4, 8, ... look: the runtime may be loaded later."""
    global _looked
    if _write is None:
        _looked += 1
        if _looked & (_looked - 1) == 0:
            _look()
    return _write is not None


@functools.lru_cache(maxsize=1024)
def _bytes(name):
    return str(name).encode('utf-8', 'replace').replace(b'\0', b' ')


class range:  # noqa: A001, as a statement it reads: with marks.range("step", 3)
    """From entering to leaving, also when an exception leaves."""

    __slots__ = ('_name', '_value', '_began')

    def __init__(self, name, value=0):
        self._name, self._value, self._began = name, value, 0

    def __enter__(self):
        self._began = _now() if _ready() else 0
        return self

    def __exit__(self, *_):
        if self._began:
            _write(_bytes(self._name), self._began, int(self._value) & _MASK)


def mark(name, value=0):
    """A moment."""
    if _ready():
        _write(_bytes(name), 0, int(value) & _MASK)


def set_traceparent(text):
    """The W3C traceparent of the request that this thread works for, until the next call; None: none.

    True if it is recorded. False without hooks, or if it is invalid: then the thread has none, either.
    """
    if not _ready() or _trace is None:
        return False
    return _trace(None if text is None else str(text).encode('utf-8', 'replace').replace(b'\0', b' ')) == 1


class traceparent:
    """A traceparent for a block, also when an exception leaves. Blocks do not nest: the end of one ends the thread's."""

    __slots__ = ('_text',)

    def __init__(self, text):
        self._text = text

    def __enter__(self):
        set_traceparent(self._text)
        return self

    def __exit__(self, *_):
        set_traceparent(None)
