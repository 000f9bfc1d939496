import { createdId, type Peer, restRequests, sampleText } from './peer.ts'

export default {
  package: 'resend',
  hasCommonJs: true,
  mainImport: 'Resend',
  service: {
    read: restRequests({ list: '/emails', create: '/emails', limit: 'limit', cursor: 'after' }),
    page: (items, cursor) => `{"object":"list","has_more":${cursor !== null},"data":${items}}`,
    created: { id: createdId },
  },
  connect({ Resend }, baseUrl) {
    const resend = new Resend('re_bench', { baseUrl })
    const list = async (query: { limit: number; after?: string }) => {
      const { data, error } = await resend.emails.list(query)
      if (error) throw new Error(error.message)
      return data
    }
    return {
      list: async (limit) => (await list({ limit })).data,
      // It has no auto-paging.
      pages: async function* (limit) {
        let page = await list({ limit })
        yield page.data
        while (page.has_more) {
          page = await list({ limit, after: page.data.at(-1)?.id ?? '' })
          yield page.data
        }
      },
      create: async () => {
        const email = { from: 'a@example.com', to: 'b@example.com', subject: 'Refund', text: sampleText }
        return (await resend.emails.send(email)).data?.id
      },
    }
  },
} satisfies Peer<typeof import('resend')>
