import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'

/** Returns a function that starts sandboxes, which are closed after each test. */
export function useSandboxes(): (options?: SandboxOptions) => Promise<Sandbox> {
  const open: Sandbox[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((sandbox) => sandbox.close()))
  })
  return async (options) => {
    const sandbox = await startSandbox({ conversations: 5, contacts: 5, ...options })
    open.push(sandbox)
    return sandbox
  }
}

export interface ReceivedResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the body of its own endpoint
  body: any
}

async function receive(response: Response): Promise<ReceivedResponse> {
  const { status, headers } = response
  const text = await response.text()
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return { status, headers, body: isJson ? JSON.parse(text) : text || undefined }
}

/** Sends a request with this token. */
export async function call(
  { url }: Sandbox,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<ReceivedResponse> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  return receive(await fetch(url + path, init))
}

/** Sends bytes over a socket and returns everything received until the sandbox closes the connection. */
export async function sendRaw(sandbox: Sandbox, text: string): Promise<Buffer> {
  const { hostname, port } = new URL(sandbox.url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', (data: Buffer) => received.push(data))
  // The sandbox may reject a request before all of it was sent.
  socket.on('error', () => {})
  socket.end(text, 'latin1')
  await once(socket, 'close')
  return Buffer.concat(received)
}

export const verifier = 'a-verifier-that-is-long-enough-for-RFC-7636-ok'
export const challenge: string = createHash('sha256').update(verifier).digest('base64url')
export const redirectUri = 'http://localhost:3000/callback'

/** Fields of a form or a query. `undefined` omits one. */
type Fields = Record<string, string | undefined>

function toForm(fields: Fields): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

/** Returns a valid authorization request. */
export function authorizeParameters(changes: Fields = {}): URLSearchParams {
  return toForm({
    client_id: 'app_sandbox',
    redirect_uri: redirectUri,
    scope: 'conversations:read contacts:read',
    state: 'state with spaces & signs',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...changes,
  })
}

export function authorize(sandbox: Sandbox, changes: Fields = {}, headers: HeadersInit = {}): Promise<Response> {
  const url = `${sandbox.url}/api/oauth/authorize?${authorizeParameters(changes)}`
  return fetch(url, { redirect: 'manual', headers })
}

/** Returns the query parameters of a redirect. */
export function redirectParameters(response: Response): Record<string, string> {
  const location = response.headers.get('location')
  if (location === null) throw new Error(`Not a redirect but ${response.status}.`)
  return Object.fromEntries(new URL(location).searchParams)
}

/** Returns a new authorization code, granted without the consent page. */
export async function freshCode(sandbox: Sandbox, changes: Fields = {}): Promise<string> {
  const { code } = redirectParameters(await authorize(sandbox, { auto: 'allow', ...changes }))
  if (code === undefined) throw new Error('No code was granted.')
  return code
}

/** Exchanges a code. */
export function exchange(sandbox: Sandbox, fields: Fields, headers: HeadersInit = {}): Promise<ReceivedResponse> {
  const form = toForm({
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    client_id: 'app_sandbox',
    client_secret: 'secret_sandbox',
    code_verifier: verifier,
    ...fields,
  })
  return postForm(sandbox, '/api/oauth/token', form, headers)
}

export async function postForm({ url }: Sandbox, path: string, form: URLSearchParams, headers: HeadersInit = {}) {
  return receive(await fetch(url + path, { method: 'POST', body: form, headers, redirect: 'manual' }))
}

/** Opens a page as a browser does. `text` has one space for each tag and each run of white space. */
export async function openPage(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  const html = await response.text()
  const text = html
    .replaceAll('<wbr>', '')
    .replaceAll(/<[^>]+>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ')
  return { status: response.status, html, text: unescapeHtml(text) }
}

function unescapeHtml(text: string): string {
  return text.replaceAll(/&(quot|#39|lt|gt|amp);/g, (_, name: string) => {
    return { quot: '"', '#39': "'", lt: '<', gt: '>', amp: '&' }[name] ?? ''
  })
}
