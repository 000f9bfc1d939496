import { fact, guide, inferred, reference, specification } from '../fact.ts'
import { type Topic, topic } from './topic.ts'

/** The topics that apply to every call: the login, its tokens, and the conventions of requests and responses. */
export const ofService: readonly Topic[] = [
  topic('Client id and secret', {
    facts: [
      fact('An app is registered with the service and has a client id and a client secret', specification('section 4')),
      fact('An app declares the scopes that it can request', guide('Scopes')),
      fact('An app has registered redirect URIs', reference('Authorize request')),
      fact('A client id looks like `app_abc123`, a secret like `secret_xyz` (example values)', guide('Authentication')),
    ],
    unknown: ['How to register an app'],
    advice: `The vendor does not document how to register an app or where to find its client id and secret. Ask
support@supportwire.app, the contact in the vendor's introduction. Until you have a client id and a secret, use the
[sandbox](testing.md), which has a registered app (\`sandbox.app\`).`,
  }),
  topic('Base URL', {
    facts: [
      fact('`https://api.supportwire.app`', guide('Authentication')),
      inferred(
        'Newer material of the vendor uses other domains, which might serve the API as well',
        guide('MCP server'),
      ),
    ],
    advice: 'Set `baseUrl` in one place of your app, so that you can change it.',
  }),
  topic('Conventions', {
    facts: [
      fact('Requests and responses are JSON', specification('section 1')),
      fact(
        'A collection is wrapped in a `data` array, and lists have `page_metadata`',
        specification('section 1'),
        specification('section 2'),
      ),
      fact('A single object is wrapped in `data` too, except for `/me`', reference('every endpoint (samples)')),
      fact('Timestamps are seconds since the Unix epoch unless a field says otherwise', specification('section 1')),
      fact('`created_at` of an organization is an ISO 8601 string', reference('Get organization')),
      fact(
        'Resource paths start with `/api/oauth/v1`; the login endpoints have no version',
        specification('section 9'),
      ),
      fact('Ids are strings', reference('every endpoint (samples)')),
      inferred('Any field except an `id` can be null or absent, because the samples do not say', reference('samples')),
      inferred('A literal in a sample, such as the role `admin`, is one of several values', reference('samples')),
    ],
  }),
  topic('Login', {
    facts: [
      fact('OAuth 2.0 authorization code grant with PKCE, method S256', specification('section 5')),
      fact(
        'An organization admin consents and picks the organization',
        specification('section 1'),
        specification('section 4'),
      ),
      fact(
        '`GET /api/oauth/authorize` requires `client_id`, `redirect_uri`, `scope`, `state`, `code_challenge`, `code_challenge_method`',
        specification('section 4'),
      ),
      fact(
        'The reference prints only `client_id` and `redirect_uri` as required, and lets `scope` default to the scopes of the app',
        reference('Authorize request'),
      ),
      fact('`actor` selects the [actor](#actors). No default is printed', reference('Authorize request')),
      fact('The redirect URI must equal the registered one exactly', reference('Authorize request')),
      fact(
        '`POST /api/oauth/token`, form encoded, from a server, with `grant_type`, `code`, `redirect_uri`, `client_id`, `client_secret`, `code_verifier`',
        specification('section 4'),
      ),
      fact(
        'HTTP Basic works in place of `client_id` and `client_secret` in the body',
        reference('Exchange code for token'),
      ),
      fact(
        'The response has `access_token`, `token_type` and `scope`, but lacks an expiry and a refresh token',
        specification('section 4'),
        specification('section 5'),
      ),
      fact('`POST /api/oauth/authorize/consent` takes the decision of the consent page', reference('Grant consent')),
    ],
    advice: 'The SDK sends `response_type=code` as well, which RFC 6749 requires.',
  }),
  topic('Tokens', {
    facts: [
      fact('Tokens are opaque and long-lived, and start with a fixed prefix', specification('section 5')),
      fact('The prefix is `swot_`', guide('Authentication')),
      fact('There are no refresh tokens', specification('section 5')),
      fact('An admin can revoke a connection in the dashboard at any time', specification('section 5')),
      fact('A call with a revoked token gets a 401 `invalid_token`', guide('Errors')),
    ],
    unknown: [
      'How long a token lives (specification, section 8)',
      'Whether an endpoint revokes or introspects a token: none is documented',
    ],
  }),
  topic('Actors', {
    facts: [
      fact('A token is bound to an app, an organization and an actor', specification('section 5')),
      fact(
        '`app` is the app itself, which reads and administers, but cannot author content',
        specification('section 5'),
      ),
      fact(
        '`self` is one user in one organization, who can also author content and manage members',
        specification('section 5'),
      ),
      fact(
        'Messages, notes, new conversations and invitations need `self`. Otherwise the response is 422 `actor_self_required`',
        specification('section 5'),
        specification('section 7'),
      ),
      fact(
        'Creating a contact, deleting a message, assigning a conversation, updating a member and updating the organization need `self`',
        reference('Create contact'),
        reference('Delete message'),
        reference('Assign conversation'),
        reference('Update team member'),
        reference('Update organization'),
      ),
      fact(
        'The role of the user limits the scopes of a `self` token. For example, a member loses `:write` scopes that need an admin',
        specification('section 5'),
      ),
    ],
  }),
  topic('Scopes', {
    intro: `A scope is \`<resource>:<read\\|write>\` (specification, section 5). The guide *Scopes* lists sixteen:

| Scope | Allows |
| --- | --- |
| \`conversations:read\`, \`conversations:write\` | reading; creating, updating and assigning |
| \`messages:read\`, \`messages:write\` | reading; sending, editing and deleting |
| \`notes:read\`, \`notes:write\` | reading internal notes; adding them |
| \`contacts:read\`, \`contacts:write\` | reading contacts and their attributes; creating and updating |
| \`users:read\`, \`users:write\` | reading team members; inviting, updating and removing |
| \`organization:read\`, \`organization:write\` | reading details and settings; updating them |
| \`segments:read\`, \`segments:write\` | reading; creating, updating and deleting |
| \`tasks:read\`, \`tasks:write\` | reading; creating, updating and deleting |`,
    facts: [
      fact('An authorization grants some of the scopes that the app declares', guide('Scopes')),
      fact('Without the scope that an endpoint needs, the response is 403 `insufficient_scope`', guide('Scopes')),
    ],
    advice: '`scopesFor` maps operations to scopes.',
  }),
  topic('Paging', {
    facts: [
      fact('The list of conversations takes `limit`, `after` and `before`', specification('section 4')),
      inferred('Every list takes them', guide('Pagination')),
      fact(
        '`page_metadata.after` is the cursor of the next page, and `before` the cursor of the previous page. Null means that this page does not exist',
        specification('section 2'),
      ),
      fact('Cursors are opaque', specification('section 2')),
    ],
    unknown: [
      'Default and maximum of `limit` (specification, section 8)',
      'Whether messages, contacts and team members are paginated: the samples of List messages, List contacts and List team members have no `page_metadata`',
    ],
    advice: 'The SDK treats an absent `page_metadata` as the last page, so it works either way.',
  }),
  topic('Errors', {
    facts: [
      fact('422 `actor_self_required`', specification('section 7')),
      fact('The body is `{ "error": …, "error_description": … }`, also for the login endpoints', guide('Errors')),
      fact(
        '400 `invalid_request`, 401 `invalid_token`, 403 `insufficient_scope` or `forbidden`, 404, 422, 429',
        guide('Errors'),
      ),
      fact('After a 429: back off exponentially and retry', guide('Errors')),
      inferred('A create returns 201 and a delete 204, because the guide lists both', guide('Errors')),
      inferred('A POST returns 409 if the object exists already', guide('Errors')),
      inferred('There are more codes, because the guide calls its list common', guide('Errors')),
    ],
    unknown: [
      'The rate limits, and whether a `Retry-After` header is sent (specification, section 8)',
      'Whether a response has a request id',
    ],
  }),
]
