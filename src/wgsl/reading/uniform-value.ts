/** What a launch says of a uniform variable. */
export type UniformValue =
  | number
  | boolean
  | readonly UniformValue[]
  | { readonly [member: string]: UniformValue | undefined };
