import { createdId, type Peer, restRequests, sampleText } from './peer.ts'

export default {
  package: '@anthropic-ai/sdk',
  hasCommonJs: true,
  mainImport: 'Anthropic',
  service: {
    read: restRequests({ list: '/v1/models', create: '/v1/messages', limit: 'limit', cursor: 'after_id' }),
    page: (items, cursor) => {
      const hasMore = cursor !== null
      return `{"data":${items},"has_more":${hasMore},"first_id":null,"last_id":${JSON.stringify(cursor)}}`
    },
    created: { id: createdId, type: 'message', role: 'assistant', content: [{ type: 'text', text: sampleText }] },
  },
  connect({ Anthropic }, baseURL) {
    const client = new Anthropic({ baseURL, apiKey: 'bench' })
    const message = { model: 'bench', max_tokens: 100, messages: [{ role: 'user', content: sampleText }] } as const
    return {
      list: async (limit) => (await client.models.list({ limit })).data,
      items: (limit) => [client.models.list({ limit })],
      create: async () => (await client.messages.create({ ...message, messages: [...message.messages] })).id,
    }
  },
} satisfies Peer<typeof import('@anthropic-ai/sdk')>
