import * as errors from 'support-workspace-sdk'
import * as oauth from 'support-workspace-sdk/oauth'
import * as otel from 'support-workspace-sdk/otel'
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
      return new Response(done.join('\n'))
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 })
    }
  },
}
