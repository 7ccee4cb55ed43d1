"""Makes a Python wheel from the files that `cmake --install` installed: make_wheel.py PREFIX OUTPUT_FOLDER VERSION
GLIBC MACHINE

The wheel contains the program and the files that it needs in the package `sluice`, whose module is sluice.py. The
pytest plug-in and the runtime's modules are separate modules. This script uses only the standard library and no
network.
"""
import base64
import hashlib
import os
import sys
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: sluice
Version: {version}
Summary: A profiler for GPU memory and transfers
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Description-Content-Type: text/markdown

    sluice record -o train.sluice -- python train.py     # or: python -m sluice record ...
    sluice report train.sluice
    sluice doctor                                        # what is missing on this machine

Needs NVIDIA's driver to record, and glibc {glibc} or later. `import sluice` lets a program name its steps and ranges;
pytest finds the plug-in `sluice_pytest` by itself.
"""

WHEEL = """Wheel-Version: 1.0
Generator: sluice
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""

ENTRY_POINTS = """[console_scripts]
sluice = sluice:_run

[pytest11]
sluice_pytest = sluice_pytest
"""

MAIN = '''"""`python -m sluice`: the program."""
from sluice import _run

_run()
'''


def files_below(prefix, folder):
    """Yields the files below prefix/folder, sorted, as paths relative to the prefix."""
    for where, folders, names in os.walk(os.path.join(prefix, folder)):
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(where, name), prefix)


def contents(prefix, version, glibc, platform):
    """Yields (name in the wheel, bytes, whether it is executable) for each file of the wheel."""
    def read(path):
        with open(os.path.join(prefix, path), "rb") as file:
            return file.read()

    python = "lib/sluice/python/"
    yield "sluice/__init__.py", read(python + "sluice.py"), False
    yield "sluice/__main__.py", MAIN.encode(), False
    yield "sluice/bin/sluice", read("bin/sluice"), True
    for path in files_below(prefix, "lib/sluice"):
        if "/static/" not in path:
            yield "sluice/" + path, read(path), False
    for path in files_below(prefix, "share/sluice/web"):  # The window as a page, if it was built.
        yield "sluice/" + path, read(path), False
    for path in files_below(prefix, "share/sluice/sql"):
        yield "sluice/" + path, read(path), False
    for header in ("sluice.h", "sluice_pool.h", "sluice_interchange.h"):
        yield "sluice/include/" + header, read("include/sluice/" + header), False
    for module in ("sluice_pytest.py", "sluice_pool.py", "sluice_arrays.py"):
        yield module, read(python + module), False
    info = f"sluice-{version}.dist-info/"
    yield info + "METADATA", METADATA.format(version=version, glibc=glibc).encode(), False
    yield info + "WHEEL", WHEEL.format(platform=platform).encode(), False
    yield info + "entry_points.txt", ENTRY_POINTS.encode(), False
    yield info + "licenses/LICENSE", read("share/doc/sluice/LICENSE"), False
    yield info + "licenses/THIRD_PARTY.md", read("share/doc/sluice/THIRD_PARTY.md"), False
    for path in files_below(prefix, "share/doc/sluice/licences"):
        yield info + "licenses/" + os.path.basename(path), read(path), False


def main(prefix, folder, version, glibc, machine):
    platform = f"manylinux_{glibc.replace('.', '_')}_{machine}"
    # Zip files cannot store years before 1980.
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800))[:6]
    record = ""
    path = os.path.join(folder, f"sluice-{version}-py3-none-{platform}.whl")
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, data, executable=False):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for name, data, executable in contents(prefix, version, glibc, platform):
            add(name, data, executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        name = f"sluice-{version}.dist-info/RECORD"
        add(name, (record + name + ",,\n").encode())
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
