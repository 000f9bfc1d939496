/** A free-form object. */
export type FreeForm = Record<string, unknown>

/** The role of a team member. `admin` is the only documented value ([reference](docs/service.md#team-members)). */
export type Role = 'admin' | (string & {})
