import type { Conversation } from '../payload/payload.ts'
import { createdId, type Peer, sampleText } from './peer.ts'

export default {
  package: '@linear/sdk',
  hasCommonJs: false,
  mainImport: 'LinearClient',
  service: {
    read: ({ url, body }) => {
      if (url.pathname !== '/graphql') return undefined
      const { query, variables } = JSON.parse(body) as GraphQLRequest
      if (query.includes('issueCreate(')) return 'create'
      return query.includes('issues(') ? { limit: variables.first, cursor: variables.after ?? null } : undefined
    },
    page: (items, cursor) => {
      const pageInfo = { startCursor: null, endCursor: cursor, hasPreviousPage: false, hasNextPage: cursor !== null }
      return `{"data":{"issues":{"nodes":${items},"pageInfo":${JSON.stringify(pageInfo)}}}}`
    },
    created: { data: { issueCreate: { lastSyncId: 1, success: true, issue: { id: createdId } } } },
    toItem,
  },
  connect({ LinearClient }, origin) {
    const client = new LinearClient({ apiKey: 'bench', apiUrl: `${origin}/graphql` })
    return {
      list: async (limit) => (await client.issues({ first: limit })).nodes,
      // The loop of its `paginate`, which keeps all pages in memory.
      pages: async function* (limit) {
        let page = await client.issues({ first: limit })
        yield page.nodes
        while (page.pageInfo.hasNextPage) {
          page = await client.issues({ first: limit, after: page.pageInfo.endCursor ?? null })
          yield page.nodes
        }
      },
      create: async () => (await client.createIssue({ teamId: 'bench', title: sampleText })).issueId,
    }
  },
} satisfies Peer<typeof import('@linear/sdk')>

interface GraphQLRequest {
  readonly query: string
  readonly variables: { readonly first: number; readonly after?: string | null }
}

/** An issue with the fields that the SDK reads. It leaves out optional ones, as most issues do. */
function toItem({ id, initial_message }: Conversation): object {
  return {
    id,
    identifier: 'BEN-1',
    number: 1,
    title: initial_message,
    description: initial_message,
    url: `https://linear.app/bench/issue/${id}`,
    branchName: 'bench/ben-1',
    createdAt: '2026-01-05T09:00:00.000Z',
    updatedAt: '2026-01-05T09:30:00.000Z',
    startedAt: '2026-01-05T09:10:00.000Z',
    customerTicketCount: 0,
    boardOrder: 0,
    sortOrder: 1,
    priority: 2,
    priorityLabel: 'High',
    prioritySortOrder: 1,
    inheritsSharedAccess: false,
    labelIds: [],
    previousIdentifiers: [],
    reactionData: [],
    reactions: [],
    sharedAccess: {
      isShared: false,
      sharedWithCount: 0,
      viewerHasOnlySharedAccess: false,
      disallowedIssueFields: [],
      sharedWithUsers: [],
    },
    state: { id: 'state_1' },
    team: { id: 'team_1' },
    creator: { id: 'user_1' },
    assignee: { id: 'user_2' },
  }
}
