"""Sorts the table of the space that sort.ts has opened."""
import onemem

with onemem.attach() as space:
    space['table'].sort()
