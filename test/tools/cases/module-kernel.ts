interface Values {
  readonly x: Float32Array;
}

export default function fill({ x }: Values, { begin, end }: { begin: number; end: number }): void {
  for (let i: number = begin; i < end; i++) x[i] = i;
}
