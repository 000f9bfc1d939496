import { InvalidArgumentError, RequestError } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'
import { throwIfAborted, untilAborted } from '../shared/abort.ts'
import { checkPlain } from '../shared/check-options.ts'
import { isObject, toJson } from '../shared/json.ts'
import { readHeaders } from './headers.ts'
import {
  type CallHistory,
  checkNoBody,
  checkSignal,
  copyParameters,
  type Guard,
  guardKey,
  type PreparedCall,
  wholeKey,
} from './input.ts'
import { compose, type Layer, type Next, type Reply } from './layers.ts'
import type { Middleware, OutgoingCall } from './middleware.ts'
import type { Operation } from './operation.ts'
import type { ClientSettings } from './settings.ts'

/** A call that passes through middleware. */
interface TrackedCall extends PreparedCall {
  readonly history: CallHistory
}

/** Returns a function that sends calls through the middleware of a client. */
export function aroundCall(settings: ClientSettings, innermost: Next<TrackedCall>): Next<PreparedCall> {
  const layers = settings.middleware.map((middleware) => asLayer(middleware, settings))
  const send = compose(layers, innermost)
  return async (call) => {
    const history: CallHistory = { outcome: 'not-sent', first: undefined, whole: {} }
    try {
      return await send({ ...call, history })
    } finally {
      history.whole.isOver = true
    }
  }
}

/**
 * Sends a POST or PATCH once, even if middleware calls `next` again. The further call gets the reply or the error of
 * the first one, also while the first one is under way. Only if the first one had no effect, the further call is sent.
 * After the end of the call, requests are rejected.
 */
export function sendingOnce(send: Next<PreparedCall>): Next<TrackedCall> {
  return (call) => {
    const { history, operation } = call
    if (history.first !== undefined) return history.first
    if (history.whole.isOver) throw misuse(operation, 'called `next` after the call had ended')
    history.whole.isSent = true
    const sending = send(call)
    if (operation.method === 'GET' || operation.method === 'DELETE') return sending
    history.first = sending
    sending.catch(() => {
      if (history.outcome !== 'unknown') history.first = undefined
    })
    return sending
  }
}

/** Makes a layer of a middleware. */
function asLayer(middleware: Middleware, settings: ClientSettings): Layer<TrackedCall> {
  return async (call, send) => {
    throwIfAborted(call.signal)
    const shown = show(call, settings)
    const original = { ...shown }
    const text = JSON.stringify(shown.body)
    let { history } = call
    const next = async (changed: OutgoingCall) => {
      const guard = checkCall(changed, original)
      if (guard !== undefined && call.guard !== undefined) throw nested(call.operation)
      // A journal checks whether the write was applied before it sends the write again.
      if (guard !== undefined) history = { ...history, first: undefined }
      const given = applyChanges(call, text, changed)
      return send({ ...given, guard: guard ?? call.guard, history, startedAt: undefined })
    }
    const reply = await untilAborted((async () => middleware(shown, next))(), call.signal)
    if (isReply(reply, call.operation)) return reply
    throw misuse(call.operation, 'returned no reply', history.whole.isSent)
  }
}

function isReply(reply: unknown, { envelope }: Operation): reply is Reply {
  if (!isObject(reply) || !('data' in reply)) return false
  return envelope !== 'list' || (Array.isArray(reply.data) && isObject(reply.cursors))
}

/** Only one journal can run the guard of a write. */
function nested({ id }: Operation): InvalidArgumentError {
  return new InvalidArgumentError(
    'workspace',
    `${withoutSecrets(id)}: a journal sends this write through the client of another journal.`,
    'Create the journal with a client from outside of `once`.',
  )
}

function misuse({ id, method }: Operation, problem: string, isSent = false): RequestError {
  const outcome = !isSent ? 'not-sent' : method === 'GET' ? 'no-effect' : 'unknown'
  return new RequestError(`${withoutSecrets(id)}: a middleware ${problem}.`, {
    operation: withoutSecrets(id),
    outcome,
    remedy: outcome === 'unknown' ? 'verify' : 'fix',
    hint: isSent ? 'Return what `next` returns.' : 'Await `next` in the middleware, and return its reply.',
  })
}

function show(call: TrackedCall, { baseUrl, fresh, context }: ClientSettings): OutgoingCall {
  const { operation, path, parameters, query, body, headers, signal, page, timeout, totalTimeout } = call
  const shown = {
    // The same object serves every client.
    operation: Object.freeze({ ...operation }),
    path,
    parameters,
    query: { ...query },
    body: body === undefined ? undefined : JSON.parse(body),
    // A function has no properties to show.
    headers: { ...headers },
    signal,
    baseUrl: baseUrl.href.replace(/\/$/, ''),
    page,
    timeout,
    totalTimeout,
    fresh,
    context,
  }
  return Object.defineProperty(shown, wholeKey, { value: call.history.whole })
}

const changeable = ['query', 'body', 'headers', 'signal']

/** Returns the guard of a journal, if there is one. */
function checkCall(changed: unknown, shown: OutgoingCall): Guard | undefined {
  const given = checkPlain('call', changed, 'Pass the call of the middleware to `next`, or a changed copy of it.')
  const isReadOnly = (each: string) => !changeable.includes(each)
  const name = Object.keys(shown).find((each) => isReadOnly(each) && given[each] !== Reflect.get(shown, each))
  if (name === undefined) return (given as { readonly [guardKey]?: Guard })[guardKey]
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
    // The text might have numbers that JavaScript cannot represent.
    body: body === shownBody ? call.body : body,
    headers: typeof ofCall === 'function' ? async () => ({ ...headers, ...readHeaders(await ofCall()) }) : headers,
    signal: checkSignal('signal', changed.signal),
  }
}
