import { fact, guide, inferred, reference, specification } from '../fact.ts'
import { type Topic, topic } from './topic.ts'

/**
 * The topics of the resources. The last two topics are about inferred endpoints and about open questions of the
 * service.
 */
export const ofResources: readonly Topic[] = [
  topic('Identity', { resource: 'me' }),
  topic('Conversations', {
    resource: 'conversations',
    unknown: [
      'The values of `status`. Informal notes mention open, closed, resolved, on hold and waiting',
      'Whether `user_id` of an assignment is a user id or a membership id',
      'The order of `conversations.list`',
      'Whether `conversations.list` contains closed conversations',
      'Whether the entry of a conversation in the list changes when a message arrives',
      'Whether `last_message` is text or HTML',
      'The path of the filter options, which the MCP tool `filter_conversations` returns',
    ],
  }),
  topic('Messages', {
    resource: 'messages',
    unknown: [
      'The values of `source`',
      'Which HTML the service accepts',
      'Uploads: no endpoint for attachments is documented',
    ],
  }),
  topic('Notes', { resource: 'notes' }),
  topic('Contacts', {
    resource: 'contacts',
    facts: [
      fact('The chat widget merges its `userData` into `attributes`', guide('Chat widget')),
      inferred('There is no operation that deletes a contact, because no source mentions it', guide('Scopes')),
    ],
    unknown: [
      'The values of `source` and `auth_type`',
      'How to search for a contact',
      'Whether the attributes that `contacts:read` names are more than the field `attributes`',
    ],
  }),
  topic('Team members', {
    resource: 'members',
    facts: [
      fact(
        'The `id` of a team member identifies the membership, and `user.id` identifies the person',
        reference('Get team member'),
      ),
    ],
    unknown: ['The values of `role` other than `admin`. Informal notes mention moderator and agent'],
  }),
  topic('Organization', {
    resource: 'organization',
    unknown: ['The format of `locale` and of `bot_configuration`'],
  }),
  topic('People', {
    facts: [
      fact(
        'Customers, authors and team members have `id`, `name`, `email`, `instagram_handle` and `profile_picture_url`',
        reference('every page that embeds one (samples)'),
      ),
    ],
  }),
  topic('Tasks and segments', {
    facts: [
      fact('The service has tasks and segments', specification('section 1')),
      fact('There are scopes to read, create, update and delete them', guide('Scopes')),
      inferred('Their paths look like the paths of contacts', reference('List contacts')),
    ],
    unknown: ['All paths and all fields'],
    advice: `The SDK types only their \`id\`. Define the operation [yourself](custom-operations.md) if you know its path.`,
  }),
  topic('Inferred endpoints', {
    intro: `An inferred operation might not exist, or might have another path. If the service responds with a 404 or 405, the
error says that the path is inferred and how to call another path. The documents also name the filter options of conversations
and the attributes of contacts, but without a path. The SDK has no operation for these two.`,
  }),
  topic('Not known at all', {
    unknown: [
      'Webhooks',
      'Idempotency keys',
      'Versioning, and a changelog',
      '5xx responses',
      'The age at which a `presigned_url` of an attachment expires',
      'Whether the service allows requests from pages on other origins (CORS)',
    ],
  }),
]
