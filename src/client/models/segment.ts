/** A segment. Its fields are not documented: they are returned as the service sends them. */
export interface Segment {
  /** The id of the segment. The field is inferred. */
  id: string
  [field: string]: unknown
}

/** The body of `segments.create`. Its fields are not documented: any object is accepted. */
export type CreateSegmentBody = object

/** The body of `segments.update`. Its fields are not documented: any object is accepted. */
export type UpdateSegmentBody = object
