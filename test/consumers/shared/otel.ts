import { type Tracer, trace } from '@opentelemetry/api'
import { type Hooks, SupportWorkspace } from 'support-workspace-sdk'
import { otelHooks } from 'support-workspace-sdk/otel'

const tracer: Tracer = trace.getTracer('app')
const counting: Hooks = {
  onRetry: ({ callId, method, urlTemplate }) => void [callId + 1, method === 'GET', urlTemplate],
}

export const hooks: Hooks = otelHooks({ tracer, hooks: counting })
export const workspace = new SupportWorkspace({ baseUrl: 'https://api.test', accessToken: 'swot_abc', hooks })
