import * as errors from 'support-workspace-sdk'
import * as oauth from 'support-workspace-sdk/oauth'
import * as otel from 'support-workspace-sdk/otel'
import { isPlatformFetch } from '../../src/core/fetch-error.ts'
import { smoke } from './smoke.js'

export default {
  async fetch(_request, { GIVEN }) {
    try {
      const done = await smoke({
        SupportWorkspace: errors.SupportWorkspace,
        errors,
        oauth,
        otel,
        given: JSON.parse(GIVEN),
      })
      // The outcome of a call does not show it here.
      const wrapper = { fetch: (...request) => fetch(...request) }.fetch
      const recognized = [fetch, wrapper, wrapper.bind(null), new Proxy(fetch, {})].map(isPlatformFetch)
      if (String(recognized) !== 'true,false,false,false') throw new Error(`recognized: ${recognized}`)
      return new Response([...done, 'its fetch is recognized'].join('\n'))
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 })
    }
  },
}
