import { guide, reference, specification } from '../fact.ts'
import { fromDocument, many, one, requested, sampled, text, texts, told } from './field.ts'

const section2 = specification('section 2')
const section4 = specification('section 4')

/**
 * JSON objects other than resources: pages, errors, and the three requests of a login. Login responses have no `data`
 * around them.
 */
export const envelopes = {
  pageMetadata: fromDocument('The cursors of a page.', section2, {
    after: { ...text('Opaque cursor of the next page. Null when there is none.'), nullFrom: section2 },
    before: { ...text('Opaque cursor of the previous page. Null when there is none.'), nullFrom: section2 },
  }),
  error: {
    title: 'ErrorBody',
    ...fromDocument('The body of an error response.', guide('Errors'), {
      error: text('The code, for example `insufficient_scope`. The list of codes is not closed.'),
      error_description: text('A sentence for people.'),
    }),
  },
  authorizeQuery: requested('The query of `GET /api/oauth/authorize`.', section4, {
    client_id: told(section4, text('Identifier of the registered app.')),
    redirect_uri: told(
      reference('Authorize request'),
      text('Where the browser returns. Must equal the registered redirect URI exactly.'),
    ),
    scope: told(
      reference('Authorize request'),
      text('Scopes, separated by spaces. Defaults to the scopes of the app.'),
    ),
    state: told(section4, text('Returned unchanged on the redirect.')),
    actor: {
      ...told(reference('Authorize request'), text('The actor of the token: `app` or `self`. No default is printed.')),
      knownFrom: reference('Authorize request'),
      isOptional: true,
    },
    code_challenge: told(section4, text('PKCE challenge.')),
    code_challenge_method: told(section4, text('`S256`.')),
  }),
  consentMetadata: sampled('The response of `GET /api/oauth/authorize`.', ['Authorize request'], {
    client_id: text('The OAuth client id.'),
    app: one('consentApp', 'The app that asks for access.'),
    actor: text('The actor of the token: `app` or `self`.'),
    redirect_uri: text('Where the browser returns.'),
    scopes: texts('The requested scopes.'),
    scope_details: { type: 'object', text: 'What each scope allows, by its name.' },
    state: text('The `state` of the request.'),
    eligible_organizations: many('eligibleOrganization', 'The organizations that the user can choose.'),
  }),
  consentApp: sampled('An app, as the consent page shows it.', ['Authorize request'], {
    name: text('The name of the app.'),
    description: text('What the app does.'),
    logo_url: text('URL of the logo.'),
  }),
  eligibleOrganization: sampled('An organization to choose.', ['Authorize request'], {
    id: text('The id of the organization.'),
    name: text('The name.'),
    domain: text('The domain.'),
  }),
  consentBody: requested('The body of `POST /api/oauth/authorize/consent`.', reference('Grant consent'), {
    client_id: text('The OAuth client id.'),
    redirect_uri: text('Where the browser returns.'),
    target_organization_id: text('The chosen organization.'),
  }),
  consentResult: sampled('The response of `POST /api/oauth/authorize/consent`.', ['Grant consent'], {
    redirect_to: text('Where to send the browser.'),
  }),
  tokenBody: requested('The form of `POST /api/oauth/token`.', section4, {
    grant_type: told(section4, text('`authorization_code`.')),
    code: told(section4, text('The code of the redirect. It can be used once.')),
    redirect_uri: told(section4, text('The same as in the authorize request.')),
    client_id: told(section4, text('Identifier of the app.')),
    client_secret: told(section4, text('Secret of the app.')),
    code_verifier: told(section4, text('PKCE verifier of the challenge.')),
  }),
  tokenResponse: fromDocument('The response of `POST /api/oauth/token`.', section4, {
    access_token: text('Opaque token with a fixed prefix.'),
    token_type: text('`Bearer`.'),
    scope: text('The granted scopes, separated by spaces.'),
  }),
}
