/**
 * Writes an ONNX model, and its weights into a file beside it: a chain of products, each of which
 * moves the elements of its input by one place; the fourth doubles them.
 *
 *   node onnx-model.js FOLDER LAYERS WIDTH
 */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const WEIGHTS = 'weights.bin';
/** TensorProto.DataType.FLOAT, and TensorProto.DataLocation.EXTERNAL. */
const FLOAT = 1;
const EXTERNAL = 1;

function varint(value: number): Buffer {
  const bytes = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function bytes(field: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
  );
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
}

/** An input or output of one row. */
function row(field: number, name: string, width: number): Buffer {
  const shape = bytes(2, ...[1, width].map((length) => bytes(1, number(1, length))));
  return bytes(field, bytes(1, name), bytes(2, bytes(1, number(1, FLOAT), shape)));
}

function model(layers: number, width: number): Buffer {
  const size = width * width * 4;
  const nameOf = (layer: number): string =>
    layer === 0 ? 'x' : layer === layers ? 'y' : `h${layer}`;
  const entry = (key: string, value: string): Buffer => bytes(13, bytes(1, key), bytes(2, value));
  const parts: Buffer[] = [bytes(2, 'shifts')];
  for (let layer = 0; layer < layers; layer++) {
    const names = [bytes(1, nameOf(layer)), bytes(1, `w${layer}`), bytes(2, nameOf(layer + 1))];
    parts.push(bytes(1, ...names, bytes(4, 'MatMul')));
    const tensor = [number(1, width), number(1, width), number(2, FLOAT), bytes(8, `w${layer}`)];
    const place = [
      entry('location', WEIGHTS),
      entry('offset', String(layer * size)),
      entry('length', String(size)),
    ];
    parts.push(bytes(5, ...tensor, ...place, number(14, EXTERNAL)));
  }
  const graph = bytes(7, ...parts, row(11, 'x', width), row(12, 'y', width));
  return Buffer.concat([number(1, 9), graph, bytes(8, number(2, 17))]);
}

const [folder, layers, width] = [process.argv[2], ...process.argv.slice(3).map(Number)] as [
  string,
  number,
  number,
];
writeFileSync(join(folder, 'model.onnx'), model(layers, width));
const file = openSync(join(folder, WEIGHTS), 'w');
for (let layer = 0; layer < layers; layer++) {
  const weights = new Float32Array(width * width);
  for (let i = 0; i < width; i++) weights[i * width + ((i + 1) % width)] = layer === 3 ? 2 : 1;
  writeSync(file, weights);
}
closeSync(file);
