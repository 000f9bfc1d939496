import { createdId, type Peer, restRequests, sampleText } from './peer.ts'

export default {
  package: '@notionhq/client',
  hasCommonJs: true,
  mainImport: 'Client',
  service: {
    read: restRequests({ list: '/v1/users', create: '/v1/comments', limit: 'page_size', cursor: 'start_cursor' }),
    page: (items, cursor) => {
      const next = `"next_cursor":${JSON.stringify(cursor)},"has_more":${cursor !== null}`
      return `{"object":"list","type":"user","results":${items},${next}}`
    },
    created: { object: 'comment', id: createdId },
  },
  connect({ Client, iteratePaginatedAPI }, baseUrl) {
    const notion = new Client({ baseUrl, auth: 'bench' })
    return {
      list: async (limit) => (await notion.users.list({ page_size: limit })).results,
      items: (limit) => [iteratePaginatedAPI(notion.users.list, { page_size: limit })],
      create: async () => {
        const comment = { parent: { page_id: 'bench' }, rich_text: [{ text: { content: sampleText } }] }
        return (await notion.comments.create(comment)).id
      },
    }
  },
} satisfies Peer<typeof import('@notionhq/client')>
