// NumPy, pandas and scipy for tests: Debian's, in node_modules/.cache, for the Python of the system.
// They are no dependencies of the project.
//
//   node scripts/python-packages.mjs       prints as JSON the environment in which python3 finds them

import { join } from 'node:path';
import { debianFiles, libraryFolder } from './debian-packages.mjs';

/** The packages, and what they need at run time that a bare Debian lacks. */
const PACKAGES = [
  'python3-numpy',
  'python3-pandas',
  'python3-scipy',
  'python3-pandas-lib',
  'python3-dateutil',
  'python3-decorator',
  'python3-six',
  'python3-tz',
  'libblas3',
  'libgfortran5',
  'liblapack3',
  'liblbfgsb0',
  'libquadmath0',
];

const folder = debianFiles('python-packages', PACKAGES);
const libraries = libraryFolder(folder, 'libgfortran.so.5');
console.log(
  JSON.stringify({
    PATH: `/usr/bin:${process.env.PATH}`,
    PYTHONPATH: join(folder, 'usr/lib/python3/dist-packages'),
    LD_LIBRARY_PATH: ['', 'blas', 'lapack'].map((part) => join(libraries, part)).join(':'),
  }),
);
