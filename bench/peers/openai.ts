import { createdId, type Peer, restRequests } from './peer.ts'

export default {
  package: 'openai',
  hasCommonJs: true,
  mainImport: 'OpenAI',
  service: {
    read: restRequests({ list: '/files', create: '/vector_stores', limit: 'limit', cursor: 'after' }),
    page: (items, cursor) => `{"object":"list","data":${items},"has_more":${cursor !== null}}`,
    created: { id: createdId, object: 'vector_store', name: 'Invoices', status: 'completed' },
  },
  connect({ OpenAI }, baseURL) {
    const client = new OpenAI({ baseURL, apiKey: 'bench' })
    return {
      list: async (limit) => (await client.files.list({ limit })).data,
      items: (limit) => [client.files.list({ limit })],
      create: async () => (await client.vectorStores.create({ name: 'Invoices' })).id,
    }
  },
} satisfies Peer<typeof import('openai')>
