import { createdId, type Peer, restRequests } from './peer.ts'

export default {
  package: 'stripe',
  hasCommonJs: true,
  mainImport: 'Stripe',
  service: {
    read: restRequests({ list: '/v1/customers', create: '/v1/customers', limit: 'limit', cursor: 'starting_after' }),
    page: (items, cursor) => `{"object":"list","url":"/v1/customers","has_more":${cursor !== null},"data":${items}}`,
    created: { id: createdId, object: 'customer', email: 'ada@example.com' },
  },
  connect(sdk, origin) {
    // `require` returns the class itself.
    const Stripe = sdk.Stripe ?? (sdk as unknown as typeof sdk.Stripe)
    const { hostname, port } = new URL(origin)
    const httpClient = Stripe.createFetchHttpClient()
    const stripe = new Stripe('sk_test_bench', { protocol: 'http', host: hostname, port, httpClient })
    return {
      list: async (limit) => (await stripe.customers.list({ limit })).data,
      items: (limit) => [stripe.customers.list({ limit })],
      create: async () => (await stripe.customers.create({ email: 'ada@example.com' })).id,
    }
  },
} satisfies Peer<typeof import('stripe')>
