"""Files that NumPy and others write, and what NumPy reads in them.

    python3 headers.py > headers.jsonl    writes a line a file
    python3 headers.py headers.jsonl x y  fails if NumPy reads a line differently, and writes y

A line holds the bytes of a file as Latin-1, and what numpy.load(allow_pickle=False) says of them:
an error, a dtype that is no number, or the shape and the elements in C order.
"""

import io
import json
import struct
import sys
import tokenize

import numpy


def made(text, data=b"", version=(1, 0), encoding="latin1"):
    head = text.encode(encoding)
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", len(head)) + head + data


def header(descr="'<f4'", shape="(2, 2)", order="False"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)


def saved(array):
    file = io.BytesIO()
    numpy.save(file, array, allow_pickle=True)
    return file.getvalue()


def files():
    four = struct.pack("<4f", 1, -2.5, 3, float("nan"))
    two = header(shape="(2, 2)")

    # Arrays that NumPy writes.
    for name in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split():
        dtype = numpy.dtype(name)
        edges = [0, 1, 100]
        if dtype.kind == "f":
            edges += [numpy.inf, -numpy.inf, numpy.nan, -0.0, numpy.finfo(dtype).max, numpy.finfo(dtype).smallest_subnormal]
        else:
            bits = 8 * dtype.itemsize - (dtype.kind == "i")
            edges += [-1, -2 ** bits] if dtype.kind == "i" else []
            edges += [2 ** bits - 1, 2 ** (bits - 1)]
        for order in "<>":
            yield name + order, saved(numpy.array(edges, dtype=dtype.newbyteorder(order)))
    yield "booleans", saved(numpy.array([[True, False], [False, True]]))
    # Integers at the edges of what float32 and float64 hold.
    for bits in 24, 53:
        yield "2**%d" % bits, saved(numpy.array([2 ** bits, -2 ** bits, 2 ** bits + 2, 2 ** bits - 1]))
        yield "2**%d+1" % bits, saved(numpy.array([[1, 2, 3], [4, 2 ** bits + 1, 6]]))
        yield "-2**%d-1" % bits, saved(numpy.asfortranarray([[1, 2, 3], [4, -2 ** bits - 1, 6]]))
    for shape in (2, 3), (3, 2), (2, 3, 4), (1, 2, 3), (3, 1, 2), (2, 2, 2, 3), (5, 1), (1, 5), (5,), ():
        array = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
        yield "Fortran %s" % (shape,), saved(numpy.asfortranarray(array.astype("<f4")))
        yield "Fortran int16 %s" % (shape,), saved(numpy.asfortranarray(array.astype(">i2")))
    for shape in (0,), (0, 3), (3, 0), (2, 0, 3), (0, 0):
        yield "empty %s" % (shape,), saved(numpy.zeros(shape, "<f4"))
        yield "empty Fortran %s" % (shape,), saved(numpy.zeros(shape, "<i8", order="F"))
    for array in (
        numpy.array([1 + 2j], "c8"), numpy.array([1 + 2j], "c16"), numpy.array(["ab", "c"]), numpy.array([b"ab"]),
        numpy.array(["2024-01-02"], "M8[D]"), numpy.array([3], "m8[ns]"), numpy.array([b"abc"], "V3"),
        numpy.array([(1.5, 2)], [("a", "<f4"), ("b", "<i4")]), numpy.array([(1.5,)], [("a", "<f4")]),
    ):
        yield "no number %s" % array.dtype, saved(array)
    yield "objects", saved(numpy.array([{}], object))

    # Headers that others write.
    yield "version 2", made(two + "\n", four, (2, 0))
    yield "version 3", made(two + "\n", four, (3, 0))
    yield "version 3 in UTF-8", made(header("[('ä一', '<f4')]"), four, (3, 0), "utf8")
    for version in (0, 0), (1, 1), (2, 1), (3, 1), (4, 0):
        yield "version %d.%d" % version, made(two, four, version)
    yield "double quotes", made('{"descr": "<f4", "fortran_order": False, "shape": (2, 2)}', four)
    yield "another order", made("{'shape': (2, 2), 'fortran_order': True, 'descr': '<f4'}", four)
    yield "no blanks", made("{'descr':'<f4','fortran_order':False,'shape':(2,2)}", four)
    yield "many blanks", made("{  'descr'  :  '<f4'  ,  'fortran_order'  :  False  ,  'shape'  :  ( 2 , 2 , )  ,  }  ", four)
    yield "blanks first", made("  \t" + two, four)
    for version in (1, 0), (3, 0):
        yield "lines %d" % version[0], made("\n{'descr': '<f4',\n 'fortran_order': False,\r\n\t'shape': (2,\n2)\n}\r\n\n", four, version)
    yield "Python 2", made("{u'descr': u'<f4', u'fortran_order': False, u'shape': (2L, 2L)}", four)
    yield "Python 2 in version 2", made(header(shape="(2L, 2 L)"), four, (2, 0))
    yield "Python 2 in version 3", made(header(shape="(2L, 2L)"), four, (3, 0))
    yield "keys twice", made("{'descr': '<f8', 'shape': (9,), 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", four)
    for descr in "<f4 =f4 |f4 f4 f float32 >f4 <f <i4 i4 i int32 <u4 u4 I uint32".split():
        yield "dtype " + descr, made(header("'%s'" % descr), four if "f" in descr else bytes(range(16)))
    for descr in "<d d float64 <q q int64 Q uint64".split():
        yield "dtype " + descr, made(header("'%s'" % descr, "(2,)"), bytes(range(16)))
    for descr in "e <e float16 h <h int16 H uint16".split():
        yield "dtype " + descr, made(header("'%s'" % descr, "(8,)"), bytes(range(16)))
    for descr in "|i1 <i1 >i1 i1 b int8 |u1 <u1 =u1 B uint8".split():
        yield "dtype " + descr, made(header("'%s'" % descr, "(4, 4)", "True"), bytes(range(120, 136)))
    for descr in "|b1 <b1 b1 ? |? bool".split():
        yield "dtype " + descr, made(header("'%s'" % descr, "(3,)"), b"\0\1\1")
    for descr in "<f3", "<F4", "<i3", "|b2", " f4", "f4 ", "<<f4", "", "floats":
        yield "dtype %r" % descr, made(header("'%s'" % descr), four)
    for descr in "<f4", "('<f4', (2,))", "None", "b'<f4'", "'<f4\"":
        yield "descr " + descr, made(header(descr), four)
    for shape in "()", "(0,)", "(00,)", "(1,)", "(1,1)":
        yield "shape " + shape, made(header(shape=shape), four[: 0 if "0" in shape else 4])
    for shape in (
        "(4)", "[4]", "4", "(,)", "(,4)", "(4,,)", "(2,,2)", "(04,)", "(4.0,)", "('4',)", "(-4,)", "(-1,)", "(4l,)", "(4 4)", "(4,", "((4,)",
        "(5,)", "(0,4611686018427387904,4611686018427387904)", "(4611686018427387904, 4)", "(65536, 65536, 65536, 65536)",
        "(99999999999999999999999,)",
    ):
        yield "shape " + shape, made(header(shape=shape), four)
    for order in "0", "1", "None", "'False'", "true", "":
        yield "order " + order, made(header(order=order), four)
    for text in (
        "", "{}", "[]", "{", "'descr'", "{'descr': '<f4', 'shape': (4,)}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}", "{'descr': '<f4',, 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,),,}", "{'descr': '<f4' 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x",
        "{,'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", "{descr: '<f4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'Shape': (4,)}", "{'descr' '<f4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}\0\0",
    ):
        yield "header " + text, made(text, four)
    yield "10000 bytes of header", made(two.ljust(10000), four)
    yield "10001 bytes of header", made(two.ljust(10001), four)
    yield "no header", b"\x93NUMPY\1\0\x76\0"
    yield "no elements", made(two)
    yield "half of an element", made(two, four[:-2])
    yield "bytes after the elements", made(header(shape="(3,)"), four)


def judged(file):
    try:
        array = numpy.load(io.BytesIO(file), allow_pickle=False)
    except (ValueError, TypeError, OverflowError, SyntaxError, tokenize.TokenError):
        return {"refused": True}
    if array.dtype.kind not in "biuf":
        return {"other": True}
    number = float if array.dtype.kind == "f" else int
    return {"type": array.dtype.name, "shape": array.shape, "values": [repr(number(v)) for v in array.ravel()]}


if len(sys.argv) < 2:
    for name, file in files():
        print(json.dumps({"name": name, "file": file.decode("latin1"), **judged(file)}))
else:
    for line in open(sys.argv[1]):
        line = json.loads(line)
        name, file = line.pop("name"), line.pop("file").encode("latin1")
        got = json.loads(json.dumps(judged(file)))
        assert got == line, "%s: %s, want %s" % (name, got, line)
    open(sys.argv[3], "w").close()
