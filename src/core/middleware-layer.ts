import { untilAborted } from '../shared/abort.ts'
import { checkPlain } from '../shared/check-options.ts'
import { InvalidArgumentError, RequestError } from '../shared/errors/index.ts'
import { withoutSecrets } from '../shared/errors/redact.ts'
import { isObject, toJson } from '../shared/json.ts'
import { readHeaders } from './headers.ts'
import { checkNoBody, checkSignal, copyParameters, type Guard, type PreparedCall } from './input.ts'
import type { Layer } from './layers.ts'
import type { Middleware, OutgoingCall } from './middleware.ts'
import type { Operation } from './operation.ts'
import type { ClientSettings } from './settings.ts'

/** Makes a layer of a middleware. */
export function asLayer(middleware: Middleware, { baseUrl, fresh }: ClientSettings): Layer<PreparedCall> {
  return async (call, send) => {
    const shown = show(call, baseUrl.href.replace(/\/$/, ''), fresh)
    const text = JSON.stringify(shown.body)
    let { pastOutcome } = call
    let unconfirmed: RequestError | undefined
    const next = async (changed: OutgoingCall) => {
      const { guard } = checkCall(changed, shown)
      // Only a journal can find out whether the write is there.
      if (unconfirmed !== undefined && guard === undefined) throw unconfirmed
      try {
        return await send({
          ...applyChanges(call, text, changed),
          guard: guard ?? call.guard,
          pastOutcome,
          startedAt: undefined,
        })
      } catch (thrown) {
        if (thrown instanceof RequestError && thrown.outcome === 'unknown') {
          pastOutcome = 'unknown'
          if (call.operation.method !== 'DELETE') unconfirmed = thrown
        }
        throw thrown
      }
    }
    const reply = await untilAborted((async () => middleware(shown, next))(), call.signal)
    if (isObject(reply) && 'data' in reply) return reply
    throw noReply(call.operation)
  }
}

function noReply({ id, method }: Operation): RequestError {
  const isRead = method === 'GET'
  return new RequestError(`${withoutSecrets(id)}: a middleware returned no reply.`, {
    operation: withoutSecrets(id),
    outcome: isRead ? 'no-effect' : 'unknown',
    remedy: isRead ? 'fix' : 'verify',
    hint: 'Return what `next` returns.',
  })
}

function show(call: PreparedCall, baseUrl: string, fresh: boolean): OutgoingCall {
  const { operation, path, parameters, query, body, headers, signal, page, timeout, totalTimeout } = call
  return {
    operation,
    path,
    parameters,
    query: { ...query },
    body: body === undefined ? undefined : JSON.parse(body),
    headers: typeof headers === 'function' ? {} : { ...headers },
    signal,
    baseUrl,
    page,
    timeout,
    totalTimeout,
    fresh,
  }
}

const readOnly = ['operation', 'path', 'parameters', 'baseUrl', 'page', 'timeout', 'totalTimeout', 'fresh'] as const

function checkCall(changed: unknown, shown: OutgoingCall): { readonly guard?: Guard | undefined } {
  const given = checkPlain('call', changed, 'Pass the call of the middleware to `next`, or a changed copy of it.')
  const name = readOnly.find((each) => given[each] !== shown[each])
  if (name === undefined) return given
  throw new InvalidArgumentError(
    `call.${name}`,
    `A middleware cannot change \`${name}\` of a call.`,
    'Change `query`, `body`, `headers` or `signal`, or make another call with the client.',
  )
}

/** Returns the call with copies of what a middleware changed. */
function applyChanges(call: PreparedCall, shownBody: string | undefined, changed: OutgoingCall): PreparedCall {
  if (call.operation.method === 'GET') checkNoBody(changed.body === undefined ? undefined : 'body')
  const body = toJson('body', changed.body)
  const headers = readHeaders(changed.headers)
  const ofCall = call.headers
  return {
    ...call,
    query: copyParameters('query', changed.query),
    // The text may have numbers that JavaScript cannot represent.
    body: body === shownBody ? call.body : body,
    headers: typeof ofCall === 'function' ? async () => ({ ...headers, ...readHeaders(await ofCall()) }) : headers,
    signal: checkSignal('signal', changed.signal),
  }
}
