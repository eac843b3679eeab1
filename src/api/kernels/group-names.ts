/** Names of parameters by group and binding. Its types need no reader of WGSL. */

/** For each group the names of parameters by binding: `[['x', 'y'], { 3: 'sizes' }]`. */
export type GroupNames = readonly (
  | readonly (string | null | undefined)[]
  | Readonly<Record<number, string>>
  | null
  | undefined
)[];
