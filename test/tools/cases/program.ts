/** A program in TypeScript, for runners and bundlers. */
import { f32, kernel, openSpace } from 'onemem';

const addOne = kernel({ x: f32.inout }, ({ x }: { x: Float32Array }, { begin, end }) => {
  const next = (value: number): number => value + 1;
  for (let i = begin; i < end; i++) x[i] = next(x[i]);
});

async function main(): Promise<void> {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
  const x = space.array(Float32Array, 1000);
  await space.devices[0].run(addOne, { x }, { size: 1000 });
  console.log(`ok ${x.data[999]}`);
  await space.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
