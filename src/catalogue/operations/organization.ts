import { guide, mcpTool, reference, specification } from '../fact.ts'
import { inferred, operation, printed, self } from './operation.ts'

/** The operations on the token, the organization, its contacts and its team members. */
export const organizationOperations = {
  me: operation('specification', [specification('section 4'), reference('Current token')], {
    operationId: 'getMe',
    title: 'Current token',
    request: 'GET /me',
    envelope: 'bare',
    response: 'me',
    notes: [
      printed('The body is not wrapped in `data`.', 'Current token'),
      inferred('`user` is null or absent with `actor=app`.', reference('Current token')),
    ],
  }),

  'contacts.list': operation('reference', [reference('List contacts')], {
    operationId: 'listContacts',
    title: 'List contacts',
    request: 'GET /contacts',
    scope: 'contacts:read',
    envelope: 'list',
    response: 'contact',
    notes: [printed('The sample has no `page_metadata`.', 'List contacts')],
  }),
  'contacts.get': operation('inferred', [mcpTool('get_customer'), reference('Update contact')], {
    operationId: 'getContact',
    title: 'Get contact',
    request: 'GET /contacts/{id}',
    scope: 'contacts:read',
    response: 'contact',
  }),
  'contacts.create': operation('reference', [reference('Create contact')], {
    operationId: 'createContact',
    title: 'Create contact',
    request: 'POST /contacts',
    scope: 'contacts:write',
    ...self,
    body: 'createContactBody',
    response: 'contact',
  }),
  'contacts.update': operation('reference', [reference('Update contact')], {
    operationId: 'updateContact',
    title: 'Update contact',
    request: 'PATCH /contacts/{id}',
    scope: 'contacts:write',
    body: 'updateContactBody',
    response: 'contact',
  }),

  'members.list': operation('reference', [reference('List team members')], {
    operationId: 'listUsers',
    title: 'List team members',
    request: 'GET /users',
    scope: 'users:read',
    envelope: 'list',
    response: 'member',
    notes: [printed('The sample has no `page_metadata`.', 'List team members')],
  }),
  'members.get': operation('reference', [reference('Get team member')], {
    operationId: 'getUser',
    title: 'Get team member',
    request: 'GET /users/{id}',
    scope: 'users:read',
    response: 'member',
    notes: [printed('`{id}` is the id of the membership, not of the user.', 'Get team member')],
  }),
  'members.invite': operation('reference', [reference('Invite team member')], {
    operationId: 'createUser',
    title: 'Invite team member',
    request: 'POST /users',
    scope: 'users:write',
    ...self,
    body: 'inviteMemberBody',
    response: 'member',
    notes: [printed('The user of the token must be an admin.', 'Invite team member')],
  }),
  'members.update': operation('reference', [reference('Update team member')], {
    operationId: 'updateUser',
    title: 'Update team member',
    request: 'PATCH /users/{id}',
    scope: 'users:write',
    ...self,
    body: 'updateMemberBody',
    response: 'member',
    notes: [printed('`{id}` is the id of the membership, not of the user.', 'Update team member')],
  }),
  'members.remove': operation('inferred', [mcpTool('remove_team_member'), guide('Scopes')], {
    operationId: 'removeUser',
    title: 'Remove team member',
    request: 'DELETE /users/{id}',
    scope: 'users:write',
    envelope: 'none',
    notes: [
      inferred(
        'Whether an app can remove a member is not clear: the specification allows it admin operations on members, and leaves "manages members" to a person.',
        specification('section 5'),
      ),
    ],
  }),

  'organization.get': operation('reference', [reference('Get organization')], {
    operationId: 'getOrganization',
    title: 'Get organization',
    request: 'GET /organization',
    scope: 'organization:read',
    response: 'organization',
  }),
  'organization.update': operation('reference', [reference('Update organization')], {
    operationId: 'updateOrganization',
    title: 'Update organization',
    request: 'PATCH /organization',
    scope: 'organization:write',
    ...self,
    body: 'updateOrganizationBody',
    response: 'organization',
    notes: [
      printed('The user of the token must own the organization.', 'Update organization'),
      printed('It changes the display name.', 'Update organization'),
    ],
  }),
  'organization.getSettings': operation(
    'inferred',
    [mcpTool('get_organization_settings'), reference('Update settings')],
    {
      operationId: 'getOrganizationSettings',
      title: 'Get settings',
      request: 'GET /organization/settings',
      scope: 'organization:read',
      response: 'organizationSettings',
    },
  ),
  'organization.updateSettings': operation('reference', [reference('Update settings')], {
    operationId: 'updateOrganizationSettings',
    title: 'Update settings',
    request: 'PATCH /organization/settings',
    scope: 'organization:write',
    body: 'updateOrganizationSettingsBody',
    response: 'organizationSettings',
  }),
}
