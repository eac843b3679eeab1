/**
 * Python on the arrays of a space: the same memory, whoever writes, and the same words where
 * something fails.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nameSpace } from '../../src/api/opening/named-space.js';
import { i32, kernel, openSpace } from '../../src/index.js';
import { Agent } from '../harness/agents.js';
import { failsWith, longTest, note, runTests, sameData, test } from '../harness/suite.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MODULES = `${ROOT}/python`;
const WHEEL = `${ROOT}/scripts/wheel.py`;
const MIB = 2 ** 20;

interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that has attached: `space`, and `np` if there is NumPy. */
class Python {
  private readonly child;
  private stdout = '';
  private stderr = '';

  constructor(handle: string, program: string, modules = MODULES) {
    const prelude = `import os, sys, onemem\ntry:\n import numpy as np\nexcept ImportError:\n np = None\nspace = onemem.attach()\n`;
    const env = {
      ...process.env,
      PYTHONPATH: modules,
      ONEMEM_SPACE: handle,
      PYTHONDONTWRITEBYTECODE: '1',
    };
    this.child = spawn('python3', ['-c', prelude + program], {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
  }

  /** Until it has said something. */
  async said(what: string): Promise<void> {
    while (!this.stdout.includes(what)) await once(this.child.stdout, 'data');
  }

  goOn(): void {
    this.child.stdin.write('go\n');
  }

  async outcome(): Promise<Outcome> {
    const [code, signal] = (await once(this.child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ];
    return { code, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

async function run(handle: string, program: string, modules?: string): Promise<string> {
  const { code, signal, stdout, stderr } = await new Python(handle, program, modules).outcome();
  assert.equal(code, 0, `${signal} ${stderr}`);
  return stdout;
}

const hasPython = spawnSync('python3', ['--version']).status === 0;
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
if (!hasPython) note('python3 is not here: nothing of it is tested');
else if (!hasNumpy) note('NumPy is not here: Python is tested without it');
const pythonTest = hasPython ? test : () => undefined;
const longPythonTest = hasPython ? longTest : () => undefined;
const numpyTest = hasNumpy ? test : () => undefined;
const longNumpyTest = hasNumpy ? longTest : () => undefined;

const double = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] *= 2;
});

pythonTest('Python reads and writes an array without NumPy', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  x.data[7] = 5;
  const program = `sys.modules['numpy'] = None\nv = space['x']\nv[8] = v[7] + 1\nprint(len(v), v[7], space.names())`;
  assert.equal(await run(space.share(), program), "1000 5 ['x']\n");
  assert.equal(x.data[8], 6);
});

pythonTest('Python goes on with a page that was denied once its rights are back', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1024, { name: 'x' });
  x.data[0] = 5;
  await x.protect('none');
  const program = `
import errno, time
v, there = memoryview(space['x']).cast('B'), os.memfd_create('there')
try: os.write(there, v)
except OSError as error: print(errno.errorcode[error.errno], flush=True)
input()
for _ in range(500):
    try: print(os.write(there, v), v[0]); break
    except OSError: time.sleep(0.01)
`;
  const python = new Python(space.share(), program);
  await python.said('EFAULT\n');
  await x.protect('readwrite');
  python.goOn();
  const { code, stdout, stderr } = await python.outcome();
  assert.deepEqual([code, stdout], [0, 'EFAULT\n4096 5\n'], stderr);
  assert.equal(stderr.match(/denied access/g)?.length, 1);
});

/** Says the version, and how many files have the sums that the wheel tells; as pip looks at them. */
const SUMS = `
import base64, hashlib, importlib.metadata
files = importlib.metadata.files('onemem')
digest = lambda f: base64.urlsafe_b64encode(hashlib.sha256(f.locate().read_bytes()).digest()).decode()
right = [f for f in files if f.hash and f.hash.value == digest(f).rstrip('=')]
print(importlib.metadata.version('onemem'), len(right), len(files))
`;

pythonTest('the wheel has the module, and what pip asks about it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-wheel-'));
  try {
    const wheel = execFileSync('python3', [WHEEL, folder], { encoding: 'utf8' }).trim();
    assert.match(wheel, /onemem-[0-9.]+-py3-none-any[.]whl$/);
    execFileSync('python3', ['-m', 'zipfile', '-e', wheel, folder]);
    await using space = await openSpace({ hostMemory: '64MiB' });
    space.array(Int32Array, 10, { name: 'x' }).data[7] = 5;
    const program = `${SUMS}\nprint(space['x'][7], os.path.dirname(onemem.__file__))`;
    const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'));
    assert.equal(await run(space.share(), program, folder), `${version} 3 4\n5 ${folder}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

longNumpyTest(
  'NumPy computes over more than host memory, and Node.js sees the result',
  async () => {
    await using space = await openSpace({ hostMemory: '32MiB', storage: true });
    const x = space.array(Int32Array, 10 * MIB, { name: 'x' });
    for (let i = 0; i < x.length; i++) x.data[i] = i % 100;
    const sum = x.data.reduce((all, value) => all + value, 0);
    const program = `a = space['x']\nprint(int(a.sum(dtype=np.int64)))\na += 1\nnp.sort(a[:1000])[::-1].tofile(os.devnull)`;
    assert.equal(await run(space.share(), program), `${sum}\n`);
    sameData(x.data, (i) => (i % 100) + 1);
    space.checkInvariants();
  },
);

numpyTest('an array that Python makes is found by name, and a device computes on it', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const python = new Python(
    space.share(),
    `m = space.array('m', (1000, 3), 'int32', keep=True)\nm[:] = np.arange(3000).reshape(1000, 3)\nprint('made', flush=True)\n` +
      `sys.stdin.readline()\nprint(int(m.sum()), m.shape)`,
  );
  await python.said('made');
  const m = space.find<Int32Array>('m');
  assert.ok(m !== null);
  await space.devices[0].run(double, { x: m }, { size: m.length });
  python.goOn();
  const { stdout, stderr } = await python.outcome();
  assert.equal(stdout, `made\n${2999 * 3000} (1000, 3)\n`, stderr);
  sameData(m.data, (i) => 2 * i);
});

pythonTest('Python finds a space by its name, and says where there is none', async () => {
  const name = `test-${process.pid}-python`;
  await using space = await openSpace({ hostMemory: '64MiB' });
  await nameSpace(space, name, []);
  space.array(Int32Array, 10, { name: 'x' }).data[3] = 9;
  const program =
    `s = onemem.attach(at='${name}')\nprint(s['x'][3])\n` +
    `try: onemem.attach(at='nowhere')\nexcept onemem.OnememError as e: print(e.code)`;
  assert.equal(await run(space.share(), program), '9\nSPACE_NAME\n');
});

pythonTest('an array name that is too long is refused by its limit', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const program = `s = onemem.attach()
try: s.array('n' * 10_000_000, 5)
except onemem.OnememError as e: print(e)
s.array('n' * 65_536, 5)`;
  const limit = 'the name of an array has 10000000 characters; give it one of at most 65536';
  assert.match(await run(space.share(), program), new RegExp(limit));
  const name = 'n'.repeat(65_537);
  await failsWith('NAME', async () => space.array(Int32Array, 5, { name }));
});

/** Says the code of each error; what is no error of the library's ends the program. */
const MISUSES = `
def said(action):
 try:
  action()
 except onemem.OnememError as error:
  print(error)
said(lambda: onemem.attach('jobs'))
said(lambda: onemem.attach('onemem:one:x:y'))
for name in ['', '../x', 'x' * 65, 3]:
 said(lambda: onemem.attach(at=name))
for shape in [-1, 1.5, '3', None, (2, None)]:
 said(lambda: space.array('y', shape))
said(lambda: space.array('y', 2**60))
class Other:
 byteorder = '>'
 name = 'float64'
said(lambda: space.array('y', 2, Other()))
class Three:
 __index__ = lambda self: 3
print(len(space.array('y', Three())))`;

pythonTest('wrong arguments of Python are told with what is right', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const lines = (await run(space.share(), MISUSES)).trimEnd().split('\n');
  const [named, handle, ...rest] = lines;
  assert.match(named, /^SPACE_HANDLE: 'jobs' .* opens by attach\(at='jobs'\)$/);
  assert.match(handle, /^SPACE_HANDLE: .*; pass what space\.share\(\) gives, as it is$/);
  for (const line of rest.slice(0, 4)) assert.match(line, /^SPACE_NAME: .* 1 to 64 letters/);
  for (const line of rest.slice(4, 9))
    assert.match(line, /^SHAPE: .* must be a length, or several/);
  assert.match(rest[9], /^ADDRESS_SPACE: array y of \d+ bytes is larger than the space of \d+$/);
  assert.match(rest[10], /^ARRAY_TYPE: the bytes of .* are not in the order of this machine$/);
  assert.deepEqual(rest.slice(11), ['3']);
});

pythonTest('a store that the handle does not allow ends Python in a line', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  x.data[0] = 3;
  const program = `v = space['x']\nprint(v[0], flush=True)\nv[0] = 9\nprint('stored')`;
  const { signal, stdout, stderr } = await new Python(
    space.share({ rights: 'read' }),
    program,
  ).outcome();
  assert.deepEqual([signal, stdout], ['SIGBUS', '3\n']);
  assert.match(
    stderr,
    /denied access: this process .* array x, elements 0 to 999 .* allows to read alone/,
  );
  assert.equal(x.data[0], 3);
});

/** Moves a page of the array elsewhere, where nobody serves its faults, and stores there. */
const REMAPPING = `
import ctypes
libc = ctypes.CDLL(None)
libc.mremap.restype = libc.mmap.restype = ctypes.c_void_p
pointer, size = ctypes.c_void_p, ctypes.c_size_t
v = space['x']
first = v[0]
place = pointer(libc.mmap(None, size(4096), 0, 0x22, -1, 0))
moved = libc.mremap(pointer(v.__array_interface__['data'][0]), size(4096), size(4096), 3, place)
libc.mprotect(pointer(moved), size(4096), 3)
ctypes.memset(moved, 9, 4096)
print(first, ctypes.c_ubyte.from_address(moved).value)`;

numpyTest('memory that a handle to read gave is not written by mapping it elsewhere', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  x.data.fill(3);
  const { stdout } = await new Python(space.share({ rights: 'read' }), REMAPPING).outcome();
  assert.equal(stdout, '3 9\n');
  sameData(x.data, () => 3);
  space.checkInvariants();
});

pythonTest(
  'when the owner is killed, Python reads on what is in memory, and its calls say why they fail',
  async () => {
    const owner = new Agent();
    const handle = await owner.do('open', '32MiB');
    await owner.do('make', 'x', 1000, 4);
    const python = new Python(
      handle,
      `v = space['x']\nprint('first', v[0], flush=True)\nsys.stdin.readline()\nprint(v[999])\n` +
        `try:\n space.names()\nexcept onemem.OnememError as error:\n print(error.code)`,
    );
    await python.said('first 4');
    await owner.kill();
    python.goOn();
    const { stdout, stderr } = await python.outcome();
    assert.equal(stdout, 'first 4\n4\nOWNER_LOST\n', stderr);
  },
);

pythonTest(
  'a wrong handle, a forked process and a closed space are errors with codes',
  async () => {
    await using space = await openSpace({ hostMemory: '64MiB' });
    space.array(Int32Array, 10, { name: 'x' });
    const program =
      `def code(action):\n try:\n  action()\n except onemem.OnememError as error:\n  return error.code\n` +
      `print(code(lambda: onemem.attach('onemem:1')))\nprint(code(lambda: space.array('y', 3, 'f16')))\n` +
      `sys.stdout.flush()\nif os.fork() == 0:\n print(code(space.names), flush=True)\n os._exit(0)\nos.wait()\n` +
      `space.close()\nprint(code(space.names))`;
    assert.equal(
      await run(space.share(), program),
      'SPACE_HANDLE\nARRAY_TYPE\nOTHER_PROCESS\nSPACE_CLOSED\n',
    );
  },
);

longPythonTest('processes of multiprocessing attach by the handle', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, 4, { name: 'x' });
  const program =
    `import subprocess\ncode = "import onemem, sys; v = onemem.attach()['x']; v[int(sys.argv[1])] = 10 + int(sys.argv[1])"\n` +
    `for child in [subprocess.Popen([sys.executable, '-c', code, str(i)]) for i in range(4)]: assert child.wait() == 0`;
  await run(space.share(), program);
  sameData(x.data, (i) => 10 + i);
});

/** The same process with another program, which has not attached. */
function instead(program: string): string {
  return `os.execv(sys.executable, [sys.executable, '-c', ${JSON.stringify(`import onemem, os, sys\n${program}`)}])`;
}

/** Programs in a hurry, and what they print. */
const HASTY: Readonly<Record<string, readonly [program: string, prints: string]>> = {
  'views that the collector finds during a request keep nothing waiting': [
    `import gc\ngc.set_threshold(1)\nclass Ring: pass\nfor i in range(100):\n r = Ring()\n r.me = r\n r.view = space['x']\nprint('done')`,
    'done\n',
  ],
  'a program ends, though a child that it forked goes on': [
    `import time\nif os.fork() == 0:\n os.close(1)\n os.close(2)\n time.sleep(300)\n os._exit(0)\nprint('ends')`,
    'ends\n',
  ],
  'a thread hears that another one closed the space': [
    `import threading\ndef ask():\n try:\n  while True: space.names()\n except onemem.OnememError as error: print(error.code)\n` +
      `t = threading.Thread(target=ask)\nt.start()\nspace.names()\nspace.close()\nt.join()`,
    'SPACE_CLOSED\n',
  ],
  'a program in place of one that attached attaches anew': [
    instead(`print(onemem.attach()['x'][0])`),
    '3\n',
  ],
  'threads attach at the same moment': [
    instead(
      `from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(6) as pool:\n` +
        ` print(list(pool.map(lambda i: int(onemem.attach()['x'][i]), range(6))))`,
    ),
    '[3, 3, 3, 3, 3, 3]\n',
  ],
  'a process without descriptors attaches once it has some, and loses none': [
    instead(
      `import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\nhold = list(range(3, 40))\n` +
        `for i in hold: os.dup2(0, i)\ncodes = set()\nspace = None\nwhile space is None:\n` +
        ` try: space = onemem.attach()\n except onemem.OnememError as error:\n  codes.add(error.code)\n  os.close(hold.pop())\n` +
        `print(codes, space['x'][0], len(hold) >= 24)`,
    ),
    "{'DESCRIPTORS'} 3 True\n",
  ],
  'a limit of addresses is named': [
    instead(
      `import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n` +
        `try: onemem.attach()\nexcept onemem.OnememError as error: print(error.code, str(error)[-13:])`,
    ),
    'ADDRESS_SPACE see ulimit -v\n',
  ],
};

for (const [what, [program, prints]] of Object.entries(HASTY)) {
  longPythonTest(`in Python, ${what}`, async () => {
    await using space = await openSpace({ hostMemory: '64MiB' });
    space.array(Int32Array, 1000, { name: 'x' }).data.fill(3);
    assert.equal(await run(space.share(), program), prints);
    space.checkInvariants();
  });
}

longPythonTest('a signal to the group of a Python process leaves its touches told', async () => {
  const owner = new Agent();
  const handle = await owner.do('open', '32MiB');
  await owner.do('make', 'x', 1_000_000, 4);
  const program =
    `import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.setpgrp()\nv = onemem.attach()['x']\n` +
    `os.killpg(0, signal.SIGTERM)\nprint('sent', flush=True)\nsys.stdin.readline()\nprint(v[999999])`;
  const python = new Python(handle, instead(program));
  await python.said('sent');
  await owner.kill();
  python.goOn();
  const { signal, stderr } = await python.outcome();
  assert.equal(signal, 'SIGBUS');
  assert.match(stderr, /which opened the space, has ended .* is not in memory here/);
});

await runTests();
