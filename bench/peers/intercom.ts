import { createdId, type Peer, restRequests, sampleText } from './peer.ts'

export default {
  package: 'intercom-client',
  hasCommonJs: true,
  mainImport: 'IntercomClient',
  service: {
    read: restRequests({
      list: '/conversations',
      create: '/conversations',
      limit: 'per_page',
      cursor: 'starting_after',
    }),
    page: (items, cursor) => {
      const next = cursor === null ? null : { per_page: 50, starting_after: cursor }
      return `{"type":"conversation.list","conversations":${items},"pages":${JSON.stringify({ type: 'pages', next })}}`
    },
    created: { type: 'user_message', id: createdId, body: sampleText },
  },
  connect({ IntercomClient }, baseUrl) {
    const client = new IntercomClient({ token: 'bench', baseUrl })
    return {
      list: async (limit) => (await client.conversations.list({ per_page: limit })).data,
      items: async (limit) => [await client.conversations.list({ per_page: limit })],
      create: async () => {
        return (await client.conversations.create({ from: { type: 'user', id: 'bench' }, body: sampleText })).id
      },
    }
  },
} satisfies Peer<typeof import('intercom-client')>
