import type { CatalogueField } from '../../src/api/index.ts'

/** Returns the comment of a field in `src/client/models`: its meaning, and what of it is inferred. */
export function commentOf({ evidence, meaning }: CatalogueField): string {
  if (evidence === 'inferred') return `${meaning.text} The field is inferred.`
  return meaning.evidence === 'inferred' ? meaning.text.replace(/\.(?= |$)/, ' (inferred).') : meaning.text
}
