/** Operators on whole numbers, as forms where they stay affine and as ranges where they do not. */
import type { Facts, Symbols } from './facts.js';
import {
  combine,
  constant,
  type Form,
  GREATEST,
  type Interval,
  isConstant,
  scale,
  symbol,
  withIdsJoined,
} from './forms.js';
import {
  type Integer,
  type IntegerType,
  integer,
  rangeOf,
  rangeOfType,
  safeRangeOf,
} from './values.js';

export class Arithmetic {
  constructor(
    private readonly symbols: Symbols,
    private readonly workgroupSize: readonly number[],
  ) {}

  /** A number of which nothing more is known. */
  between(type: IntegerType, { lo, hi }: Interval): Integer {
    if (lo === hi) return integer(type, lo);
    if (hi - lo < 2 ** 32 && Math.max(Math.abs(lo), Math.abs(hi)) < GREATEST)
      return integer(type, symbol(this.symbols.fresh(lo, hi)));
    const { lo: least, hi: most } = rangeOfType(type === 'int' ? 'i32' : type);
    return integer(type, symbol(this.symbols.fresh(least, most)));
  }

  any(type: IntegerType): Integer {
    return this.between(type, rangeOfType(type));
  }

  negate({ type, form }: Integer): Integer {
    return integer(type, scale(form, -1));
  }

  /** ~x is -1 - x in both types. */
  complement({ type, form }: Integer): Integer {
    return integer(type, combine(constant(-1), form, -1));
  }

  /** Of a value that is one of two. */
  either(one: Integer, oneFacts: Facts, other: Integer, otherFacts: Facts): Integer {
    const type = one.type === 'int' ? other.type : one.type;
    const a = safeRangeOf({ ...one, type }, oneFacts);
    const b = safeRangeOf({ ...other, type }, otherFacts);
    return this.between(type, { lo: Math.min(a.lo, b.lo), hi: Math.max(a.hi, b.hi) });
  }

  apply(operator: string, left: Integer, right: Integer, facts: Facts): Integer {
    const type =
      operator === '<<' || operator === '>>' || left.type !== 'int' ? left.type : right.type;
    const a = { ...left, type };
    const b = operator === '<<' || operator === '>>' ? right : { ...right, type };
    switch (operator) {
      case '+':
        return this.affine(type, combine(a.form, b.form, 1), facts);
      case '-':
        return this.affine(type, combine(a.form, b.form, -1), facts);
      case '*':
        if (isConstant(b.form)) return this.affine(type, scale(a.form, b.form.constant), facts);
        if (isConstant(a.form)) return this.affine(type, scale(b.form, a.form.constant), facts);
        return this.product(type, safeRangeOf(a, facts), safeRangeOf(b, facts));
      case '<<':
        return isConstant(b.form) && b.form.constant >= 0 && b.form.constant < 32
          ? this.affine(type, scale(a.form, 2 ** b.form.constant), facts)
          : this.any(type);
      case 'min':
      case 'max':
        return this.extreme(operator, a, b, facts);
      default:
        return this.ranged(
          operator,
          type,
          rangeOf(a, facts),
          safeRangeOf(a, facts),
          safeRangeOf(b, facts),
        );
    }
  }

  private affine(type: IntegerType, form: Form, facts: Facts): Integer {
    const joined = withIdsJoined(form, this.workgroupSize);
    const { lo, hi } = facts.range(joined);
    if (Math.max(Math.abs(lo), Math.abs(hi)) < GREATEST) return integer(type, joined);
    return this.any(type);
  }

  private product(type: IntegerType, a: Interval, b: Interval): Integer {
    const ends = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
    return this.between(type, { lo: Math.min(...ends), hi: Math.max(...ends) });
  }

  private extreme(operator: 'min' | 'max', a: Integer, b: Integer, facts: Facts): Integer {
    const one = safeRangeOf(a, facts);
    const other = safeRangeOf(b, facts);
    if (one.hi <= other.lo) return operator === 'min' ? a : b;
    if (other.hi <= one.lo) return operator === 'min' ? b : a;
    const pick = Math[operator];
    return this.between(a.type, { lo: pick(one.lo, other.lo), hi: pick(one.hi, other.hi) });
  }

  /** @param exact of a; null where the form of a wraps around, and `a` is all of the type */
  private ranged(
    operator: string,
    type: IntegerType,
    exact: Interval | null,
    a: Interval,
    b: Interval,
  ): Integer {
    const known = b.lo === b.hi ? b.lo : null;
    switch (operator) {
      case '/':
        if (a.lo >= 0 && b.lo >= 1)
          return this.between(type, { lo: Math.floor(a.lo / b.hi), hi: Math.floor(a.hi / b.lo) });
        if (known !== null && known > 0)
          return this.between(type, { lo: Math.trunc(a.lo / known), hi: Math.trunc(a.hi / known) });
        return this.any(type);
      case '%':
        if (known !== null && known > 0) return this.remainder(type, exact, a, known);
        return a.lo >= 0 && b.lo >= 1
          ? this.between(type, { lo: 0, hi: Math.min(a.hi, b.hi - 1) })
          : this.any(type);
      case '>>':
        if (known === null || known < 0 || known > 31)
          return a.lo >= 0 ? this.between(type, { lo: 0, hi: a.hi }) : this.any(type);
        return this.between(type, {
          lo: Math.floor(a.lo / 2 ** known),
          hi: Math.floor(a.hi / 2 ** known),
        });
      case '&':
        if (known !== null && known >= 0 && Number.isInteger(Math.log2(known + 1)))
          return this.remainder(
            type,
            exact !== null && exact.lo >= 0 ? exact : null,
            { lo: 0, hi: Infinity },
            known + 1,
          );
        if (a.lo >= 0 && b.lo >= 0) return this.between(type, { lo: 0, hi: Math.min(a.hi, b.hi) });
        return b.lo >= 0 ? this.between(type, { lo: 0, hi: b.hi }) : this.any(type);
      case '|':
      case '^': {
        if (a.lo < 0 || b.lo < 0 || !Number.isFinite(a.hi + b.hi)) return this.any(type);
        const most = 2 ** Math.ceil(Math.log2(Math.max(a.hi, b.hi) + 1)) - 1;
        return this.between(type, {
          lo: operator === '|' ? Math.max(a.lo, b.lo) : 0,
          hi: Math.max(most, 0),
        });
      }
      default:
        return this.any(type);
    }
  }

  private remainder(type: IntegerType, exact: Interval | null, a: Interval, by: number): Integer {
    if (exact !== null && exact.lo >= 0) {
      const turns = Math.floor(exact.hi / by) - Math.floor(exact.lo / by);
      const [lo, hi] = [exact.lo % by, exact.hi % by];
      if (turns === 0) return this.between(type, { lo, hi });
      // Both ends of a ring.
      if (turns === 1 && hi + 1 < lo) {
        const ends = [
          { lo: 0, hi },
          { lo, hi: by - 1 },
        ];
        return integer(type, symbol(this.symbols.freshIn(ends)));
      }
    }
    return this.between(type, { lo: a.lo < 0 ? 1 - by : 0, hi: by - 1 });
  }
}
