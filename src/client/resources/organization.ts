import type { Call, CallOptions } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import { lazyBodySchema, lazySchema } from '../lazy-schemas.ts'
import type {
  Organization,
  OrganizationSettings,
  UpdateOrganizationBody,
  UpdateOrganizationSettingsBody,
} from '../models/organization.ts'
import { type Operations, Resource, type SelfOnly } from './resource.ts'

export const organizationOperations = {
  get: {
    id: 'organization.get',
    method: 'GET',
    path: '/api/oauth/v1/organization',
    scope: 'organization:read',
    evidence: 'reference',
    response: lazySchema('organization'),
  },
  update: {
    id: 'organization.update',
    method: 'PATCH',
    path: '/api/oauth/v1/organization',
    scope: 'organization:write',
    actor: 'self',
    evidence: 'reference',
    body: lazyBodySchema('updateOrganizationBody'),
    response: lazySchema('organization'),
  },
  getSettings: {
    id: 'organization.getSettings',
    method: 'GET',
    path: '/api/oauth/v1/organization/settings',
    scope: 'organization:read',
    evidence: 'inferred',
    response: lazySchema('organizationSettings'),
  },
  updateSettings: {
    id: 'organization.updateSettings',
    method: 'PATCH',
    path: '/api/oauth/v1/organization/settings',
    scope: 'organization:write',
    evidence: 'reference',
    body: lazyBodySchema('updateOrganizationSettingsBody'),
    response: lazySchema('organizationSettings'),
  },
} as const satisfies Operations

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
