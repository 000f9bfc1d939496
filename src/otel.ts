/**
 * OpenTelemetry spans for calls and their requests. Requires `@opentelemetry/api`.
 *
 * @module support-workspace-sdk/otel
 */

import { type Context, context, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { checkOptions } from './check-options.ts'
import { type AttemptStartEvent, type EventOf, emit, type Hooks, type OperationEvent } from './http/hooks.ts'
import { version } from './version.ts'

/** The options of `otelHooks`. */
export interface OtelHooksOptions {
  /**
   * Creates the spans.
   *
   * @default the tracer `support-workspace-sdk` of the global tracer provider
   */
  readonly tracer?: Tracer | undefined
  /** Your own hooks. Called with the span of the call active, so that log records can name the trace. */
  readonly hooks?: Hooks | undefined
}

/**
 * Returns hooks that record OpenTelemetry spans. Pass them to any number of clients.
 *
 * Each call creates a span with the id of its operation, as a child of the span that is active when the call is made.
 * Each page of a list is a call. Each request creates a client span below it, with the stable semantic conventions for
 * HTTP. Retries, and waits for the rate limit, are events of the call's span.
 *
 * Spans contain no id, query, cursor, header, body or token. For this reason `url.template` replaces `url.full`. A path
 * passed to `request()` is part of the span names, so pass ids in `input.path`. No trace context is sent to the service.
 *
 * @example
 * const traced = new SupportWorkspace({ baseUrl, accessToken, hooks: otelHooks() })
 * await traced.me()
 *
 * @throws InvalidArgumentError when an option is misspelled
 */
export function otelHooks(options: OtelHooksOptions = {}): Hooks {
  checkOptions('options', options, { tracer: true, hooks: true }, '`otelHooks`')
  const { tracer = trace.getTracer('support-workspace-sdk', version), hooks = {} } = options
  const calls = new Map<number, CallSpans>()

  const callOf = (event: OperationEvent): CallSpans => {
    const known = calls.get(event.callId)
    if (known !== undefined) return known
    const span = tracer.startSpan(event.operation, {
      attributes: { 'support_workspace.actor': event.actor, 'support_workspace.page': event.page },
    })
    const call = { span, context: trace.setSpan(context.active(), span), attempt: undefined }
    calls.set(event.callId, call)
    return call
  }

  /** Returns a hook that records an event and then calls the user's hook. */
  const hook = <Name extends keyof Hooks>(name: Name, record: (call: CallSpans, event: EventOf<Name>) => void) => {
    return (event: EventOf<Name>): void => {
      const call = callOf(event)
      record(call, event)
      context.with(call.context, () => emit(hooks, name, () => event))
    }
  }

  return {
    onOperationStart: hook('onOperationStart', () => {}),
    onOperationEnd: hook('onOperationEnd', ({ span }, { callId, attempts, outcome, error }) => {
      calls.delete(callId)
      span.setAttributes({ 'support_workspace.attempts': attempts, 'support_workspace.outcome': outcome })
      end(span, error)
    }),
    onAttemptStart: hook('onAttemptStart', (call, event) => {
      call.attempt = startAttempt(tracer, call.context, event)
    }),
    onAttemptEnd: hook('onAttemptEnd', ({ attempt }, { status, requestId, error }) => {
      attempt?.setAttributes({ 'http.response.status_code': status, 'support_workspace.request_id': requestId })
      const isErrorStatus = status !== undefined && status >= 400
      end(attempt, error !== undefined && isErrorStatus ? String(status) : error)
    }),
    onRetry: hook('onRetry', ({ span }, { wait, reason }) => {
      span.addEvent('retry', { 'support_workspace.wait_ms': wait, 'support_workspace.reason': reason })
    }),
    onWait: hook('onWait', ({ span }, { wait, reason }) => {
      span.addEvent('wait', { 'support_workspace.wait_ms': wait, 'support_workspace.reason': reason })
    }),
  }
}

interface CallSpans {
  readonly span: Span
  /** The context that the call was made in, with its span. */
  readonly context: Context
  /** The span of the current or last request. */
  attempt: Span | undefined
}

/** Starts the span of a request, with the attributes that the conventions for HTTP clients want from the start. */
function startAttempt(tracer: Tracer, parent: Context, { method, urlTemplate, attempt }: AttemptStartEvent): Span {
  const { origin, protocol, hostname, port } = new URL(urlTemplate)
  const template = urlTemplate.slice(origin.length)
  const attributes = {
    'http.request.method': method,
    'http.request.resend_count': attempt === 1 ? undefined : attempt - 1,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.template': template,
  }
  return tracer.startSpan(`${method} ${template}`, { kind: SpanKind.CLIENT, attributes }, parent)
}

/** @param error the `error.type`, if it failed: the status, or the name of the error */
function end(span: Span | undefined, error: string | undefined): void {
  if (error !== undefined) span?.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
  span?.end()
}
