"""Makes the wheel of python/onemem.py in a folder: python3 scripts/wheel.py FOLDER. Prints its path.

The module needs no build: a wheel is an archive of it with what pip asks about it.
"""

import base64
import hashlib
import json
import os
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Files of an archive have a time: it is always the same, so that the wheel is, too.
TIME = (1980, 1, 1, 0, 0, 0)


def read(path):
    with open(os.path.join(ROOT, path), 'rb') as file:
        return file.read()


def main(folder):
    package = json.loads(read('package.json'))
    version = package['version']
    info = f'onemem-{version}.dist-info'
    metadata = (
        f"Metadata-Version: 2.1\nName: onemem\nVersion: {version}\nSummary: Arrays of a onemem space in Python\n"
        f"License: {package['license']}\nRequires-Python: >=3.9\n"
    )
    files = {
        'onemem.py': read('python/onemem.py'),
        f'{info}/METADATA': metadata.encode(),
        f'{info}/WHEEL': b'Wheel-Version: 1.0\nGenerator: onemem\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    }
    records = ''
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
        records += f'{name},sha256={digest},{len(content)}\n'
    files[f'{info}/RECORD'] = f'{records}{info}/RECORD,,\n'.encode()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f'onemem-{version}-py3-none-any.whl')
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED)
    print(path)


main(sys.argv[1])
