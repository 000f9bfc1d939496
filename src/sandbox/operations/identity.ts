import type { ServiceOperation } from './service-operation.ts'

export const identityOperations: readonly ServiceOperation[] = [
  {
    name: 'getMe',
    method: 'GET',
    path: '/api/oauth/v1/me',
    // The only resource that is not wrapped in `data` (docs/service.md#identity).
    handle: ({ service, workspace, grant, scopes, person }) => ({
      status: 200,
      body: {
        application: {
          id: `application_${service.settings.app.clientId}`,
          name: service.settings.app.name,
          client_id: service.settings.app.clientId,
        },
        organization: workspace.organization,
        actor: grant.actor,
        scopes,
        user: person?.user ?? null,
      },
    }),
  },
]
