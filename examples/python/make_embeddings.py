"""Makes embeddings in the space that search.ts has opened, and queries: some of them with noise.

python3 make_embeddings.py ROWS COLUMNS QUERIES
"""
import sys

import numpy as np
import onemem

rows, columns, count = map(int, sys.argv[1:])
random = np.random.default_rng(7)
with onemem.attach() as space:
    vectors = space.array('vectors', (rows, columns), 'float32', keep=True)
    for begin in range(0, rows, 1000):
        part = vectors[begin:begin + 1000]
        random.standard_normal(dtype='float32', out=part)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    queries = space.array('queries', (count, columns), 'float32', keep=True)
    queries[:] = vectors[np.linspace(0, rows - 1, count).astype('int64')]
    queries += random.standard_normal(queries.shape, dtype='float32') / 50
