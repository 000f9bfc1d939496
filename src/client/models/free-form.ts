/** A free-form object. */
export type FreeForm = Record<string, unknown>
