import { fact, guide, inferred, mcpTool, reference, specification } from '../fact.ts'
import { operation, printed } from './operation.ts'

/** The operations on the token, the organization, its contacts and its team members. */
export const organizationOperations = {
  me: operation('specification', [specification('section 4'), reference('Current token')], {
    operationId: 'getMe',
    title: 'Current token',
    request: 'GET /me',
    envelope: 'bare',
    response: 'me',
    notes: [
      fact('The body is not wrapped in `data`.', reference('Current token')),
      inferred('`user` is null or absent with `actor=app`.', reference('Current token')),
    ],
  }),

  'contacts.list': printed('List contacts', {
    operationId: 'listContacts',
    request: 'GET /contacts',
    envelope: 'list',
    response: 'contact',
    notes: [fact('The sample has no `page_metadata`.', reference('List contacts'))],
  }),
  'contacts.get': operation('inferred', [mcpTool('get_customer'), reference('Update contact')], {
    operationId: 'getContact',
    title: 'Get contact',
    request: 'GET /contacts/{id}',
    response: 'contact',
  }),
  'contacts.create': printed('Create contact', {
    operationId: 'createContact',
    request: 'POST /contacts',
    actor: 'self',
    body: 'createContactBody',
    response: 'contact',
  }),
  'contacts.update': printed('Update contact', {
    operationId: 'updateContact',
    request: 'PATCH /contacts/{id}',
    body: 'updateContactBody',
    response: 'contact',
  }),

  'members.list': printed('List team members', {
    operationId: 'listUsers',
    request: 'GET /users',
    envelope: 'list',
    response: 'member',
    notes: [fact('The sample has no `page_metadata`.', reference('List team members'))],
  }),
  'members.get': printed('Get team member', {
    operationId: 'getUser',
    request: 'GET /users/{id}',
    response: 'member',
    notes: [fact('`{id}` is the id of the membership, not of the user.', reference('Get team member'))],
  }),
  'members.invite': printed('Invite team member', {
    operationId: 'createUser',
    request: 'POST /users',
    actor: 'self',
    body: 'inviteMemberBody',
    response: 'member',
    notes: [fact('The user of the token must be an admin.', reference('Invite team member'))],
  }),
  'members.update': printed('Update team member', {
    operationId: 'updateUser',
    request: 'PATCH /users/{id}',
    actor: 'self',
    body: 'updateMemberBody',
    response: 'member',
    notes: [fact('`{id}` is the id of the membership, not of the user.', reference('Update team member'))],
  }),
  'members.remove': operation('inferred', [mcpTool('remove_team_member'), guide('Scopes')], {
    operationId: 'removeUser',
    title: 'Remove team member',
    request: 'DELETE /users/{id}',
    notes: [
      inferred(
        'Whether an app can remove a member is not clear: the specification allows it admin operations on members, and leaves "manages members" to a person.',
        specification('section 5'),
      ),
    ],
  }),

  'organization.get': printed('Get organization', {
    operationId: 'getOrganization',
    request: 'GET /organization',
    response: 'organization',
  }),
  'organization.update': printed('Update organization', {
    operationId: 'updateOrganization',
    request: 'PATCH /organization',
    actor: 'self',
    body: 'updateOrganizationBody',
    response: 'organization',
    notes: [
      fact('The user of the token must own the organization.', reference('Update organization')),
      fact('It changes the display name.', reference('Update organization')),
    ],
  }),
  'organization.getSettings': operation(
    'inferred',
    [mcpTool('get_organization_settings'), reference('Update settings')],
    {
      operationId: 'getOrganizationSettings',
      title: 'Get settings',
      request: 'GET /organization/settings',
      response: 'organizationSettings',
    },
  ),
  'organization.updateSettings': printed('Update settings', {
    operationId: 'updateOrganizationSettings',
    request: 'PATCH /organization/settings',
    body: 'updateOrganizationSettingsBody',
    response: 'organizationSettings',
  }),
}
