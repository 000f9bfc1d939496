/**
 * OpenTelemetry spans for calls and their requests. Requires `@opentelemetry/api`.
 *
 * @module support-workspace-sdk/otel
 */

import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import {
  type AttemptStartEvent,
  checkHooks,
  type EventOf,
  emit,
  type Hooks,
  type OperationEvent,
} from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { checkOptions } from '../shared/check-options.ts'
import { notify } from '../shared/notify.ts'
import { version } from '../shared/version.ts'

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
 * passed to `request()` is part of the span names, so pass ids in `input.path`. Requests carry no trace context.
 *
 * @example
 * const traced = new SupportWorkspace({ baseUrl, accessToken, hooks: otelHooks() })
 * await traced.me()
 *
 * @throws InvalidArgumentError when `tracer` or `hooks` is invalid, or an option is misspelled
 */
export function otelHooks(options: OtelHooksOptions = {}): Hooks {
  checkOptions('options', options, { tracer: true, hooks: true }, '`otelHooks`')
  const { tracer = trace.getTracer('support-workspace-sdk', version) } = options
  if (typeof tracer?.startSpan !== 'function') {
    throw new InvalidArgumentError(
      'tracer',
      '`tracer` must be an OpenTelemetry tracer.',
      'Pass `provider.getTracer(name)`, or leave it out for the global one.',
    )
  }
  const hooks = options.hooks === undefined ? {} : checkHooks('hooks', options.hooks)
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
      let parent = context.active()
      // The user's hooks must be called even if the tracer throws.
      notify(() => {
        const call = callOf(event)
        parent = call.context
        record(call, event)
      })
      context.with(parent, () => emit(hooks, name, () => event))
    }
  }

  return {
    onOperationStart: hook('onOperationStart', () => {}),
    onOperationEnd: hook('onOperationEnd', ({ span }, { callId, attempts, outcome, error }) => {
      calls.delete(callId)
      end(span, { 'support_workspace.attempts': attempts, 'support_workspace.outcome': outcome }, error)
    }),
    onAttemptStart: hook('onAttemptStart', (call, event) => {
      call.attempt = startAttempt(tracer, call.context, event)
    }),
    onAttemptEnd: hook('onAttemptEnd', ({ attempt }, { status, requestId, error }) => {
      const isErrorStatus = status !== undefined && status >= 400
      const attributes = { 'http.response.status_code': status, 'support_workspace.request_id': requestId }
      end(attempt, attributes, error !== undefined && isErrorStatus ? String(status) : error)
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

/** Starts the span of a request, with the attributes that the conventions for HTTP clients require at the start. */
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
function end(span: Span | undefined, attributes: Attributes, error: string | undefined): void {
  try {
    span?.setAttributes(attributes)
    if (error !== undefined) span?.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
  } finally {
    span?.end()
  }
}
