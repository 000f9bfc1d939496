import { optionalFlag, optionalObject, optionalText } from './fields.ts'
import { type OperationContext, type OperationResponse, ok, type ServiceOperation } from './service-operation.ts'

export const organizationOperations: readonly ServiceOperation[] = [
  {
    name: 'getOrganization',
    method: 'GET',
    path: '/api/oauth/v1/organization',
    scope: 'organization:read',
    handle: (context) => ok(context.workspace.organization),
  },
  {
    name: 'updateOrganization',
    method: 'PATCH',
    path: '/api/oauth/v1/organization',
    scope: 'organization:write',
    actor: 'self',
    requiredRole: 'owner',
    handle: updateOrganization,
  },
  {
    name: 'getOrganizationSettings',
    method: 'GET',
    path: '/api/oauth/v1/organization/settings',
    scope: 'organization:read',
    handle: (context) => ok(context.workspace.settings),
  },
  {
    name: 'updateOrganizationSettings',
    method: 'PATCH',
    path: '/api/oauth/v1/organization/settings',
    scope: 'organization:write',
    handle: updateSettings,
  },
]

function updateOrganization(context: OperationContext): OperationResponse {
  const { organization } = context.workspace
  const displayName = optionalText(context.json(), 'display_name')
  if (displayName !== undefined) organization.display_name = displayName
  return ok(organization)
}

function updateSettings(context: OperationContext): OperationResponse {
  const { settings } = context.workspace
  const body = context.json()
  const allowGuests = optionalFlag(body, 'allow_guest_submission')
  const enableAssistant = optionalFlag(body, 'enable_ai_assistant')
  const bot = optionalObject(body, 'bot_configuration')
  const locale = optionalText(body, 'locale')
  if (allowGuests !== undefined) settings.allow_guest_submission = allowGuests
  if (enableAssistant !== undefined) settings.enable_ai_assistant = enableAssistant
  if (bot !== undefined) settings.bot_configuration = bot
  if (locale !== undefined) settings.locale = locale
  return ok(settings)
}
