import { expect, test } from 'vitest';
import { comparedPolicies } from './compared-policies.js';

test('default names the policy that spaces have unless they are told otherwise', async () => {
  expect(Object.keys(await comparedPolicies('lru,default'))).toEqual(['lru', 'plan']);
});

test('a name that is none is refused with those that there are', async () => {
  await expect(comparedPolicies('best')).rejects.toThrow(
    /there is no policy 'best'; there are plan, tournament, lru, .*, default, all, and modules/,
  );
});
