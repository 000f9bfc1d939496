import { createdId, type Peer, restRequests, sampleText } from './peer.ts'

const path = '/repos/bench/bench/issues'

export default {
  package: 'octokit',
  hasCommonJs: false,
  mainImport: 'Octokit',
  service: {
    read: restRequests({ list: path, create: path, limit: 'per_page', cursor: 'page' }),
    page: (items) => items,
    headers: (cursor, { origin, searchParams }): Record<string, string> => {
      if (cursor === null) return {}
      const query = new URLSearchParams({ per_page: searchParams.get('per_page') ?? '', page: cursor })
      return { link: `<${origin}${path}?${query}>; rel="next"` }
    },
    created: { id: createdId, number: 1, title: sampleText },
  },
  connect({ Octokit }, baseUrl) {
    const repository = { owner: 'bench', repo: 'bench' }
    const octokit = new Octokit({ baseUrl, auth: 'bench' })
    // By default it waits for three seconds between two writes, and the wait is not what the benchmark compares.
    const unthrottled = new Octokit({ baseUrl, auth: 'bench', throttle: { enabled: false } })
    return {
      list: async (limit) => (await octokit.rest.issues.listForRepo({ ...repository, per_page: limit })).data,
      pages: async function* (limit) {
        const pages = octokit.paginate.iterator(octokit.rest.issues.listForRepo, { ...repository, per_page: limit })
        for await (const { data } of pages) yield data
      },
      create: async () => {
        const { data } = await unthrottled.rest.issues.create({ ...repository, title: sampleText })
        return String(data.id)
      },
    }
  },
} satisfies Peer<typeof import('octokit')>
