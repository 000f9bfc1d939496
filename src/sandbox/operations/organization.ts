import { optionalFlag, optionalObject, optionalText } from './fields.ts'
import { type Answer, type Call, type Operation, ok } from './service-operation.ts'

export const organizationOperations: readonly Operation[] = [
  {
    name: 'getOrganization',
    method: 'GET',
    path: '/api/oauth/v1/organization',
    scope: 'organization:read',
    answer: (call) => ok(call.workspace.organization),
  },
  {
    name: 'updateOrganization',
    method: 'PATCH',
    path: '/api/oauth/v1/organization',
    scope: 'organization:write',
    actor: 'self',
    heldBy: 'owner',
    answer: updateOrganization,
  },
  {
    name: 'getOrganizationSettings',
    method: 'GET',
    path: '/api/oauth/v1/organization/settings',
    scope: 'organization:read',
    answer: (call) => ok(call.workspace.settings),
  },
  {
    name: 'updateOrganizationSettings',
    method: 'PATCH',
    path: '/api/oauth/v1/organization/settings',
    scope: 'organization:write',
    answer: updateSettings,
  },
]

function updateOrganization(call: Call): Answer {
  const { organization } = call.workspace
  const displayName = optionalText(call.json(), 'display_name')
  if (displayName !== undefined) organization.display_name = displayName
  return ok(organization)
}

function updateSettings(call: Call): Answer {
  const { settings } = call.workspace
  const body = call.json()
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
