import { InvalidArgumentError, RequestError } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'
import { throwIfAborted, untilAborted } from '../shared/abort.ts'
import { checkPlain } from '../shared/check-options.ts'
import { isObject, toJson } from '../shared/json.ts'
import type { Reply } from './call.ts'
import { readHeaders } from './headers.ts'
import { checkNoBody, checkSignal, copyParameters, type PreparedCall } from './input.ts'
import type { Middleware, OutgoingCall } from './middleware.ts'
import type { Operation } from './operation.ts'
import type { ClientSettings } from './settings.ts'

/** What middleware has sent of a call. */
export interface Sending {
  /** Whether the service might have applied a request that failed. */
  isUnknown: boolean
  /** The first request of a write other than DELETE that might have had an effect. Middleware cannot send it again. */
  first: Promise<Reply> | undefined
  isSent: boolean
  /** The signal of the caller, which a middleware can replace. */
  readonly signal: AbortSignal | undefined
  /** Aborts when the call has ended. Nothing is sent after that. */
  readonly ended: AbortController
}

type Send = (call: PreparedCall) => Promise<Reply>

/** Sends a call through the middleware of its client. */
export async function sendThrough(
  settings: ClientSettings,
  call: PreparedCall,
  send: (call: PreparedCall, sending: Sending) => Promise<Reply>,
): Promise<Reply> {
  const { signal } = call
  const ended = new AbortController()
  const sending: Sending = { isUnknown: false, first: undefined, isSent: false, signal, ended }
  // The same object each time, so that a journal notices when a middleware repeats the call.
  const operation = Object.freeze({ ...call.operation })
  const pass = (each: Middleware, next: Send) => async (given: PreparedCall) => {
    throwIfAborted(given.signal)
    const shown = show({ ...given, operation }, settings)
    const original = { ...shown }
    const text = JSON.stringify(shown.body)
    const sendChanged = (changed: OutgoingCall) => {
      const sent = (async () => {
        checkCall(changed, original)
        // A journal sends a write again only if it has checked that the write was not applied.
        if (each === settings.guard?.middleware) sending.first = undefined
        return next({ ...applyChanges(given, text, changed), startedAt: undefined })
      })()
      // A middleware might not await it.
      sent.catch(() => {})
      return sent
    }
    const reply = await untilAborted((async () => each(shown, sendChanged))(), given.signal)
    if (isReply(reply, operation)) return reply
    throw misuse(operation, 'returned no reply', sending.isSent)
  }
  const innermost = (given: PreparedCall) => sendOnce(given, sending, send)
  try {
    return await settings.middleware.reduceRight<Send>((next, each) => pass(each, next), innermost)(call)
  } finally {
    ended.abort(new DOMException('The call has ended.', 'AbortError'))
  }
}

/**
 * Sends a POST, PUT or PATCH once, even if middleware calls `next` again. The further call gets the reply or the error
 * of the first one, also while the first one is under way. Only if the first one had no effect, the further call is sent.
 * After the end of the call, requests are rejected.
 */
function sendOnce(
  call: PreparedCall,
  sending: Sending,
  send: (call: PreparedCall, sending: Sending) => Promise<Reply>,
): Promise<Reply> {
  if (sending.first !== undefined) return sending.first
  const { operation } = call
  if (sending.ended.signal.aborted) throw misuse(operation, 'called `next` after the call had ended')
  sending.isSent = true
  const sent = send(call, sending)
  if (operation.method === 'GET' || operation.method === 'DELETE') return sent
  sending.first = sent
  sent.catch(() => {
    if (!sending.isUnknown) sending.first = undefined
  })
  return sent
}

function isReply(reply: unknown, { envelope }: Operation): reply is Reply {
  if (!isObject(reply) || !('data' in reply) || !isObject(reply.response)) return false
  return envelope !== 'list' || (Array.isArray(reply.data) && isObject(reply.cursors))
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

function show(call: PreparedCall, { baseUrl, fresh, context }: ClientSettings): OutgoingCall {
  const { operation, path, parameters, query, body, headers, signal, page, timeout, totalTimeout } = call
  return {
    operation,
    path,
    parameters: { ...parameters },
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
}

const changeable = ['query', 'body', 'headers', 'signal']

function checkCall(changed: unknown, shown: OutgoingCall): void {
  const given = checkPlain('call', changed, 'Pass the call of the middleware to `next`, or a changed copy of it.')
  const isReadOnly = (each: string) => !changeable.includes(each)
  const isChanged = (each: string) => !Object.is(given[each], Reflect.get(shown, each))
  const name = Object.keys(shown).find((each) => isReadOnly(each) && isChanged(each))
  if (name === undefined) return
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
