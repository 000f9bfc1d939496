import { createdId, type Peer, restRequests, sampleText } from './peer.ts'

const messages = '/api/oauth/v1/conversations/cnv_1/messages'

export default {
  package: 'support-workspace-sdk',
  hasCommonJs: true,
  mainImport: 'SupportWorkspace',
  variants: ["validation: 'off'", 'onDrift'],
  service: {
    read: restRequests({ list: '/api/oauth/v1/conversations', create: messages, limit: 'limit', cursor: 'after' }),
    page: (items, cursor) => `{"data":${items},"page_metadata":{"after":${JSON.stringify(cursor)},"before":null}}`,
    created: { data: { id: createdId, conversation_id: 'cnv_1', body_html: sampleText, is_spam: false } },
  },
  connect({ SupportWorkspace }, baseUrl, variant) {
    const workspace = new SupportWorkspace({
      baseUrl,
      accessToken: 'swot_bench',
      actor: 'self',
      ...(variant === "validation: 'off'" && { validation: 'off' }),
      ...(variant === 'onDrift' && { onDrift: fail }),
    })
    return {
      list: async (limit) => (await workspace.conversations.list({ limit })).data,
      items: (limit) => [workspace.conversations.list({ limit })],
      create: async () => (await workspace.messages.create('cnv_1', { body_html: sampleText })).id,
    }
  },
} satisfies Peer<typeof import('support-workspace-sdk')>

function fail(drift: object): never {
  throw new Error(`The payload does not match its schema: ${JSON.stringify(drift)}`)
}
