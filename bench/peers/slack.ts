import type { ConversationsListResponse } from '@slack/web-api'
import { createdId, type Peer, sampleText } from './peer.ts'

export default {
  package: '@slack/web-api',
  hasCommonJs: true,
  mainImport: 'WebClient',
  service: {
    read: ({ method, url, body }) => {
      if (method !== 'POST') return undefined
      if (url.pathname === '/chat.postMessage') return 'create'
      if (url.pathname !== '/conversations.list') return undefined
      const form = new URLSearchParams(body)
      return { limit: Number(form.get('limit')), cursor: form.get('cursor') }
    },
    page: (items, cursor) => {
      return `{"ok":true,"channels":${items},"response_metadata":{"next_cursor":${JSON.stringify(cursor ?? '')}}}`
    },
    created: { ok: true, channel: 'C1', ts: createdId, message: { type: 'message', text: sampleText } },
  },
  connect({ WebClient }, origin) {
    const client = new WebClient('xoxb-bench', { slackApiUrl: `${origin}/` })
    return {
      list: async (limit) => (await client.conversations.list({ limit })).channels ?? [],
      pages: async function* (limit) {
        for await (const page of client.paginate('conversations.list', { limit })) {
          yield (page as ConversationsListResponse).channels ?? []
        }
      },
      create: async () => (await client.chat.postMessage({ channel: 'C1', text: sampleText })).ts,
    }
  },
} satisfies Peer<typeof import('@slack/web-api')>
