/** A person: a customer, an author or a team member ([reference](docs/service.md#people)). */
export interface User {
  /** The id of the user. A team member has the id of a membership instead. */
  id: string
  /** Full name (inferred). */
  name?: string | null
  /** Email address (inferred). */
  email?: string | null
  /** Instagram handle (inferred). */
  instagram_handle?: string | null
  /** URL of a picture of the person (inferred). */
  profile_picture_url?: string | null
}
