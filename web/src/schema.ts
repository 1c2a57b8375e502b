import type { Schema } from './types';

// resolved replaces a reference by its definition. A description and a default beside the reference hold.
export function resolved<S extends Schema>(schema: S, root: Schema | undefined): S {
  const name = schema.$ref?.replace('#/$defs/', '');
  const found = name === undefined ? undefined : (root?.$defs?.[name] as S | undefined);
  return found ? { ...resolved(found, root), ...(schema.description && { description: schema.description }), ...(schema.default !== undefined && { default: schema.default }) } : schema;
}
