import type { Call, CallOptions } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type {
  Organization,
  OrganizationSettings,
  UpdateOrganizationBody,
  UpdateOrganizationSettingsBody,
} from '../generated/models.ts'
import { organizationOperations } from '../generated/operations.ts'
import { Resource, type SelfOnly } from './resource.ts'

/** The organization of the token. */
export class OrganizationResource<out A extends Actor = Actor> extends Resource<A> {
  /** Gets the organization. Scope `organization:read`. Evidence: [reference](docs/service.md#organization). */
  get(options?: CallOptions): Call<Organization> {
    return this.call(organizationOperations.get, {}, options)
  }

  /**
   * Updates the display name. Scope `organization:write`, `actor=self` only, and the user must own the organization.
   * Evidence: [reference](docs/service.md#organization).
   */
  update(
    this: SelfOnly<A, OrganizationResource>,
    body: UpdateOrganizationBody,
    options?: CallOptions,
  ): Call<Organization>
  update(body: UpdateOrganizationBody, options?: CallOptions): Call<Organization> {
    return this.call(organizationOperations.update, { body }, options)
  }

  /**
   * Gets the settings. Scope `organization:read`.
   *
   * @experimental Inferred: the GET is a guess from the documented PATCH (see
   * [what is known](docs/service.md#organization)).
   */
  getSettings(options?: CallOptions): Call<OrganizationSettings> {
    return this.call(organizationOperations.getSettings, {}, options)
  }

  /** Updates the settings. Scope `organization:write`. Evidence: [reference](docs/service.md#organization). */
  updateSettings(body: UpdateOrganizationSettingsBody, options?: CallOptions): Call<OrganizationSettings> {
    return this.call(organizationOperations.updateSettings, { body }, options)
  }
}
