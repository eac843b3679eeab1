export function half(value: number): number {
  return value / 2;
}
