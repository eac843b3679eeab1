import { expect, test } from 'vitest';
import { kernelError, refuseAsynchronous } from './kernel-error.js';

test('an error is told with its name, its message and its stack', () => {
  const error = new RangeError('too far');
  expect(kernelError(error)).toEqual({
    name: 'RangeError',
    message: 'too far',
    stack: error.stack,
  });
});

test('what is no error is told with its kind and its text', () => {
  expect(kernelError('text')).toEqual({ name: 'string', message: 'text', stack: '' });
  expect(kernelError(undefined)).toEqual({ name: 'undefined', message: 'undefined', stack: '' });
  expect(kernelError(Symbol('mark'))).toEqual({
    name: 'symbol',
    message: 'Symbol(mark)',
    stack: '',
  });
});

test('what has no text, or fails when it is asked for it, is told all the same', () => {
  const failing = Object.defineProperty(new Error('hidden'), 'message', {
    get() {
      throw new Error('from the message');
    },
  });
  for (const thrown of [Object.create(null), failing]) {
    expect(kernelError(thrown)).toEqual({
      name: 'object',
      message: 'something that has no text',
      stack: '',
    });
  }
});

test('an error whose parts are no texts is told in texts', () => {
  const error = Object.assign(new Error('hidden'), { message: { no: 'text' }, stack: 5 });
  expect(kernelError(error)).toEqual({ name: 'Error', message: '{"no":"text"}', stack: '' });
});

test('an object that is no error is told by what it holds', () => {
  const text = (thrown: unknown) => kernelError(thrown).message;
  expect(text({ code: 'E_NO', reason: 'not there' })).toBe('{"code":"E_NO","reason":"not there"}');
  expect(text({ toString: () => 'its own' })).toBe('its own');
  expect(text([1, 2])).toBe('1,2');
  expect(text({})).toBe('[object Object]');
  expect(text({ many: 1n })).toBe('[object Object]');
  expect(text({ long: 'x'.repeat(1000) })).toMatch(/^.{300}…$/);
});

test("a kernel that has not ended is refused, and its end is nobody else's rejection", () => {
  expect(() => refuseAsynchronous(undefined)).not.toThrow();
  expect(() => refuseAsynchronous(Promise.reject(new Error('later')))).toThrow(
    /runs no asynchronous kernels/,
  );
});
