# SPDX-License-Identifier: MIT
"""Shows what a program does in monitors, neuron-top and traces, in the program's own words.

    import neuron_marks as marks

    for step in range(steps):
        with marks.range("step", step):
            ...
    marks.mark("epoch", epoch)

    with marks.traceparent(headers["traceparent"]):  # of the request that this thread works for
        ...

Use a few names repeatedly, and put counts into the value (0 to 2**64 - 1). The module has no dependencies:
without a runtime that has hooks, the calls do almost nothing, and none fails. The rules are those of
neuron/marks.h."""

import ctypes
import functools

_LIBRARIES = (None, 'libnrt.so.1', 'libcnrt.so.4')  # None: what all code of the process can use
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
    """Searches on calls 1, 2, 4, 8, ...: the runtime may be loaded later."""
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
    """A span from entering to leaving the block, even if an exception leaves it."""

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
    """Records a moment."""
    if _ready():
        _write(_bytes(name), 0, int(value) & _MASK)


def set_traceparent(text):
    """Sets the W3C traceparent of the request that this thread works for, until the next call. None clears
    it.

    Returns True if it is recorded. Returns False without hooks, or if it is invalid, which also clears it."""
    if not _ready() or _trace is None:
        return False
    return _trace(None if text is None else str(text).encode('utf-8', 'replace').replace(b'\0', b' ')) == 1


class traceparent:
    """Sets a traceparent until the block ends, even by an exception. Blocks do not nest: the end of
    one clears it."""

    __slots__ = ('_text',)

    def __init__(self, text):
        self._text = text

    def __enter__(self):
        set_traceparent(self._text)
        return self

    def __exit__(self, *_):
        set_traceparent(None)
